"""Firing by hand: whatever the schedule says, as the file says now, and recorded with who asked."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from routines import registrar, trigger
from routines.domain import errors
from routines.models import AuditRecord, Job, Run
from schedules.sessions.errors import Refusal
from tests.conftest import HandClock
from tests.routines import tooling, workspaces


@pytest.fixture(autouse=True)
def workspace(store: None, clock: HandClock, tmp_path: Path, settings: Settings) -> Path:
    settings.WAKEFUL_WORKSPACES = [str(tmp_path)]
    settings.WAKEFUL_TOOLS = ["tests.routines.tooling"]
    settings.WAKEFUL_VAULT = {"KEY": "s3cret"}
    User.objects.create_superuser("root")
    return tmp_path


def tool(name: str, **inputs: Any) -> dict[str, Any]:
    return {"tool": f"test_{name}", "inputs": inputs}


def test_a_routine_fires_without_a_reconcile_and_although_it_is_disabled(workspace: Path) -> None:
    workspaces.put(workspace, "tidy", target=tool("answer", ok=True, summary="Tidied up."), enabled=False)
    done = trigger.trigger("tidy", by="ada")
    assert done.to_json() == {"ok": True, "summary": "Tidied up.", "runId": done.run_id}
    run = Run.objects.get()
    assert (run.trigger, run.status, run.fired_by, run.slot) == ("manual", "completed", "ada", None)
    record = AuditRecord.objects.get()
    assert (record.actor, record.action, record.subject, record.detail) == ("ada", "trigger", "routine:tidy", run.id)


def test_it_neither_moves_the_schedule_nor_waits_for_a_run_under_way(workspace: Path) -> None:
    workspaces.put(workspace, "tidy", target=tool("answer", ok=True, summary=""))
    registrar.OWN.reconcile()
    before = Job.objects.values().get()
    trigger.trigger("tidy", by="ada")
    trigger.trigger("tidy", by="ada")
    assert Job.objects.values().get() == before
    assert Run.objects.filter(status="completed").count() == 2


def test_the_file_counts_as_it_is_now(workspace: Path) -> None:
    workspaces.put(workspace, "tidy", target=tool("answer", ok=True, summary="before"))
    registrar.OWN.reconcile()
    path = workspaces.put(workspace, "tidy", target=tool("answer", ok=True, summary="after"))
    assert trigger.trigger("tidy", by="ada").summary == "after"
    path.write_text("---\nschema: routine/v1\n", encoding="utf-8")
    with pytest.raises(errors.Invalid):
        trigger.trigger("tidy", by="ada")
    path.unlink()
    with pytest.raises(Refusal) as refused:
        trigger.trigger("tidy", by="ada")
    assert refused.value.code == "not_found"


def test_a_workspace_taken_out_of_the_settings_fires_nothing_more(workspace: Path, settings: Settings) -> None:
    workspaces.put(workspace, "tidy", target=tool("answer", ok=True, summary=""))
    registrar.OWN.reconcile()
    settings.WAKEFUL_WORKSPACES = []
    with pytest.raises(Refusal):
        trigger.trigger("tidy", by="ada")
    assert not Run.objects.exists()


def test_an_attempt_that_fails_is_not_ok(workspace: Path) -> None:
    workspaces.put(
        workspace, "tidy", target=tool("answer", ok=False, summary="The disk is full."), retry={"max_attempts": 2}
    )
    done = trigger.trigger("tidy", by="ada")
    assert (done.ok, done.summary) == (False, "Attempt 1 failed: The disk is full.")
    assert Run.objects.get().status == "running"


def test_a_run_that_takes_longer_than_the_wait_goes_on(workspace: Path) -> None:
    workspaces.put(workspace, "tidy", target=tool("wait"))
    try:
        done = trigger.trigger("tidy", by="ada", wait=0.25)
        assert (done.ok, done.to_json()["ok"], done.summary) == (None, True, "The run goes on.")
        assert Run.objects.get().status == "running"
    finally:
        tooling.GATE.set()
        trigger.stop()
        trigger._pool().join()
        trigger._pool.cache_clear()
        tooling.GATE.clear()
    assert Run.objects.get().status == "completed"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"target": {"action": "some/action"}}, "routine_target_unresolvable"),
        ({"target": {"tool": "cron_create", "inputs": {}}}, "routine_target_unresolvable"),
        ({"target": {"tool": "test_nothing", "inputs": {}}}, "routine_target_unresolvable"),
        ({"target": tool("strict"), "identity": "bot://nobody"}, "routine_permission_denied"),
    ],
)
def test_what_this_host_does_not_fire_is_refused_and_leaves_no_run(
    workspace: Path, fields: dict[str, Any], code: str
) -> None:
    workspaces.put(workspace, "tidy", **fields)
    for dry_run in (True, False):
        with pytest.raises(errors.Invalid) as refused:
            trigger.trigger("tidy", by="ada", dry_run=dry_run)
        assert refused.value.faults[0].code == code
    assert not Run.objects.exists()
    assert not AuditRecord.objects.exists()


def test_a_dry_run_says_what_would_be_called_and_fires_nothing(workspace: Path) -> None:
    inputs = {"ok": True, "summary": "${{ routine.id }} with ${{ vault.KEY }}"}
    workspaces.put(workspace, "tidy", target=tool("answer", **inputs))
    assert trigger.trigger("tidy", by="ada", dry_run=True).to_json() == {
        "ok": True,
        "summary": "Would call test_answer.",
        "call": {"tool": "test_answer", "inputs": {"ok": True, "summary": "tidy with [redacted]"}},
    }
    assert not Run.objects.exists()
