"""Broken sessions: each keeps its reminders, and none costs another its own."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pytest_django import Settings

from schedules.domain import framing
from schedules.owner import Owner
from schedules.projection import rows
from tests.conftest import HandClock
from tests.schedules.owner.conftest import mend
from tests.schedules.owner.sessions import Session


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
        rows.execute("UPDATE schedules_reminder SET record = %s WHERE session_id = %s", ["{}", session.id])
        clock.advance(seconds=5)

        drive = Owner().drive_all()

        assert (drive.admitted, drive.failed) == (1, 1)
        assert len(good.waiting()) == 1
