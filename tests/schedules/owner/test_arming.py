"""A session that looks due and is not: one step puts its row right, and the owner does not spin on it."""

from collections.abc import Callable

import pytest
from pytest_django import Settings

from schedules import horizon
from schedules.owner import Drive, Owner
from schedules.projection import rows
from tests.conftest import HandClock
from tests.schedules.owner.sessions import Session


def arm(session: Session, at: int) -> None:
    """Make the session look due at ``at``, as a hand in the database would."""
    assert rows.execute("UPDATE schedules_sessionstate SET armed_at = %s WHERE session_id = %s", [at, session.id]) == 1


def armed_at(session: Session) -> int | None:
    ((at,),) = rows.fetch("SELECT armed_at FROM schedules_sessionstate WHERE session_id = %s", [session.id])
    return None if at is None else int(at)


def nothing(session: Session) -> None:
    pass


def a_later_reminder(session: Session) -> None:
    session.remind(after_seconds=3600)


def an_open_turn(session: Session) -> None:
    session.remind(after_seconds=1)
    session.begin("Hello.")


@pytest.mark.parametrize(
    ("has", "then"),
    [(nothing, None), (a_later_reminder, 3_600_000), (an_open_turn, None)],
    ids=["nothing", "a later reminder", "an open turn"],
)
def test_one_step_puts_a_session_right_that_is_armed_for_nothing(
    session: Session, clock: HandClock, has: Callable[[Session], None], then: int | None
) -> None:
    start = clock.now
    has(session)
    clock.advance(seconds=5)
    arm(session, clock.now)
    before = session.types()

    drive = Owner().drive_once()

    assert (drive.admitted, drive.failed, session.types()) == (0, 0, before)
    assert armed_at(session) == (None if then is None else start + then)


def test_sessions_armed_for_nothing_do_not_make_it_spin(
    made: Callable[[], Session], clock: HandClock, settings: Settings
) -> None:
    settings.WAKEFUL_BATCH_SESSIONS = 1
    sessions = [made() for _ in range(3)]
    for session in sessions:
        arm(session, clock.now)
    one = Owner()

    one.drive_all()

    assert [armed_at(session) for session in sessions] == [None] * 3
    assert [one.drive_once() for _ in range(3)] == [Drive(wait=horizon.POLL_SECONDS)] * 3
