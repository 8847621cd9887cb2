"""Reconciling: the jobs become what the files want, in one claim, and nothing that is due is lost."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from routines import holdings, jobs, registrar
from routines.models import Job, Registrar, Routine, Run
from routines.tools import registry
from schedules import transaction
from schedules.sessions import lossless
from tests.conftest import START, HandClock
from tests.routines import registered, workspaces

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
WEEKLY = {"kind": "interval", "every": "7d"}
EVERY_MINUTE = {"kind": "cron", "cron": "* * * * *"}
HOURLY = {"kind": "cron", "cron": "0 * * * *"}


@pytest.fixture
def workspace(
    store: None, clock: HandClock, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setattr(registry, "_BUILT_IN", ("noop",))
    settings.WAKEFUL_TOOLS = [workspaces.PATH]
    settings.WAKEFUL_WORKSPACES = [str(tmp_path / "w")]
    settings.WAKEFUL_IDENTITIES = {"bot://some": {"tools": ["lifecycle_noop"]}}
    User.objects.create_superuser("root")
    (tmp_path / "w" / ".routines").mkdir(parents=True)
    return tmp_path / "w"


def reconcile() -> registrar.Report:
    """As another process would that has just started."""
    return registrar.Registrar().reconcile()


def told() -> dict[str, tuple[str, str | None]]:
    return {row.id: (row.state, row.code) for row in Routine.objects.order_by("id")}


def problems(report: registrar.Report) -> list[tuple[str, str]]:
    return [(Path(problem.path).parent.name, problem.fault.code) for problem in report.errors]


def written(call: Callable[[], object]) -> Sequence[str]:
    """The statements of a call that write; one that was run for many rows counts once."""
    with CaptureQueriesContext(connection) as queries:
        call()
    statements = [re.sub(r"^\d+ times: ", "", query["sql"]) for query in queries]
    return [statement for statement in statements if statement.startswith(("INSERT", "UPDATE", "DELETE"))]


def test_enabled_routines_of_all_kinds_hold_a_job(workspace: Path) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "cron": HOURLY,
        "interval": WEEKLY,
        "calendar": {"kind": "calendar", "rrule": "FREQ=DAILY"},
        "manual": {"kind": "manual"},
        "event": {"kind": "event", "on": "per-turn"},
    }
    for name, schedule in kinds.items():
        workspaces.put(workspace, name, schedule=schedule)
    report = reconcile()
    assert report.to_json() == {
        "registered": ["calendar", "cron", "event", "interval", "manual"],
        "skipped": [],
        "removed": [],
        "errors": [],
    }
    held = {job.routine_id: (job.kind, job.event, job.next_slot, job.fire_at) for job in Job.objects.all()}
    assert held == {
        "cron": ("cron", None, START + 60 * MINUTE, START + 60 * MINUTE),
        "interval": ("interval", None, START + 7 * DAY, START + 7 * DAY),
        "calendar": ("calendar", None, START + DAY, START + DAY),
        "manual": ("manual", None, None, None),
        "event": ("event", "turn-end", None, None),
    }
    assert set(told().values()) == {("registered", None)}


def test_a_job_is_made_just_as_its_manifest_says(workspace: Path) -> None:
    path = workspaces.put(workspace, "tidy", schedule=HOURLY, metadata={"team": "a"})
    reconcile()
    job = Job.objects.get()
    like = registered.routine(
        "tidy",
        schedule=HOURLY,
        metadata={"team": "a"},
        description="Sweep the workspace every night.",
        target={"tool": "lifecycle_noop"},
    )
    assert jobs.routine_of(job.document) == like
    assert (job.source, job.label, job.path, job.workspace) == (
        "routine:tidy",
        "routine:tidy",
        str(path),
        str(workspace.resolve()),
    )
    assert (job.anchor, job.cursor, job.failures, job.paused_at, job.once, job.stale) == (START, START, 0, None, 0, 0)
    row = Routine.objects.get()
    assert (row.path, row.workspace, row.document) == (job.path, job.workspace, job.document)


def test_a_reconcile_of_what_is_registered_writes_nothing(workspace: Path) -> None:
    for name in ("aa", "bb"):
        workspaces.put(workspace, name, schedule=HOURLY)
    workspaces.put(workspace, "off", enabled=False)
    workspaces.spoil(workspaces.put(workspace, "bad"))
    first = reconcile()
    assert written(reconcile) == []
    assert reconcile().to_json() == first.to_json()
    assert Registrar.objects.get().version == 1


def test_what_gets_no_job_is_skipped_with_its_code_and_words_or_is_an_error(workspace: Path) -> None:
    workspaces.put(workspace, "off", enabled=False)
    workspaces.put(workspace, "acts", target={"action": "@a/actions/b"})
    workspaces.put(workspace, "denied", identity="bot://some", target={"tool": "greet", "inputs": {"name": "Ada"}})
    lacking = workspaces.put(workspace, "lacking", target={"tool": "nothing"})
    named = workspaces.put(workspace, "named", id="otherwise")
    report = reconcile()
    assert report.registered == ("otherwise",)
    shown: Any = report.to_json()
    assert [one["id"] for one in shown["skipped"]] == ["acts", "denied", "off"]
    reasons = " ".join(one["reason"] for one in shown["skipped"])
    assert "routine_disabled: The routine is disabled" in reasons
    assert "routine_permission_denied: The identity bot://some may not use greet" in reasons
    assert "routine_target_unresolvable: Actions are not dispatched" in reasons
    error, warning = shown["errors"]
    assert error == {
        "file": str(lacking),
        "error": "This host has no tool nothing; name one that it has, or add it.",
        "code": "routine_target_unresolvable",
        "field": "target.tool",
        "line": None,
    }
    assert warning["warning"] is True
    assert (warning["file"], warning["code"]) == (str(named), "routine_id_mismatch")
    assert not report.good
    assert told() == {
        "acts": ("skipped", "routine_target_unresolvable"),
        "denied": ("skipped", "routine_permission_denied"),
        "lacking": ("error", "routine_target_unresolvable"),
        "off": ("skipped", "routine_disabled"),
        "otherwise": ("registered", None),
    }
    assert lossless.loads(Registrar.objects.get().problems) == shown["errors"]


def test_warnings_alone_are_good(workspace: Path) -> None:
    workspaces.put(workspace, "named", id="otherwise")
    assert reconcile().good


def test_a_vanished_and_a_disabled_one_lose_their_jobs(workspace: Path) -> None:
    for name in ("aa", "bb", "cc"):
        workspaces.put(workspace, name)
    reconcile()
    ids = dict(Job.objects.values_list("routine_id", "id"))
    workspaces.remove(workspace, "aa")
    workspaces.put(workspace, "bb", enabled=False)
    report = reconcile()
    assert sorted(report.removed) == sorted([ids["aa"], ids["bb"]])
    assert list(Job.objects.values_list("routine_id", flat=True)) == ["cc"]
    assert told() == {"bb": ("skipped", "routine_disabled"), "cc": ("registered", None)}


# TRAPS 17: a weekly interval on a host that restarts daily.


def test_an_unchanged_schedule_keeps_its_anchor_over_restarts_and_edits(workspace: Path, clock: HandClock) -> None:
    workspaces.put(workspace, "tidy", schedule=WEEKLY)
    for day in range(6):
        workspaces.put(workspace, "tidy", schedule=WEEKLY, description=f"As of day {day}.")
        reconcile()
        clock.advance(ms=DAY)
    job = Job.objects.get()
    assert (job.anchor, job.next_slot) == (START, START + 7 * DAY)
    assert "As of day 5." in job.document
    clock.advance(ms=DAY)
    assert jobs.fire(clock.now) == 1
    assert Run.objects.get().slot == START + 7 * DAY


def test_a_moved_file_takes_its_job_along(workspace: Path, clock: HandClock) -> None:
    workspaces.put(workspace, "tidy", schedule=WEEKLY)
    reconcile()
    before = Job.objects.get()
    clock.advance(ms=DAY)
    (workspace / ".routines" / "tidy").rename(workspace / ".routines" / "zz")
    reconcile()
    after = Job.objects.get()
    assert (after.id, after.anchor, after.next_slot) == (before.id, before.anchor, before.next_slot)
    assert after.path == str(workspace / ".routines" / "zz" / "ROUTINE.md") == Routine.objects.get().path


# TRAPS 8: editing fires nothing retroactively and loses no slot that is already due.


def test_a_changed_schedule_counts_from_now_and_fires_nothing_of_the_past(workspace: Path, clock: HandClock) -> None:
    workspaces.put(workspace, "tidy", schedule={"kind": "cron", "cron": "0 12 * * *"})
    reconcile()
    clock.advance(seconds=3 * 3600 + 600)
    workspaces.put(workspace, "tidy", schedule={**HOURLY, "catchup": "all"})
    reconcile()
    job = Job.objects.get()
    assert (job.anchor, job.cursor, job.next_slot) == (clock.now, clock.now, START + 4 * 3600 * 1000)
    assert jobs.fire(clock.now) == 0
    assert Run.objects.count() == 0


def test_a_slot_that_is_due_when_the_schedule_changes_still_fires_as_it_was(workspace: Path, clock: HandClock) -> None:
    workspaces.put(workspace, "tidy", schedule=HOURLY, description="as it was")
    reconcile()
    clock.advance(seconds=3600)
    workspaces.put(workspace, "tidy", schedule=WEEKLY, description="as it is")
    reconcile()
    run = Run.objects.get()
    assert (run.trigger, run.status, run.slot, run.due_at) == ("schedule", "running", clock.now, clock.now)
    assert "as it was" in str(run.document)
    job = Job.objects.get()
    assert (job.next_slot, job.last_slot) == (clock.now + 7 * DAY, clock.now)
    assert "as it is" in job.document


def test_a_slot_that_only_its_jitter_holds_back_still_fires_at_its_time(workspace: Path, clock: HandClock) -> None:
    workspaces.put(workspace, "tidy", schedule={**HOURLY, "jitter_seconds": 600})
    reconcile()
    fire_at = Job.objects.get().fire_at
    assert fire_at is not None
    clock.advance(seconds=3600)
    assert fire_at > clock.now
    workspaces.put(workspace, "tidy", schedule=WEEKLY)
    reconcile()
    run = Run.objects.get()
    assert (run.slot, run.due_at, run.status) == (clock.now, fire_at, "running")


def test_slots_missed_before_an_edit_are_made_up_for_as_the_old_schedule_said(
    workspace: Path, clock: HandClock
) -> None:
    workspaces.put(workspace, "tidy", schedule={**HOURLY, "catchup": "one"})
    reconcile()
    clock.advance(seconds=10 * 3600 + 600)
    workspaces.put(workspace, "tidy", schedule=WEEKLY)
    reconcile()
    assert list(Run.objects.order_by("slot").values_list("trigger", "status", "slot")) == [
        ("catchup", "skipped", START + 9 * 3600 * 1000),
        ("catchup", "running", START + 10 * 3600 * 1000),
    ]


def test_a_due_slot_of_an_unchanged_schedule_is_left_to_the_scheduler(workspace: Path, clock: HandClock) -> None:
    workspaces.put(workspace, "tidy", schedule=HOURLY)
    reconcile()
    clock.advance(seconds=3600)
    workspaces.put(workspace, "tidy", schedule=HOURLY, description="edited")
    reconcile()
    assert Run.objects.count() == 0
    assert jobs.fire(clock.now) == 1
    assert "edited" in str(Run.objects.get().document)


def test_an_edit_neither_resumes_a_job_nor_fires_what_it_missed_while_paused(workspace: Path, clock: HandClock) -> None:
    workspaces.put(workspace, "tidy", schedule=HOURLY)
    reconcile()
    with transaction.barrier():
        jobs.pause("tidy", START, by="ada", reason="moving house")
        jobs.ended_badly("routine:tidy", START, "no")
    clock.advance(seconds=2 * 3600)
    workspaces.put(workspace, "tidy", schedule=EVERY_MINUTE)
    reconcile()
    job = Job.objects.get()
    assert (job.paused_at, job.paused_by, job.failures, job.cursor) == (START, "ada", 1, clock.now)
    assert Run.objects.count() == 0


# TRAPS 10: a half-written file.


def test_a_half_written_file_keeps_its_job_until_it_parses_again_or_is_gone(workspace: Path, clock: HandClock) -> None:
    path = workspaces.put(workspace, "tidy", schedule=HOURLY)
    good = path.read_text()
    reconcile()
    before = Job.objects.values("id", "anchor", "document", "next_slot").get()
    workspaces.spoil(path)
    clock.advance(seconds=60)
    report = reconcile()
    assert (report.registered, report.removed) == (("tidy",), ())
    assert problems(report)[0] == ("tidy", "routine_invalid")
    assert Job.objects.values("id", "anchor", "document", "next_slot").get() == before
    assert Job.objects.get().stale
    assert told() == {"tidy": ("stale", "routine_invalid")}
    assert Routine.objects.get().document == before["document"]
    path.write_text(good)
    assert reconcile().errors == ()
    assert not Job.objects.get().stale
    assert told() == {"tidy": ("registered", None)}
    workspaces.spoil(path)
    reconcile()
    workspaces.remove(workspace, "tidy")
    assert reconcile().removed == (before["id"],)
    assert (Job.objects.count(), told()) == (0, {})


def test_a_broken_file_of_a_routine_without_a_job_is_still_told_of(workspace: Path) -> None:
    path = workspaces.put(workspace, "off", enabled=False)
    reconcile()
    workspaces.spoil(path)
    reconcile()
    assert told() == {"off": ("error", "routine_invalid")}
    assert written(reconcile) == []
    workspaces.put(workspace, "off", enabled=False)
    reconcile()
    assert told() == {"off": ("skipped", "routine_disabled")}
    workspaces.remove(workspace, "off")
    reconcile()
    assert told() == {}


def test_one_broken_file_stops_no_other(workspace: Path) -> None:
    for name in ("aa", "bb", "cc"):
        workspaces.put(workspace, name)
    workspaces.spoil(workspace / ".routines" / "bb" / "ROUTINE.md")
    assert reconcile().registered == ("aa", "cc")


# TRAPS 11: two files with one id.


def test_of_two_files_with_one_id_the_first_holds_the_one_job(workspace: Path) -> None:
    workspaces.put(workspace, "bb", id="tidy")
    first = workspaces.put(workspace, "aa", id="tidy")
    report = reconcile()
    assert report.registered == ("tidy",)
    assert ("bb", "routine_duplicate") in problems(report)
    assert Job.objects.get().path == str(first) == Routine.objects.get().path


def test_an_id_that_is_a_cron_jobs_stays_the_cron_jobs(workspace: Path) -> None:
    registered.job("0197aaaa")
    Job.objects.update(source="cron:0197aaaa")
    workspaces.put(workspace, "0197aaaa")
    workspaces.put(workspace, "aa")
    report = reconcile()
    assert report.registered == ("aa",)
    assert problems(report) == [("0197aaaa", "routine_duplicate")]
    assert Job.objects.get(routine_id="0197aaaa").source == "cron:0197aaaa"


# Workspaces come and go.


def test_a_workspace_that_is_away_keeps_its_jobs_and_one_that_is_named_no_more_loses_them(
    workspace: Path, settings: Settings
) -> None:
    workspaces.put(workspace, "aa")
    workspaces.put(workspace, "off", enabled=False)
    workspaces.put(workspace.parent / "w2", "bb")
    settings.WAKEFUL_WORKSPACES = [str(workspace), str(workspace.parent / "w2")]
    assert reconcile().registered == ("aa", "bb")
    workspace.rename(workspace.parent / "away")
    report = reconcile()
    assert report.registered == ("aa", "bb")
    assert not report.good
    assert told() == {
        "aa": ("stale", "routine_invalid"),
        "bb": ("registered", None),
        "off": ("error", "routine_invalid"),
    }
    assert written(reconcile) == []
    (workspace.parent / "away").rename(workspace)
    assert reconcile().errors == ()
    assert told()["aa"] == ("registered", None)
    settings.WAKEFUL_WORKSPACES = [str(workspace.parent / "w2")]
    assert len(reconcile().removed) == 1
    assert told() == {"bb": ("registered", None)}


def test_an_empty_workspace_is_a_warning_and_keeps_its_jobs(workspace: Path) -> None:
    workspaces.put(workspace, "aa")
    reconcile()
    workspace.rename(workspace.parent / "mounted")
    workspace.mkdir()
    report = reconcile()
    assert report.registered == ("aa",)
    assert [problem.fault.warning for problem in report.errors] == [True]
    assert Job.objects.get().stale


def test_a_workspace_behind_a_link_that_moved_is_followed(workspace: Path, settings: Settings) -> None:
    workspaces.put(workspace, "aa", schedule=WEEKLY)
    workspaces.put(workspace.parent / "w2", "aa", schedule=WEEKLY)
    link = workspace.parent / "current"
    settings.WAKEFUL_WORKSPACES = [str(link)]
    link.symlink_to(workspace)
    reconcile()
    before = Job.objects.get()
    link.unlink()
    link.symlink_to(workspace.parent / "w2")
    reconcile()
    after = Job.objects.get()
    assert (after.id, after.anchor) == (before.id, before.anchor)
    assert after.workspace == str((workspace.parent / "w2").resolve()) == Routine.objects.get().workspace


# Many processes.


def test_cron_jobs_are_left_alone(workspace: Path) -> None:
    registered.job("by-hand", now=START)
    Job.objects.update(source="cron:by-hand")
    workspaces.put(workspace, "aa")
    reconcile()
    workspaces.remove(workspace, "aa")
    reconcile()
    assert Job.objects.get().source == "cron:by-hand"


def test_processes_that_reconcile_at_once_make_one_job_each(workspace: Path, at_once: Callable[..., list[Any]]) -> None:
    for number in range(30):
        workspaces.put(workspace, f"r{number:02}", schedule=HOURLY)
    answers = at_once(reconcile, reconcile, reconcile, reconcile)
    assert [len(answer.registered) for answer in answers] == [30] * 4
    assert Job.objects.count() == Routine.objects.count() == 30
    assert Registrar.objects.get().version == 1


def test_what_was_planned_on_what_another_changed_since_is_not_written(workspace: Path) -> None:
    with transaction.asking():
        held = holdings.read()
    workspaces.put(workspace, "aa")
    reconcile()
    stale = holdings.Changes(removed=[Job.objects.get().id], problems="[]")
    with transaction.barrier():
        assert not holdings.write(stale, held.version, START)
    assert Job.objects.count() == 1


def test_a_job_that_somebody_deleted_is_made_again(workspace: Path) -> None:
    workspaces.put(workspace, "aa")
    reconcile()
    Job.objects.all().delete()
    assert reconcile().registered == ("aa",)
    assert Job.objects.count() == 1
    Routine.objects.all().delete()
    reconcile()
    assert told() == {"aa": ("registered", None)}


def test_thousands_are_written_in_few_statements(workspace: Path) -> None:
    for number in range(250):
        workspaces.put(workspace, f"r{number:03}", schedule=HOURLY)
    assert len(written(reconcile)) == 4
    assert Job.objects.count() == 250


def test_the_errors_that_are_kept_are_bounded(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registrar, "MOST_PROBLEMS", 2)
    for name in ("aa", "bb", "cc"):
        workspaces.put(workspace, name, target={"tool": "nothing"})
    assert len(reconcile().errors) == 3
    kept: Any = lossless.loads(Registrar.objects.get().problems)
    assert len(kept) == 2
