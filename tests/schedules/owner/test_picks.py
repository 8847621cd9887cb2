"""What the owner delivers, and whom it leaves alone."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections, transaction
from pytest_django import Settings

from schedules import live, turns
from schedules.domain import instants
from schedules.owner import Owner
from schedules.sessions import log
from tests.conftest import HandClock
from tests.schedules.owner.sessions import Session


class TestWhatIsPicked:
    def test_one_shots_come_one_a_turn_by_target_then_creation(self, session: Session, clock: HandClock) -> None:
        late = session.remind(after_seconds=30)
        first = session.remind(after_seconds=10)
        second = session.remind(after_seconds=10)
        clock.advance(seconds=60)

        delivered = []
        for _ in range(3):
            assert Owner().drive_all().admitted == 1
            delivered.append(session.answer())

        assert delivered == [[first], [second], [late]]
        assert Owner().drive_all().admitted == 0
        assert session.active() == []

    def test_overdue_every_records_make_one_batch_after_the_one_shots(self, session: Session, clock: HandClock) -> None:
        slow = session.remind(every_seconds=600)
        quick = session.remind(every_seconds=300)
        once = session.remind(after_seconds=700)
        clock.advance(seconds=1000)

        Owner().drive_all()
        assert session.answer() == [once]
        Owner().drive_all()
        batch: Any
        (batch,) = turns.followups(session.id, "waiting", limit=10)

        assert batch["kind"] == "batch"
        assert [(shown["id"], shown["occurrenceAt"]) for shown in batch["reminders"]] == [
            (quick, "2026-12-01T00:15:00.000Z"),
            (slow, "2026-12-01T00:10:00.000Z"),
        ]
        header = log.header(session.id)
        assert header is not None
        dispatched: list[Any] = [event.data for event in log.stream(header)][-2:]
        assert {change["acceptedAt"] for change in dispatched} == {instants.render(clock.now)}
        assert {view["scheduledAt"] for view in session.listed()} == {"2026-12-01T00:20:00.000Z"}

    def test_ids_of_followups_differ_and_the_first_attempt_is_1(self, session: Session, clock: HandClock) -> None:
        session.remind(after_seconds=1)
        session.remind(after_seconds=1)
        clock.advance(seconds=1)
        ids = set()
        for _ in range(2):
            Owner().drive_all()
            (followup,) = turns.followups(session.id, "waiting", limit=10)
            assert followup["attempt"] == 1
            ids.add(followup["followupId"])
            session.answer()
        assert len(ids) == 2


class TestWhoIsLeftAlone:
    def test_a_session_with_an_open_turn_until_it_ends(self, session: Session, clock: HandClock) -> None:
        reminder = session.remind(after_seconds=5)
        turn = session.begin("Hello.")
        clock.advance(seconds=60)

        assert Owner().drive_all().admitted == 0
        session.end(turn)
        assert Owner().drive_all().admitted == 1
        assert session.waiting() == [reminder]

    def test_a_session_with_a_waiting_followup_until_it_is_answered(self, session: Session, clock: HandClock) -> None:
        session.remind(after_seconds=5)
        session.remind(after_seconds=6)
        clock.advance(seconds=60)

        assert Owner().drive_all().admitted == 1
        assert Owner().drive_all().admitted == 0

    def test_a_cold_session_until_it_is_opened(self, session: Session, clock: HandClock) -> None:
        reminder = session.remind(after_seconds=5)
        live.close(session.id, session.lease)
        clock.advance(seconds=60)
        before = session.types()

        assert Owner().drive_all().admitted == 0
        assert session.types() == before

        session.open()
        assert session.listed()[0]["state"] == "overdue"
        assert Owner().drive_all().admitted == 1
        assert session.waiting() == [reminder]

    def test_a_session_whose_log_does_not_fold(
        self, session: Session, made: Callable[[], Session], clock: HandClock
    ) -> None:
        session.remind(after_seconds=5)
        good = made()
        good.remind(after_seconds=5)
        session.append_raw("schedule/change", '{"version":2}')
        clock.advance(seconds=60)

        assert Owner().drive_all().admitted == 1
        assert session.waiting() == []
        assert good.waiting() != []
        assert Owner().drive_once().wait > 0

    @pytest.mark.engine("postgresql")
    def test_a_locked_session_is_looked_at_again_soon(
        self, session: Session, made: Callable[[], Session], clock: HandClock
    ) -> None:
        session.remind(after_seconds=5)
        free = made()
        free.remind(after_seconds=5)
        clock.advance(seconds=5)
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with transaction.atomic():
                log.lock([session.id])
                held.set()
                release.wait(10)
            connections.close_all()

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(10)
        one = Owner()
        skipping = one.drive_once()
        release.set()
        holder.join()

        assert (skipping.admitted, skipping.more) == (1, True)
        assert skipping.wait <= 0.1
        assert free.waiting() != []
        assert one.drive_once().admitted == 1

    @pytest.mark.engine("postgresql")
    def test_all_that_is_due_at_once_does_not_wait_for_a_lock_for_ever(
        self, session: Session, clock: HandClock, settings: Settings
    ) -> None:
        settings.LOCK_SECONDS = 0.3
        session.remind(after_seconds=5)
        clock.advance(seconds=5)
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with transaction.atomic():
                log.lock([session.id])
                held.set()
                release.wait(30)
            connections.close_all()

        holder = threading.Thread(target=hold)
        holder.start()
        try:
            assert held.wait(30)
            drive = Owner().drive_all()
        finally:
            release.set()
            holder.join()
        assert (drive.admitted, drive.locked) == (0, 1)


class TestBatches:
    def test_many_due_sessions_share_a_commit(
        self, made: Callable[[], Session], clock: HandClock, settings: Settings
    ) -> None:
        settings.WAKEFUL_BATCH_SESSIONS = 4
        sessions = [made() for _ in range(10)]
        for session in sessions:
            session.remind(after_seconds=5)
        clock.advance(seconds=5)
        one = Owner()

        drives = [one.drive_once() for _ in range(3)]

        assert [drive.admitted for drive in drives] == [4, 4, 2]
        assert [drive.more for drive in drives] == [True, True, False]
        assert [drive.wait for drive in drives[:2]] == [0, 0]

    def test_two_owners_at_once_queue_each_once(
        self, made: Callable[[], Session], clock: HandClock, at_once: Callable[..., list[Any]]
    ) -> None:
        sessions = [made() for _ in range(20)]
        for session in sessions:
            session.remind(after_seconds=5)
        clock.advance(seconds=5)

        drives = at_once(*(Owner().drive_all for _ in range(4)))

        assert sum(drive.admitted for drive in drives) == 20
        assert all(session.types().count("followup/queued") == 1 for session in sessions)
