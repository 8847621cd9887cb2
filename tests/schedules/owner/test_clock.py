"""The owner under a clock that is set by hand: leases, rollbacks, years ahead."""

from collections.abc import Callable, Sequence

import pytest

from schedules import horizon, turns
from schedules.owner import Owner
from schedules.sessions.errors import PersistenceUncertain
from tests.conftest import HandClock
from tests.schedules.owner.conftest import outage
from tests.schedules.owner.sessions import Session, epoch_ms

YEAR_SECONDS = 366 * 86_400


class TestTheClock:
    def test_nothing_fires_early_by_a_millisecond(self, session: Session, clock: HandClock) -> None:
        session.remind(after_seconds=10)
        one = Owner()
        clock.advance(seconds=10, ms=-1)
        assert one.drive_all().admitted == 0
        clock.advance(ms=1)
        assert one.drive_all().admitted == 1

    def test_set_back_it_fires_nothing_early_and_nothing_twice(self, session: Session, clock: HandClock) -> None:
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

    def test_a_first_beat_that_failed_is_made_up_for(self, session: Session, clock: HandClock) -> None:
        session.open(seconds=60)
        clock.advance(seconds=-3600)
        one = Owner()
        with outage(), pytest.raises(PersistenceUncertain):
            one.drive_once()
        one.drive_once()

        clock.advance(seconds=60)

        assert one.drive_all().expired == 1

    def test_set_back_it_lets_no_lease_last_longer_than_its_time(self, session: Session, clock: HandClock) -> None:
        one = Owner()
        session.open(seconds=60)
        one.drive_all()
        clock.advance(seconds=-YEAR_SECONDS)
        one.drive_all()

        clock.advance(seconds=60)
        assert one.drive_all().expired == 1

    def test_ten_years_ahead_it_delivers_once_and_does_not_loop(self, session: Session, clock: HandClock) -> None:
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
        assert 0 < epoch_ms(view["scheduledAt"]) - clock.now <= 300_000


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

    def test_what_is_due_as_the_lease_ends_stays_for_the_next_host(self, session: Session, clock: HandClock) -> None:
        session.open(seconds=60)
        reminder = session.remind(after_seconds=60)
        clock.advance(seconds=60)

        drive = Owner().drive_all()

        assert (drive.admitted, drive.expired) == (0, 1)
        session.open()
        assert session.active() == [reminder]
        assert Owner().drive_all().admitted == 1


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
