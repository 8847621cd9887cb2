"""Sessions whose part failed, under a clock that is set back: none waits longer than its retry's wait."""

from collections.abc import Callable, Sequence

from schedules.owner import Owner
from tests.conftest import HandClock
from tests.schedules.owner.conftest import mend
from tests.schedules.owner.sessions import Session

LONGEST_RETRY = 60
Refusing = Callable[[Sequence[Session]], None]


def test_a_clock_set_back_puts_no_reminder_off(session: Session, clock: HandClock, refusing: Refusing) -> None:
    session.remind(after_seconds=5)
    refusing([session])
    one = Owner()
    clock.advance(seconds=3 * 3600)
    assert one.drive_all().failed == 1
    mend()

    clock.advance(seconds=-2 * 3600)
    one.drive_all()
    clock.advance(seconds=LONGEST_RETRY)
    one.drive_all()

    assert len(session.waiting()) == 1


def test_a_clock_set_back_puts_no_leases_end_off(session: Session, clock: HandClock, refusing: Refusing) -> None:
    session.open(seconds=60)
    refusing([session])
    one = Owner()
    clock.advance(seconds=3 * 3600)
    assert one.drive_all().failed == 1
    mend()

    clock.advance(seconds=-2 * 3600)
    one.drive_all()
    clock.advance(seconds=LONGEST_RETRY)
    one.drive_all()

    assert session.types()[-1] == "session/closed"


def test_a_retry_waits_its_time_and_no_longer(session: Session, clock: HandClock, refusing: Refusing) -> None:
    session.remind(after_seconds=5)
    refusing([session])
    one = Owner()
    clock.advance(seconds=5)
    assert one.drive_all().failed == 1
    mend()

    clock.advance(ms=999)
    assert one.drive_all().admitted == 0
    clock.advance(ms=1)
    assert one.drive_all().admitted == 1
