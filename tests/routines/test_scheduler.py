"""The scheduler's step: what is due is fired and worked, what silent workers left is taken over."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from routines import events, jobs, runs, scheduler
from routines.models import Job, LifecycleEvent, Run
from routines.scheduler import Scheduler
from schedules import transaction
from tests.conftest import START, HandClock
from tests.routines.firing import claimed, queued
from tests.routines.registered import job

MINUTE = 60_000


@pytest.fixture(autouse=True)
def host(store: None, clock: HandClock, settings: Settings) -> None:
    settings.WAKEFUL_TOOLS = ["tests.routines.tooling"]
    User.objects.create_superuser("root")


@pytest.fixture
def running() -> Iterator[Scheduler]:
    made = Scheduler()
    yield made
    made.leave()


def statuses() -> list[str]:
    return list(Run.objects.order_by("id").values_list("status", flat=True))


def answer(**result: Any) -> dict[str, Any]:
    return {"tool": "test_answer", "inputs": {"summary": "", **result}}


def test_all_that_is_due_now_is_fired_and_worked_to_its_end(running: Scheduler, clock: HandClock) -> None:
    for number in range(9):
        job(f"tidy-{number}")
    clock.advance(ms=MINUTE)
    done = running.drive_all()
    assert (done.fired, done.begun) == (9, 9)
    assert statuses() == ["completed"] * 9
    assert running.drive_all().begun == 0


def test_nothing_due_is_nothing_done_and_the_wait_is_bounded(running: Scheduler) -> None:
    job()
    running.drive_all()
    drive = running.drive_once()
    assert (drive.fired, drive.heard, drive.begun, drive.more) == (0, 0, 0, False)
    assert 0 < drive.wait <= scheduler.POLL_SECONDS


def test_a_retry_waits_for_its_time_and_a_restart_does_not_forget_it(running: Scheduler, clock: HandClock) -> None:
    retry = {"max_attempts": 2, "backoff": "fixed", "initial_ms": 5_000}
    queued(target=answer(ok=False), retry=retry)
    running.drive_all()
    assert Run.objects.get().attempt == 1
    clock.advance(seconds=5)
    other = Scheduler()
    other.drive_all()
    other.leave()
    assert (Run.objects.get().status, Run.objects.get().attempt) == ("failed", 2)


def test_a_run_of_a_silent_worker_is_marked_interrupted_once_its_lease_ends(
    running: Scheduler, clock: HandClock
) -> None:
    claimed()
    clock.advance(ms=runs.LEASE_MS - 1)
    assert running.drive_once().interrupted == 0
    clock.advance(ms=1)
    assert running.drive_once().interrupted == 1
    run = Run.objects.get()
    assert (run.status, run.error) == ("interrupted", "The process that ran it went silent.")


def test_a_tool_that_kills_its_process_is_tried_no_more_often_than_its_routine_says(
    running: Scheduler, clock: HandClock
) -> None:
    from routines import outcomes

    run_id = queued(retry={"max_attempts": 3, "backoff": "fixed", "initial_ms": 1_000})
    for attempt in (1, 2, 3):
        taken = outcomes.claim(run_id, "a worker that dies", clock.now)
        assert taken is not None
        assert taken.attempt == attempt
        clock.advance(ms=runs.LEASE_MS)
        running.drive_once()
        assert Run.objects.get().status == ("interrupted" if attempt == 3 else "running")
        clock.advance(seconds=1)
    assert outcomes.claim(run_id, "another", clock.now) is None


def test_a_clock_that_was_set_back_leaves_no_run_held_for_years(running: Scheduler, clock: HandClock) -> None:
    claimed()
    clock.advance(seconds=-86_400)
    running.drive_once()
    assert Run.objects.get().lease_until == clock.now + runs.LEASE_MS
    clock.advance(ms=runs.LEASE_MS)
    assert running.drive_once().interrupted == 1


def test_one_routine_fires_another_and_what_that_one_does_counts_as_deeper(running: Scheduler) -> None:
    job("listens", schedule={"kind": "event", "on": "host:tidied"}, fires_events=["routine-completed"])
    queued(fires_events=["host:tidied"])
    done = running.drive_all()
    assert done.begun == 2
    heard = Run.objects.get(routine_id="listens")
    assert (heard.status, heard.trigger, heard.depth) == ("completed", "event", 2)
    assert LifecycleEvent.objects.get(name="routine-completed").depth == 2


def test_routines_that_fire_each_other_in_a_ring_end(running: Scheduler) -> None:
    job("ping", schedule={"kind": "event", "on": "host:pong"}, fires_events=["host:ping"])
    job("pong", schedule={"kind": "event", "on": "host:ping"}, fires_events=["host:pong"])
    with transaction.barrier():
        events.emit("host:pong", {}, START, origin="user:ada")
    running.drive_all()
    assert max(Run.objects.values_list("depth", flat=True)) == events.DEEPEST
    assert sorted(set(statuses())) == ["completed", "skipped"]


def test_no_more_is_worked_at_once_than_there_are_workers(settings: Settings) -> None:
    settings.WAKEFUL_WORKERS = 2
    from tests.routines import tooling

    for number in range(3):
        queued(f"waits-{number}", target={"tool": "test_wait"})
    running = Scheduler()
    try:
        assert running.drive_once().begun == 2
        assert running.drive_once().begun == 0
        assert (running.pool.busy, running.pool.free) == (2, 0)
        tooling.GATE.set()
        running.drive_all()
        assert statuses() == ["completed"] * 3
    finally:
        tooling.GATE.clear()
        running.leave()


def test_stopping_has_what_is_worked_ended_and_recorded(clock: HandClock) -> None:
    queued(target={"tool": "test_wait"})
    running = Scheduler()
    assert running.drive_once().begun == 1
    running.stop()
    running.leave()
    assert statuses() == ["interrupted"]


def test_after_a_start_the_next_times_are_computed_anew(running: Scheduler) -> None:
    job()
    Job.objects.update(next_slot=START + 9 * MINUTE, fire_at=START + 9 * MINUTE)
    running.drive_all()
    assert Job.objects.get().fire_at == START + MINUTE


def test_a_job_that_only_an_older_version_took_keeps_no_other_from_hearing(running: Scheduler) -> None:
    job("broken", schedule={"kind": "event", "on": "host:built"})
    Job.objects.update(document="{}")
    job("listens", schedule={"kind": "event", "on": "host:built"})
    with transaction.barrier():
        events.emit("host:built", {}, START, origin="user:ada")
    running.drive_all()
    assert Run.objects.get().routine_id == "listens"


def test_handled_events_are_forgotten_after_a_day(running: Scheduler, clock: HandClock) -> None:
    with transaction.barrier():
        events.emit("host:built", {}, START, origin="user:ada")
    jobs.hear(START)
    clock.advance(seconds=86_400)
    running.drive_once()
    assert LifecycleEvent.objects.exists()
    clock.advance(seconds=61)
    running.drive_once()
    assert not LifecycleEvent.objects.exists()
