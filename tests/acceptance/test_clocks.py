"""Clocks that are set and owners that are stopped for longer than a lease, in processes of their own."""

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.processes import Worker, work

DAY_MS = 86_400_000  # also how long the leases of these sessions last
TEN_YEARS_MS = 3653 * DAY_MS
MADE = ["session/opened", "schedule/change"]
QUEUED = ["followup/queued", "schedule/change"]


class Stage:
    """One session with a reminder due in a minute, and a clock that all processes of the test share."""

    def __init__(self, database: str, folder: Path) -> None:
        self.database = database
        self.clock = folder / "clock"
        self.set(0)
        self.session: str = self.do("prepare", 1, [{"after_seconds": 60}])[0][0]

    def set(self, ahead_ms: int) -> None:
        """Set the clock so far ahead of the true time, or behind it."""
        step = self.clock.with_suffix(".new")
        step.write_text(str(ahead_ms))
        step.rename(self.clock)

    def do(self, job: str, *arguments: object) -> Any:
        return work(job, *arguments, database=self.database, clock=self.clock)

    def owner(self, stop_before: str = "", options: str = "") -> Worker:
        return Worker("deliver", stop_before, database=f"{self.database}{options}", clock=self.clock).go()

    def tells(self, *types: str) -> bool:
        """Whether the log holds events of exactly these types, as soon as it holds so many."""
        found: list[str] = self.do("told", self.session, len(types))
        assert found == list(types)
        return True


@pytest.fixture
def stage(fresh_database: str, tmp_path: Path) -> Stage:
    return Stage(fresh_database, tmp_path)


def resume(owner: Worker) -> None:
    """Continue a stopped owner, and end it after its step."""
    owner.send(signal.SIGCONT)
    assert owner.stop() == 0


def test_a_clock_set_ahead_while_the_owner_waits_makes_the_reminder_due(stage: Stage) -> None:
    with stage.owner() as owner:
        stage.do("lease_left", stage.session)
        assert stage.tells(*MADE)

        stage.set(61_000)

        assert stage.tells(*MADE, *QUEUED)
        assert owner.stop() == 0


def test_a_clock_set_back_a_day_while_the_owner_waits_fires_nothing_early_and_bounds_the_lease(stage: Stage) -> None:
    with stage.owner() as owner:
        stage.do("lease_left", stage.session)

        stage.set(-DAY_MS)
        left = stage.do("lease_left", stage.session)
        assert 0 < left <= DAY_MS
        assert stage.tells(*MADE)

        # The time that was set back comes again: the lease was cut, so it ends before the reminder's target.
        stage.set(61_000)
        assert stage.tells(*MADE, "session/closed")
        stage.do("take", stage.session)
        assert stage.tells(*MADE, "session/closed", "session/opened", *QUEUED)
        assert owner.stop() == 0


def test_a_clock_set_ten_years_ahead_ends_the_lease_and_delivers_once_to_the_next_host(stage: Stage) -> None:
    stage.do("remind", stage.session, {"every_seconds": 300})
    made = [*MADE, "schedule/change"]
    with stage.owner() as owner:
        stage.do("lease_left", stage.session)

        stage.set(TEN_YEARS_MS)

        assert stage.tells(*made, "session/closed")
        lease = stage.do("take", stage.session)
        assert stage.do("host", [[stage.session, lease]], 2) == 2
        assert stage.do("lease_left", stage.session) > 0
        assert stage.do("tally") == {"created": 2, "queued": 2, "problems": []}
        assert owner.stop() == 0


def test_an_owner_stopped_before_its_lock_does_nothing_twice_when_it_is_continued(stage: Stage) -> None:
    after = [*MADE, "session/closed", "session/opened", *QUEUED]
    with stage.owner(stop_before="lock") as stopped:
        stage.set(61_000)
        stopped.says("stopped")
        stage.set(DAY_MS + 61_000)
        with stage.owner() as other:
            assert stage.tells(*MADE, "session/closed")
            stage.do("take", stage.session)
            assert stage.tells(*after)
            assert other.stop() == 0

        resume(stopped)

        assert stage.tells(*after)
    assert stage.do("tally") == {"created": 1, "queued": 1, "problems": []}


def test_an_owner_stopped_inside_its_commit_holds_others_for_a_bounded_time_and_then_goes_on(stage: Stage) -> None:
    with stage.owner(stop_before="admission") as stopped:
        stage.set(61_000)
        stopped.says("stopped")
        refused = stage.do("create_within", 0.5, stage.session)
        assert refused["code"] == "persistence_uncertain"
        assert refused["seconds"] < 5

        # It decided while the lease held, and nobody could write since: so it stands, and only then the lease ends.
        stage.set(DAY_MS + 61_000)
        stopped.send(signal.SIGCONT)
        assert stage.tells(*MADE, *QUEUED, "session/closed")
        assert stopped.stop() == 0
    assert stage.do("tally") == {"created": 1, "queued": 1, "problems": []}


@pytest.mark.engine("postgresql")
def test_an_owner_stopped_for_longer_than_a_transaction_may_idle_has_written_nothing(stage: Stage) -> None:
    impatient = "?options=-c%20idle_in_transaction_session_timeout=1s"
    with stage.owner(stop_before="admission", options=impatient) as stopped:
        stage.set(61_000)
        stopped.says("stopped")
        with stage.owner() as other:
            assert stage.tells(*MADE, *QUEUED)
            assert other.stop() == 0

        resume(stopped)

        assert stage.tells(*MADE, *QUEUED)
    assert stage.do("tally") == {"created": 1, "queued": 1, "problems": []}
