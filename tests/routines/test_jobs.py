"""Slots and events become runs: once, whoever looks, and whatever else is due."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from routines import events, jobs, runs
from routines.models import Job, LifecycleEvent, Run
from schedules import transaction
from tests.conftest import START, HandClock
from tests.routines.registered import job

MINUTE = 60_000
HOURLY = {"kind": "cron", "cron": "0 * * * *"}


@pytest.fixture(autouse=True)
def _stored(store: None, clock: HandClock) -> None:
    pass


def made() -> list[tuple[str, str, int]]:
    return list(Run.objects.order_by("scheduled_for", "id").values_list("trigger", "status", "scheduled_for"))


def emitted(name: str, payload: Any = None, depth: int = 0) -> None:
    with transaction.barrier():
        events.emit(name, payload or {}, START, origin="user:ada", depth=depth)


def finish(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status="completed", due_at=None, document=None)


def test_a_due_slot_becomes_one_run_and_the_job_waits_for_its_next() -> None:
    job()
    assert jobs.fire(START + MINUTE) == 1
    assert made() == [("schedule", "running", START + MINUTE)]
    kept = Job.objects.get()
    assert (kept.cursor, kept.next_slot, kept.fire_at, kept.last_slot) == (
        START + MINUTE,
        START + 2 * MINUTE,
        START + 2 * MINUTE,
        START + MINUTE,
    )
    assert jobs.fire(START + MINUTE) == 0


def test_nothing_fires_before_its_time_nor_while_paused() -> None:
    job()
    job("resting")
    with transaction.barrier():
        assert jobs.pause("resting", START, by="ada", reason="moving house")
    assert jobs.fire(START + MINUTE - 1) == 0
    assert jobs.fire(START + MINUTE) == 1
    assert Run.objects.get().routine_id == "tidy"


def test_two_schedulers_give_each_slot_one_run(at_once: Callable[..., list[Any]]) -> None:
    for number in range(40):
        job(f"tidy-{number}")
    look = lambda: jobs.fire(START + MINUTE)  # noqa: E731
    counts = at_once(look, look, look, look)
    assert sum(counts) == 40
    assert Run.objects.count() == 40


def test_a_slot_that_has_its_run_is_never_given_another() -> None:
    job()
    jobs.fire(START + MINUTE)
    # As if the job had been restored from a backup of a minute ago.
    Job.objects.update(cursor=START, next_slot=START + MINUTE, fire_at=START + MINUTE, last_slot=None)
    jobs.fire(START + MINUTE)
    assert Run.objects.count() == 1


def test_a_job_whose_previous_run_still_runs_records_its_slot_as_skipped() -> None:
    job()
    jobs.fire(START + MINUTE)
    jobs.fire(START + 2 * MINUTE)
    assert made() == [("schedule", "running", START + MINUTE), ("schedule", "skipped", START + 2 * MINUTE)]
    skipped = Run.objects.get(status="skipped")
    assert skipped.summary == "The previous run had not ended."
    assert skipped.ended_at == START + 2 * MINUTE
    finish(Run.objects.get(status="running"))
    jobs.fire(START + 3 * MINUTE)
    assert made()[-1] == ("schedule", "running", START + 3 * MINUTE)


def test_missed_slots_that_are_dropped_are_told_of_in_one_skipped_run() -> None:
    job(schedule=HOURLY)
    jobs.fire(START + 10 * 60 * MINUTE + 2 * MINUTE)
    assert made() == [("catchup", "skipped", START + 600 * MINUTE)]
    assert (Run.objects.get().summary or "").startswith("10 missed slots up to this one were dropped")


def test_caught_up_runs_are_staggered_and_leave_the_present_slot_its_turn() -> None:
    job(schedule={"kind": "cron", "cron": "* * * * *", "catchup": "all"})
    now = START + 4 * MINUTE
    jobs.fire(now)
    found = list(Run.objects.order_by("scheduled_for").values_list("trigger", "scheduled_for", "due_at"))
    assert found == [
        ("catchup", START + MINUTE, now),
        ("catchup", START + 2 * MINUTE, now + 1000),
        ("schedule", START + 3 * MINUTE, now),
        ("schedule", START + 4 * MINUTE, None),
    ]


def test_a_cron_job_that_does_not_recur_ends_with_its_first_slot() -> None:
    job()
    Job.objects.update(once=True)
    jobs.fire(START + MINUTE)
    kept = Job.objects.get()
    assert (kept.next_slot, kept.fire_at, kept.last_slot) == (None, None, START + MINUTE)


def test_one_job_that_cannot_be_read_keeps_no_other_from_firing() -> None:
    job("broken")
    Job.objects.update(document="{}")
    job("whole")
    assert jobs.fire(START + MINUTE) == 2
    assert Run.objects.get().routine_id == "whole"
    assert Job.objects.get(routine_id="broken").fire_at == START + 2 * MINUTE


def test_resuming_counts_from_now_and_makes_up_for_nothing() -> None:
    job(schedule={"kind": "cron", "cron": "* * * * *", "catchup": "all"})
    with transaction.barrier():
        jobs.pause("tidy", START, by="ada", reason="moving house")
    Job.objects.update(failures=5)
    with transaction.barrier():
        assert jobs.resume("tidy", START + 90 * MINUTE + 1)
        assert not jobs.resume("tidy", START + 90 * MINUTE + 1)
    assert jobs.fire(START + 90 * MINUTE + 1) == 0
    kept = Job.objects.get()
    assert (kept.paused_at, kept.paused_reason, kept.failures) == (None, None, 0)
    assert kept.fire_at == START + 91 * MINUTE


def test_failures_in_a_row_pause_a_job_and_it_says_why(settings: Settings) -> None:
    settings.WAKEFUL_PAUSE_AFTER = 2
    job()
    with transaction.barrier():
        assert not jobs.ended_badly("routine:tidy", START, "git is missing.")
        jobs.ended_well("routine:tidy")
        assert not jobs.ended_badly("routine:tidy", START, "git is missing.")
        assert jobs.ended_badly("routine:tidy", START, "git is missing.")
    kept = Job.objects.get()
    assert kept.paused_at == START
    assert kept.paused_by is None
    assert "git is missing." in (kept.paused_reason or "")


def test_an_event_fires_what_waits_for_it_once() -> None:
    job("listens", schedule={"kind": "event", "on": "per-turn"})
    job("waits-for-another", schedule={"kind": "event", "on": "write"})
    emitted("turn-end", {"sessionId": "s"})
    assert jobs.hear(START) == 1
    assert jobs.hear(START) == 0
    run = Run.objects.get()
    assert (run.routine_id, run.trigger, run.slot, run.depth) == ("listens", "event", None, 1)
    assert runs.Firing.loads(run.document or "").event == {"sessionId": "s"}


def test_a_filter_wants_all_its_pairs_as_json_values() -> None:
    job("listens", schedule={"kind": "event", "on": "host:built", "filter": {"ok": True, "count": 1}})
    for payload in ({"ok": True}, {"ok": 1, "count": 1}, {"ok": True, "count": 2}, ["ok"], {"ok": "true", "count": 1}):
        emitted("host:built", payload)
    jobs.hear(START)
    assert not Run.objects.exists()
    emitted("host:built", {"count": 1.0, "ok": True, "more": None})
    jobs.hear(START)
    assert Run.objects.count() == 1


def test_a_chain_of_routines_ends_at_its_depth_and_says_so() -> None:
    job("listens", schedule={"kind": "event", "on": "host:built"})
    emitted("host:built", depth=7)
    jobs.hear(START)
    assert Run.objects.get().depth == 8
    finish(Run.objects.get())
    emitted("host:built", depth=8)
    jobs.hear(START)
    assert Run.objects.get(status="skipped").summary == "A chain of routines ends at depth 8."


def test_events_fire_a_routine_so_often_in_a_minute_and_the_first_one_over_is_told_of(
    settings: Settings,
) -> None:
    settings.WAKEFUL_EVENT_RATE = 2
    job("listens", schedule={"kind": "event", "on": "host:built"})
    for _ in range(5):
        emitted("host:built")
        jobs.hear(START)
        Run.objects.filter(status="running").update(status="completed", due_at=None)
    assert sorted(Run.objects.values_list("status", flat=True)) == ["completed", "completed", "skipped"]
    emitted("host:built")
    jobs.hear(START + 60_000)
    assert Run.objects.filter(status="running").count() == 1


def test_an_event_while_the_previous_run_runs_is_skipped() -> None:
    job("listens", schedule={"kind": "event", "on": "host:built"})
    emitted("host:built")
    emitted("host:built")
    jobs.hear(START)
    assert sorted(Run.objects.values_list("status", flat=True)) == ["running", "skipped"]


def test_two_schedulers_handle_an_event_once(at_once: Callable[..., list[Any]]) -> None:
    for number in range(5):
        job(f"listens-{number}", schedule={"kind": "event", "on": "host:built"})
    emitted("host:built")
    at_once(*[lambda: jobs.hear(START)] * 4)
    assert Run.objects.count() == 5
    assert LifecycleEvent.objects.get().handled_at == START


def test_next_times_are_computed_anew_from_what_is_dealt_with() -> None:
    for number in range(3):
        job(f"tidy-{number}")
    Job.objects.update(next_slot=START + 9 * MINUTE, fire_at=START + 9 * MINUTE)
    after: str | None = ""
    while after is not None:
        after = jobs.rearm(after, START)
    assert set(Job.objects.values_list("fire_at", flat=True)) == {START + MINUTE}
