"""The owner as it runs: its heartbeat, its hints, a database that goes away."""

import threading
from collections.abc import Callable

import pytest

from schedules import horizon, owner
from schedules.models import OwnerHeartbeat
from schedules.owner import Owner
from schedules.sessions.errors import PersistenceUncertain
from tests.conftest import HandClock
from tests.schedules.owner.conftest import outage
from tests.schedules.owner.sessions import Session, until


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
            until(OwnerHeartbeat.objects.exists)
            session.remind(after_seconds=5)
            clock.advance(seconds=5)
            one.request_drive()
            until(session.waiting)
            session.remind(after_seconds=1)
            clock.advance(seconds=60)
            session.answer()
            until(session.waiting)
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

    @pytest.mark.parametrize("number", [1, 2, 5])
    def test_an_outage_is_no_fault_of_the_sessions_however_many_are_due(
        self, made: Callable[[], Session], clock: HandClock, number: int
    ) -> None:
        sessions = [made() for _ in range(number)]
        for session in sessions:
            session.remind(after_seconds=5)
        clock.advance(seconds=5)
        one = Owner()
        with outage("INSERT INTO schedules_sessionevent"), pytest.raises(PersistenceUncertain):
            one.drive_once()

        # None of them waits for a retry of its own.
        assert one.drive_all().admitted == number

    def test_it_ends_although_the_database_is_gone(
        self, store: None, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one = Owner()

        def gone() -> None:
            raise PersistenceUncertain

        monkeypatch.setattr(one._heart, "stop", gone)
        one.stop()
        one.run()
