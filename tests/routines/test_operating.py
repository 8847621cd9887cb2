"""What operators do to a job is done once, and recorded with who did it."""

from collections.abc import Callable

import pytest

from routines import operating, reading
from routines.models import AuditRecord, Job, Run
from schedules.sessions.errors import Refusal
from tests.conftest import START, HandClock
from tests.routines.registered import job

MINUTE = 60_000


@pytest.fixture(autouse=True)
def _stored(store: None, clock: HandClock) -> None:
    pass


def deeds() -> list[tuple[str, str, str | None]]:
    return list(AuditRecord.objects.order_by("id").values_list("actor", "action", "detail"))


def test_a_job_is_paused_and_resumed_and_each_is_recorded() -> None:
    job()
    operating.pause("tidy", by="ada", reason="moving house")
    assert (Job.objects.get().paused_by, Job.objects.get().paused_reason) == ("ada", "moving house")
    operating.resume("tidy", by="grace")
    assert Job.objects.get().paused_at is None
    assert deeds() == [("ada", "pause", "moving house"), ("grace", "resume", None)]


def test_what_is_so_already_or_not_there_is_refused_and_not_recorded() -> None:
    job()
    calls: list[Callable[[], object]] = [
        lambda: operating.resume("tidy", by="ada"),
        lambda: operating.pause("nobody", by="ada", reason=""),
        lambda: operating.resume("nobody", by="ada"),
        lambda: operating.backfill("nobody", START, START, by="ada"),
        lambda: reading.following("nobody", START, 1),
        lambda: reading.one("nobody"),
    ]
    for call in calls:
        with pytest.raises(Refusal):
            call()
    assert deeds() == []


def test_a_backfill_gives_a_run_to_each_slot_that_never_had_one(clock: HandClock) -> None:
    job(now=START - 10 * MINUTE)
    assert operating.backfill("tidy", START - 5 * MINUTE, START - 4 * MINUTE, by="ada") == 2
    assert operating.backfill("tidy", START - 5 * MINUTE, START - 3 * MINUTE, by="ada") == 1
    found = list(Run.objects.order_by("slot").values_list("trigger", "slot", "due_at", "fired_by"))
    assert found == [
        ("backfill", START - 5 * MINUTE, START, "ada"),
        ("backfill", START - 4 * MINUTE, START + 1_000, "ada"),
        ("backfill", START - 3 * MINUTE, START + 2_000, "ada"),
    ]
    assert deeds()[0] == ("ada", "backfill", "2 slots")


@pytest.mark.parametrize(("start", "end"), [(0, -1), (0, 1), (-1_001 * MINUTE, 0)])
def test_a_span_that_is_none_lies_ahead_or_holds_too_much_is_refused(start: int, end: int) -> None:
    job(now=START - 2_000 * MINUTE)
    with pytest.raises(Refusal) as refused:
        operating.backfill("tidy", START + start, START + end, by="ada")
    assert refused.value.code == "invalid_request"
    assert not Run.objects.exists()


def test_the_next_times_are_those_after_what_is_dealt_with() -> None:
    job()
    assert reading.following("tidy", START - 90 * MINUTE, 2) == [START + MINUTE, START + 2 * MINUTE]
