"""``manage.py reconcile``."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from pytest_django import Settings

from routines.models import Job
from routines.tools import registry
from schedules.sessions import lossless
from tests.conftest import HandClock
from tests.routines import workspaces


@pytest.fixture
def workspace(
    store: None, clock: HandClock, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setattr(registry, "_BUILT_IN", ("noop",))
    settings.WAKEFUL_WORKSPACES = [str(tmp_path)]
    User.objects.create_superuser("root")
    workspaces.put(tmp_path, "aa")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    """The exit code and the output."""
    out = io.StringIO()
    try:
        call_command("reconcile", *arguments, stdout=out)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    return 0, out.getvalue()


def test_it_registers_and_says_how_many(workspace: Path) -> None:
    assert run() == (0, "Registered: 1. Skipped: 0. Removed: 0. Errors and warnings: 0.\n")
    assert Job.objects.count() == 1


def test_as_json_it_prints_the_report_on_one_line(workspace: Path) -> None:
    code, out = run("--json")
    shown: Any = lossless.loads(out)
    assert (code, out.count("\n")) == (0, 1)
    assert shown == {"registered": ["aa"], "skipped": [], "removed": [], "errors": []}


def test_an_error_ends_it_with_1_and_a_warning_does_not(workspace: Path) -> None:
    named = workspaces.put(workspace, "bb", id="otherwise")
    workspaces.put(workspace, "off", enabled=False)
    code, out = run()
    assert code == 0
    assert f"{named}: warning: line 3: The id ends in otherwise" in out
    assert "off: skipped: The routine is disabled" in out
    bad = workspaces.put(workspace, "cc", target={"tool": "nothing"})
    assert run("--json")[0] == 1
    code, out = run()
    assert code == 1
    assert f"{bad}: error: This host has no tool nothing" in out
    assert "Registered: 2." in out
