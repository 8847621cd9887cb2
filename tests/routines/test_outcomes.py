"""What came of an attempt: the run's end or its retry, and all that follows from it."""

from typing import Any

import pytest
from django.db import IntegrityError
from pytest_django import Settings

from routines import outcomes, runs
from routines.models import Job, LifecycleEvent, Run, WorkItem
from routines.outcomes import Outcome
from routines.tools.registry import Result
from schedules import transaction
from tests.conftest import START, HandClock
from tests.routines.firing import WORKER, claimed, queued
from tests.routines.registered import job

GOOD = Outcome(result=Result(ok=True, summary="Tidied up."))
BAD = Outcome(result=Result(ok=False, summary="The disk is full."))
TWICE = {"max_attempts": 2, "backoff": "fixed", "initial_ms": 5_000}


@pytest.fixture(autouse=True)
def _stored(store: None, clock: HandClock) -> None:
    pass


def kept(run: runs.Claimed) -> Run:
    return Run.objects.get(pk=run.id)


def emitted() -> list[tuple[str, int]]:
    return list(LifecycleEvent.objects.order_by("id").values_list("name", "depth"))


def test_a_good_attempt_completes_the_run_and_forgets_what_it_fired() -> None:
    run = claimed()
    assert outcomes.record(run, GOOD, START + 2_500) == "completed"
    found = runs.find(run.id)
    assert found is not None
    assert (found["status"], found["attempt"], found["durationMs"], found["summary"], found["error"]) == (
        "completed",
        1,
        2_500,
        "Tidied up.",
        None,
    )
    after = kept(run)
    assert (after.document, after.worker, after.lease_until, after.due_at) == (None, None, None, None)


def test_a_failed_attempt_waits_for_its_retry_and_the_run_stays_running() -> None:
    run = claimed(retry=TWICE)
    assert outcomes.record(run, BAD, START) == "retrying"
    after = kept(run)
    assert (after.status, after.attempt, after.due_at, after.error) == (
        "running",
        1,
        START + 5_000,
        "The disk is full.",
    )
    assert outcomes.claim(run.id, WORKER, START + 4_999) is None
    again = outcomes.claim(run.id, WORKER, START + 5_000)
    assert again is not None
    assert again.attempt == 2
    assert outcomes.record(again, BAD, START + 6_000) == "failed"
    assert kept(run).error == "The disk is full."


def test_only_the_classes_of_failure_that_the_routine_names_are_tried_again() -> None:
    retry = {**TWICE, "on": ["timeout"]}
    assert outcomes.record(claimed("first", retry=retry), BAD, START) == "failed"
    late = Outcome(result=Result(ok=False, summary="late", failure="timeout"))
    assert outcomes.record(claimed("second", retry=retry), late, START) == "retrying"


def test_an_earlier_attempt_that_speaks_up_late_changes_nothing() -> None:
    run = claimed(retry=TWICE)
    outcomes.record(run, BAD, START)
    again = outcomes.claim(run.id, "another", START + 5_000)
    assert again is not None
    assert outcomes.record(run, GOOD, START + 5_001) is None
    assert kept(run).status == "running"
    assert outcomes.record(again, GOOD, START + 5_002) == "completed"
    assert outcomes.record(again, BAD, START + 5_003) is None
    assert kept(run).status == "completed"


def test_what_the_process_ended_is_interrupted_and_what_found_nothing_to_do_is_skipped() -> None:
    stopped = Outcome(result=Result(ok=False, summary="It stopped."), interrupted=True)
    assert outcomes.record(claimed("first"), stopped, START) == "interrupted"
    busy = Outcome(result=Result(ok=True, summary="It is busy.", skipped=True))
    assert outcomes.record(claimed("second"), busy, START) == "skipped"


def test_two_runs_of_one_job_are_never_worked_at_once() -> None:
    first, second = queued(), queued()
    assert outcomes.claim(first, WORKER, START) is not None
    assert outcomes.claim(second, WORKER, START) is None
    with pytest.raises(IntegrityError), transaction.barrier():
        Run.objects.filter(pk=second).update(worker=WORKER)


def test_a_run_fired_by_hand_waits_for_no_other() -> None:
    claimed()
    assert outcomes.claim(queued(alone=False), WORKER, START) is not None
    assert outcomes.claim(queued(alone=False), WORKER, START) is not None


def test_a_routine_fires_its_events_at_their_stages() -> None:
    names = ["routine-triggered", "host:tidy.started", "host:tidy-succeeded", "host:tidy", "host:tidy-failed"]
    run = claimed(fires_events=names, depth=3)
    assert emitted() == [("routine-triggered", 3), ("host:tidy.started", 3)]
    outcomes.record(run, GOOD, START)
    assert emitted()[2:] == [("host:tidy-succeeded", 3), ("host:tidy", 3)]
    LifecycleEvent.objects.all().delete()
    outcomes.record(claimed("other", fires_events=[*names, "routine-failed"]), BAD, START)
    assert [name for name, _ in emitted()][2:] == ["host:tidy-failed", "routine-failed"]


def test_a_second_attempt_is_not_told_of_as_a_second_firing() -> None:
    run = claimed(retry=TWICE)
    outcomes.record(run, BAD, START)
    outcomes.claim(run.id, WORKER, START + 5_000)
    assert emitted() == [("routine-triggered", 1)]


def test_a_failure_for_good_opens_a_work_item_and_fires_its_event() -> None:
    run = claimed(on_failure={"create_work_item": True, "fire_event": "host:help"}, fires_events=["routine-failed"])
    outcomes.record(run, BAD, START)
    item = WorkItem.objects.get()
    assert (item.run_id, item.title, item.detail, item.opened_at) == (
        run.id,
        "tidy failed",
        "The disk is full.",
        START,
    )
    assert [name for name, _ in emitted()] == ["routine-failed", "host:help"]


def test_a_scheduled_failure_counts_against_the_job_and_a_success_clears_it(settings: Settings) -> None:
    settings.WAKEFUL_PAUSE_AFTER = 2
    job()
    outcomes.record(claimed(), BAD, START)
    assert Job.objects.get().failures == 1
    outcomes.record(claimed(alone=False), BAD, START)
    assert Job.objects.get().failures == 1
    outcomes.record(claimed(), GOOD, START)
    assert Job.objects.get().failures == 0
    for _ in range(2):
        outcomes.record(claimed(), BAD, START)
    assert Job.objects.get().paused_at == START


def test_only_the_newest_runs_and_the_newest_failed_ones_are_kept() -> None:
    history = {"retain_runs": 2, "retain_failed": 1}
    made: list[str] = []
    for outcome in (BAD, BAD, GOOD, GOOD, GOOD):
        run = claimed(history=history)
        made.append(run.id)
        outcomes.record(run, outcome, START)
    assert list(Run.objects.order_by("id").values_list("pk", flat=True)) == [made[1], made[3], made[4]]


def test_what_the_vault_gave_stands_in_nothing_that_is_kept() -> None:
    run = claimed(on_failure={"create_work_item": True})
    leaky = Outcome(result=Result(ok=False, summary="login with\n  s3cret\0 failed"), secrets=frozenset({"s3cret"}))
    outcomes.record(run, leaky, START)
    assert kept(run).summary == kept(run).error == WorkItem.objects.get().detail == "login with [redacted]\ufffd failed"


def test_a_run_whose_manifest_is_not_valid_any_more_still_ends() -> None:
    run = claimed()
    broken: Any = runs.Firing(document='{"schema": "routine/v0"}').dumps()
    Run.objects.update(document=broken)
    again = runs.Claimed(**{**{f: getattr(run, f) for f in run.__slots__}, "firing": runs.Firing.loads(broken)})
    assert outcomes.record(again, BAD, START) == "failed"


def test_nobody_is_told_of_what_was_no_failure_for_good(caplog: pytest.LogCaptureFixture) -> None:
    run = claimed(on_failure={"notify": ["operator://ada"]})
    for status in ("completed", "skipped", "retrying", None):
        outcomes.tell(run, BAD, status, START)
    assert "nobody was told" not in caplog.text
    outcomes.tell(run, BAD, "failed", START)
    assert "nobody was told of the failure" in caplog.text
