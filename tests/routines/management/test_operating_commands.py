"""``manage.py routines list|show|next|trigger|pause|resume|backfill``."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from pytest_django import Settings

from routines import registrar
from routines.models import AuditRecord, Run
from tests.conftest import HandClock
from tests.routines import workspaces

HOURLY = {"kind": "cron", "cron": "0 * * * *"}


@pytest.fixture(autouse=True)
def workspace(store: None, clock: HandClock, tmp_path: Path, settings: Settings) -> Path:
    settings.WAKEFUL_WORKSPACES = [str(tmp_path)]
    User.objects.create_superuser("root")
    workspaces.put(tmp_path, "tidy", schedule=HOURLY, target={"tool": "lifecycle_noop", "inputs": {}})
    workspaces.put(tmp_path, "off", enabled=False)
    registrar.OWN.reconcile()
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    """The exit code and the output."""
    out = io.StringIO()
    try:
        call_command("routines", *arguments, stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    except CommandError as error:
        return error.returncode, str(error)
    return 0, out.getvalue()


def told(*arguments: str) -> Any:
    code, out = run(*arguments, "--json")
    return {"exit": code, **json.loads(out)}


def test_the_list_says_of_each_what_became_of_it_and_when_it_fires() -> None:
    code, out = run("list")
    assert code == 0
    off, tidy = out.splitlines()
    assert off.startswith("off  skipped  The routine is disabled")
    assert tidy == "tidy  registered  next 2026-12-01T01:00:00.000Z"
    assert [one["id"] for one in told("list", "--after", "off")["results"]] == ["tidy"]


def test_the_next_times_are_shown() -> None:
    assert run("next", "tidy")[1].splitlines()[:2] == ["2026-12-01T01:00:00.000Z", "2026-12-01T02:00:00.000Z"]
    assert len(told("next", "tidy")["next"]) == 5


def test_a_trigger_waits_for_the_run_and_it_is_shown() -> None:
    assert run("trigger", "tidy") == (0, "Nothing to do.\n")
    assert "manual completed, attempt 1: Nothing to do." in run("show", "tidy")[1]
    shown = told("show", "tidy")
    assert shown["manifest"]["schedule"]["cron"] == "0 * * * *"
    assert [one["status"] for one in shown["runs"]] == ["completed"]
    assert AuditRecord.objects.get().actor.startswith("command:")


def test_a_dry_run_fires_nothing() -> None:
    assert told("trigger", "tidy", "--dry-run")["call"] == {"tool": "lifecycle_noop", "inputs": {}}
    assert not Run.objects.exists()


def test_pausing_shows_with_its_reason_until_it_is_resumed() -> None:
    assert run("pause", "tidy", "--reason", "moving house") == (0, "tidy is paused.\n")
    assert "paused: moving house" in run("list")[1]
    assert told("pause", "tidy")["code"] == "invalid_request"
    assert told("resume", "tidy") == {"exit": 0, "id": "tidy", "paused": False}
    assert run("resume", "tidy")[0] == 1


def test_a_backfill_queues_the_slots_of_a_span() -> None:
    span = ["--from", "2026-11-30T20:00:00Z", "--to", "2026-11-30T22:00:00Z"]
    assert told("backfill", "tidy", *span) == {"exit": 0, "id": "tidy", "queued": 3}
    assert run("backfill", "tidy", *span) == (0, "Runs queued: 0.\n")
    assert run("backfill", "tidy", "--from", "yesterday", "--to", "today")[0] == 2


@pytest.mark.parametrize("command", ["show", "next", "trigger", "pause", "resume"])
def test_an_unknown_id_is_not_found(command: str) -> None:
    assert told(command, "nobody")["code"] == "not_found"
    assert run(command, "nobody")[0] == 1


def test_a_broken_file_is_told_with_its_faults(workspace: Path) -> None:
    (workspace / ".routines" / "tidy" / "ROUTINE.md").write_text("---\nschema: routine/v1\n---\n", encoding="utf-8")
    answer = told("trigger", "tidy")
    assert (answer["exit"], answer["code"]) == (1, "routine_invalid")
    assert {"id", "schedule"} <= {one["field"] for one in answer["errors"]}
