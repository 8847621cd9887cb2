"""The owner, step by step under a clock moved by hand: what it delivers, when, and what it leaves alone."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections, transaction
from pytest_django import Settings

from schedules import horizon, live, owner, tools, turns
from schedules.domain import framing, instants
from schedules.models import OwnerHeartbeat
from schedules.owner import Owner
from schedules.projection import rows
from schedules.sessions import log
from schedules.sessions.errors import PersistenceUncertain
from tests.conftest import HandClock

YEAR_SECONDS = 366 * 86_400
LONGEST_LEASE = 86_400


@dataclass
class Session:
    """A session and its host."""

    id: str
    lease: str = ""

    def open(self, seconds: int = LONGEST_LEASE) -> None:
        opened: Any = live.open_(self.id, live.Opening(holder="host", seconds=seconds))
        self.lease = opened["leaseId"]

    def remind(self, prompt: str = "Look.", **rule: Any) -> str:
        answer: Any = tools.create(self.id, {"prompt": prompt, **rule}).value
        assert "code" not in answer, answer
        return str(answer["id"])

    def begin(self, text: str | None = None) -> int:
        said = None if text is None else turns.message(text)
        turn: Any = turns.begin(self.id, self.lease, said)
        return int(turn["turn"])

    def end(self, number: int, outcome: str = "completed") -> None:
        turns.end(self.id, number, self.lease, outcome, None)

    def answer(self) -> list[str]:
        """Claim the follow-up and end its turn; the ids of its reminders."""
        ids = self.waiting()
        self.end(self.begin())
        return ids

    def waiting(self) -> list[str]:
        """The ids of the reminders in the waiting follow-ups."""
        found: Any = turns.followups(self.id, "waiting", limit=10)
        return [reminder["id"] for followup in found for reminder in followup["reminders"]]

    def active(self) -> list[str]:
        return [str(view["id"]) for view in self.listed()]

    def listed(self) -> list[dict[str, Any]]:
        found: Any = tools.list_(self.id, {}).value
        return list(found)

    def types(self) -> list[str]:
        header = log.header(self.id)
        assert header is not None
        return [event.type for event in log.stream(header)]


@pytest.fixture
def made(user: User, clock: HandClock) -> Callable[[], Session]:
    """``made()``: a new live session."""

    def make() -> Session:
        session = Session(log.new_id())
        live.create(log.Header(id=session.id, owner_id=user.pk, created_at=clock.now))
        session.open()
        return session

    return make


@pytest.fixture
def session(made: Callable[[], Session]) -> Session:
    return made()


@pytest.fixture
def refusing(store: None) -> Iterator[Callable[[Sequence[Session]], None]]:
    """``refusing(sessions)``: the database takes no more events of these."""

    def refuse(sessions: Sequence[Session]) -> None:
        ids = ", ".join(f"'{session.id}'" for session in sessions)
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(
                    f"CREATE TRIGGER broken BEFORE INSERT ON schedules_sessionevent WHEN NEW.session_id IN ({ids})"
                    " BEGIN SELECT RAISE(ABORT, 'broken'); END"
                )
            else:
                cursor.execute(
                    "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS"
                    " $$ BEGIN RAISE EXCEPTION 'broken'; END $$"
                )
                cursor.execute(
                    "CREATE TRIGGER broken BEFORE INSERT ON schedules_sessionevent FOR EACH ROW"
                    f" WHEN (NEW.session_id IN ({ids})) EXECUTE FUNCTION broken()"
                )

    yield refuse
    mend()


def mend() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER IF EXISTS broken")
        else:
            cursor.execute("DROP FUNCTION IF EXISTS broken() CASCADE")


class TestWhatIsPicked:
    def test_one_shots_come_one_a_turn_by_target_then_creation(
        self, session: Session, clock: HandClock
    ) -> None:
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

    def test_overdue_every_records_make_one_batch_after_the_one_shots(
        self, session: Session, clock: HandClock
    ) -> None:
        slow = session.remind(every_seconds=600)
        quick = session.remind(every_seconds=300)
        once = session.remind(after_seconds=700)
        clock.advance(seconds=1000)

        Owner().drive_all()
        assert session.answer() == [once]
        Owner().drive_all()
        (batch,) = turns.followups(session.id, "waiting", limit=10)

        assert batch["kind"] == "batch"
        assert [(shown["id"], shown["occurrenceAt"]) for shown in _reminders(batch)] == [
            (quick, "2026-12-01T00:15:00.000Z"),
            (slow, "2026-12-01T00:10:00.000Z"),
        ]
        header = log.header(session.id)
        assert header is not None
        dispatched: list[Any] = [event.data for event in log.stream(header)][-2:]
        assert {change["acceptedAt"] for change in dispatched} == {instants.render(clock.now)}
        assert {view["scheduledAt"] for view in session.listed()} == {"2026-12-01T00:20:00.000Z"}

    def test_ids_of_followups_differ_and_the_first_attempt_is_1(
        self, session: Session, clock: HandClock
    ) -> None:
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

    def test_a_session_with_a_waiting_followup_until_it_is_answered(
        self, session: Session, clock: HandClock
    ) -> None:
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

    def test_a_session_whose_log_does_not_fold(self, session: Session, made: Callable[[], Session], clock: HandClock) -> None:
        session.remind(after_seconds=5)
        good = made()
        good.remind(after_seconds=5)
        _append_raw(session, "schedule/change", '{"version":2}')
        clock.advance(seconds=60)

        assert Owner().drive_all().admitted == 1
        assert session.waiting() == []
        assert good.waiting() != []
        assert Owner().drive_once().wait > 0

    def test_a_locked_session_is_looked_at_again_soon(
        self, session: Session, made: Callable[[], Session], clock: HandClock
    ) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite has one lock for all sessions")
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


class TestTheClock:
    def test_nothing_fires_early_by_a_millisecond(self, session: Session, clock: HandClock) -> None:
        session.remind(after_seconds=10)
        one = Owner()
        clock.advance(seconds=10, ms=-1)
        assert one.drive_all().admitted == 0
        clock.advance(ms=1)
        assert one.drive_all().admitted == 1

    def test_set_back_it_fires_nothing_early_and_nothing_twice(
        self, session: Session, clock: HandClock
    ) -> None:
        first = session.remind(after_seconds=10)
        second = session.remind(after_seconds=20)
        one = Owner()
        clock.advance(seconds=10)
        assert one.drive_all().admitted == 1
        assert session.answer() == [first]

        clock.advance(seconds=-3600)
        assert one.drive_all().admitted == 0
        clock.advance(seconds=3609)
        assert one.drive_all().admitted == 0
        clock.advance(seconds=1)
        assert one.drive_all().admitted == 1
        assert session.answer() == [second]

    def test_set_back_it_lets_no_lease_last_longer_than_its_time(
        self, session: Session, clock: HandClock
    ) -> None:
        one = Owner()
        session.open(seconds=60)
        one.drive_all()
        clock.advance(seconds=-YEAR_SECONDS)
        one.drive_all()

        clock.advance(seconds=60)
        assert one.drive_all().expired == 1

    def test_ten_years_ahead_it_delivers_once_and_does_not_loop(
        self, session: Session, clock: HandClock
    ) -> None:
        session.remind(every_seconds=300)
        one = Owner()
        one.drive_all()
        clock.advance(seconds=10 * YEAR_SECONDS)
        # The lease has run out by then, as it must.
        assert one.drive_all().expired == 1
        session.open()

        assert one.drive_all().admitted == 1
        session.answer()
        assert one.drive_all().admitted == 0
        (view,) = session.listed()
        assert 0 < _ms(view["scheduledAt"]) - clock.now <= 300_000


class TestBrokenSessions:
    def test_one_alone_does_not_break_the_owner(
        self, session: Session, clock: HandClock, refusing: Callable[[Sequence[Session]], None]
    ) -> None:
        reminder = session.remind(after_seconds=5)
        refusing([session])
        clock.advance(seconds=5)
        one = Owner()

        assert one.drive_all().failed == 1
        assert session.active() == [reminder]

        mend()
        assert one.drive_all().admitted == 0  # it waits before it tries again
        clock.advance(seconds=60)
        assert one.drive_all().admitted == 1

    def test_one_never_loses_or_blocks_the_others(
        self,
        made: Callable[[], Session],
        clock: HandClock,
        refusing: Callable[[Sequence[Session]], None],
    ) -> None:
        sessions = [made() for _ in range(5)]
        for session in sessions:
            session.remind(after_seconds=5)
        refusing([sessions[2]])
        clock.advance(seconds=5)

        drive = Owner().drive_all()

        assert (drive.admitted, drive.failed) == (4, 1)
        assert [len(session.waiting()) for session in sessions] == [1, 1, 0, 1, 1]
        assert len(sessions[2].active()) == 1

    def test_many_in_front_do_not_hide_one_behind_them(
        self,
        made: Callable[[], Session],
        clock: HandClock,
        settings: Settings,
        refusing: Callable[[Sequence[Session]], None],
    ) -> None:
        settings.WAKEFUL_BATCH_SESSIONS = 100
        broken = [made() for _ in range(250)]
        for session in broken:
            session.remind(after_seconds=5)
        good = made()
        good.remind(after_seconds=10)
        refusing(broken)
        clock.advance(seconds=60)

        drive = Owner().drive_all()

        assert (drive.admitted, drive.failed) == (1, 250)
        assert len(good.waiting()) == 1

    def test_many_that_cannot_expire_do_not_hide_one_behind_them(
        self,
        made: Callable[[], Session],
        clock: HandClock,
        settings: Settings,
        refusing: Callable[[Sequence[Session]], None],
    ) -> None:
        settings.WAKEFUL_BATCH_SESSIONS = 10
        broken = [made() for _ in range(25)]
        for session in broken:
            session.open(seconds=60)
        clock.advance(seconds=1)
        good = made()
        good.open(seconds=60)
        refusing(broken)
        clock.advance(seconds=100)
        one = Owner()

        drives = [one.drive_all() for _ in range(3)]

        assert sum(drive.expired for drive in drives) == 1
        assert good.types()[-1] == "session/closed"

    def test_a_frame_that_fails_leaves_the_reminder_active(
        self, session: Session, made: Callable[[], Session], clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reminder = session.remind("Break.", after_seconds=5)
        good = made()
        good.remind(after_seconds=5)
        frame = framing.frame

        def breaks(admission: Any) -> str:
            if admission.reminders[0].prompt == "Break.":
                raise ValueError("no frame")
            return frame(admission)

        monkeypatch.setattr(framing, "frame", breaks)
        clock.advance(seconds=5)
        before = session.types()

        drive = Owner().drive_all()

        assert (drive.admitted, drive.failed) == (1, 1)
        assert session.types() == before
        assert session.active() == [reminder]

    def test_a_stored_record_that_cannot_be_read_breaks_its_own_session_alone(
        self, session: Session, made: Callable[[], Session], clock: HandClock
    ) -> None:
        session.remind(after_seconds=5)
        good = made()
        good.remind(after_seconds=5)
        rows.write("UPDATE schedules_reminder SET record = %s WHERE session_id = %s", [("{}", session.id)])
        clock.advance(seconds=5)

        drive = Owner().drive_all()

        assert (drive.admitted, drive.failed) == (1, 1)
        assert len(good.waiting()) == 1


class TestLeases:
    def test_the_owner_writes_a_leases_end_once(self, session: Session, clock: HandClock) -> None:
        session.open(seconds=60)
        session.begin("Hello.")
        clock.advance(seconds=60)

        assert Owner().drive_all().expired == 1
        assert Owner().drive_all().expired == 0
        session.open()

        assert session.types()[-4:] == ["user/message", "turn/end", "session/closed", "session/opened"]

    def test_the_next_open_writes_it_where_no_owner_did(self, session: Session, clock: HandClock) -> None:
        session.open(seconds=60)
        clock.advance(seconds=60)
        session.open()

        assert session.types()[-2:] == ["session/closed", "session/opened"]
        assert Owner().drive_all().expired == 0

    def test_a_vanished_host_gets_its_followup_again(self, session: Session, clock: HandClock) -> None:
        session.remind(after_seconds=5)
        clock.advance(seconds=5)
        session.open(seconds=60)
        Owner().drive_all()
        session.begin()
        clock.advance(seconds=60)

        assert Owner().drive_all().expired == 1
        (followup,) = turns.followups(session.id, "waiting", limit=10)
        assert followup["attempt"] == 2

    def test_what_is_due_as_the_lease_ends_stays_for_the_next_host(
        self, session: Session, clock: HandClock
    ) -> None:
        session.open(seconds=60)
        reminder = session.remind(after_seconds=60)
        clock.advance(seconds=60)

        drive = Owner().drive_all()

        assert (drive.admitted, drive.expired) == (0, 1)
        session.open()
        assert session.active() == [reminder]
        assert Owner().drive_all().admitted == 1


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


class TestTheWait:
    def test_it_follows_the_nearest_target_and_is_bounded(self, session: Session, clock: HandClock) -> None:
        one = Owner()
        assert one.drive_once().wait == horizon.POLL_SECONDS
        session.remind(after_seconds=3600)
        assert one.drive_once().wait == horizon.POLL_SECONDS
        session.remind(after_seconds=1)
        clock.advance(ms=900)
        assert one.drive_once().wait == pytest.approx(0.1)

    def test_it_follows_the_nearest_end_of_a_lease(self, session: Session, clock: HandClock) -> None:
        session.open(seconds=5)
        clock.advance(ms=4950)
        assert Owner().drive_once().wait == pytest.approx(0.05)

    def test_what_cannot_be_delivered_does_not_make_it_spin(
        self, session: Session, clock: HandClock, refusing: Callable[[Sequence[Session]], None]
    ) -> None:
        session.remind(after_seconds=5)
        refusing([session])
        clock.advance(seconds=5)
        one = Owner()
        one.drive_all()
        assert [one.drive_once().wait for _ in range(3)] == [horizon.POLL_SECONDS] * 3


class TestRunning:
    def test_its_heartbeat_appears_and_goes_when_it_stops(self, store: None, clock: HandClock) -> None:
        one = Owner()
        one.drive_once()
        assert [row.id for row in OwnerHeartbeat.objects.all()] == [one.id]

        one.stop()
        one.run()

        assert not OwnerHeartbeat.objects.exists()

    def test_a_commit_of_this_process_wakes_it(
        self, session: Session, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(horizon, "POLL_SECONDS", 60.0)
        one = Owner()
        thread = threading.Thread(target=one.run)
        thread.start()
        try:
            _until(OwnerHeartbeat.objects.exists)
            session.remind(after_seconds=5)
            clock.advance(seconds=5)
            one.request_drive()
            _until(session.waiting)
            session.remind(after_seconds=1)
            clock.advance(seconds=60)
            session.answer()
            _until(session.waiting)
        finally:
            one.stop()
            thread.join()

    def test_it_outlives_a_database_that_does_not_answer(
        self, session: Session, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session.remind(after_seconds=5)
        clock.advance(seconds=5)
        one = Owner()
        drive_once, outages = one.drive_once, [PersistenceUncertain(), PersistenceUncertain()]

        def unanswered() -> owner.Drive:
            if outages:
                raise outages.pop()
            one.stop()
            return drive_once()

        monkeypatch.setattr(one, "drive_once", unanswered)
        monkeypatch.setattr(owner, "_RETRY_SECONDS", (0, 0))
        one.run()

        assert len(session.waiting()) == 1

    def test_it_ends_although_the_database_is_gone(
        self, store: None, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one = Owner()

        def gone() -> None:
            raise PersistenceUncertain

        monkeypatch.setattr(one._heart, "stop", gone)
        one.stop()
        one.run()


def _append_raw(session: Session, kind: str, data: str) -> None:
    """An event that no code of ours would write."""
    last = len(session.types())
    rows.write(
        "INSERT INTO schedules_sessionevent (session_id, seq, type, time, data) VALUES (%s, %s, %s, %s, %s)",
        [(session.id, last, kind, 0, data)],
    )


def _reminders(followup: dict[str, Any]) -> list[dict[str, Any]]:
    return list(followup["reminders"])


def _ms(instant: str) -> int:
    parsed = instants.parse(instant)
    assert parsed is not None
    return parsed


def _until(look: Callable[[], object]) -> None:
    bound = threading.Event()
    for _ in range(1000):
        if look():
            return
        bound.wait(0.01)
    pytest.fail("it did not happen in time")
