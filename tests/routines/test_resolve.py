"""What a host can fire: its target resolves here, its inputs fit as far as can be told, its identity may."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from routines import resolve
from routines.domain import errors
from routines.tools import registry
from tests.routines import workspaces
from tests.routines.registered import routine


@pytest.fixture(autouse=True)
def _host(store: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_BUILT_IN", ("noop",))
    settings.WAKEFUL_TOOLS = [workspaces.PATH]
    settings.WAKEFUL_AGENT_ADAPTERS = {"echo": {"command": ["echo", "{prompt}"]}}
    settings.WAKEFUL_IDENTITIES = {}
    User.objects.create_superuser("root")


def refused(workspace: Path | None = None, **fields: Any) -> errors.Fault | None:
    return resolve.Resolver().refusal(routine(**fields), None if workspace is None else str(workspace))


def greet(**inputs: Any) -> dict[str, Any]:
    return {"tool": "greet", "inputs": inputs}


def test_a_target_that_resolves_is_not_refused() -> None:
    assert refused() is None
    assert refused(target=greet(name="Ada", times=2)) is None
    assert refused(target={"agent": {"adapter": "echo", "prompt": "look", "model": "m", "wait": True}}) is None


@pytest.mark.parametrize(
    ("target", "field", "words"),
    [
        ({"tool": "nothing"}, "target.tool", "no tool nothing"),
        ({"tool": "cron_create"}, "target.tool", "may not target"),
        ({"action": "a"}, "target.action", "Actions"),
        ({"agent": {"adapter": "nobody", "prompt": "p"}}, "target.agent.adapter", "no adapter nobody"),
        ({"agent": {"adapter": "echo", "prompt": "p", "colour": "red"}}, "target", "colour"),
        ({"workflow": "w.md"}, "target", "this routine has none"),
        (greet(), "target", "'name' is a required property"),
        (greet(name="A"), "target", "name: "),
        (greet(name="Ada", times="often"), "target", "times: "),
        (greet(name="Ada", colour="${{ now }}"), "target", "colour"),
        (greet(name=["${{ now }}"]), "target", "is not of type 'string'"),
    ],
)
def test_what_does_not_resolve_is_an_error_that_says_what(target: dict[str, Any], field: str, words: str) -> None:
    fault = refused(target=target)
    assert fault is not None
    assert (fault.code, fault.field) == ("routine_target_unresolvable", field)
    assert words in fault.message


@pytest.mark.parametrize(
    "target",
    [
        greet(name="${{ event.name }}"),
        greet(name="Ada", times="${{ event.times }}"),
        greet(name="$${{"),
        {"agent": {"adapter": "${{ event.adapter }}", "prompt": "p"}},
    ],
)
def test_what_a_placeholder_will_bring_is_not_judged(target: dict[str, Any]) -> None:
    assert refused(target=target) is None


def test_a_workflow_is_a_file_inside_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "check.md").touch()
    (tmp_path / "outside.md").touch()
    assert refused(tmp_path / "w", target={"workflow": "check.md"}) is None
    for path, words in [("other.md", "no workflow file"), ("../outside.md", "leads out")]:
        fault = refused(tmp_path / "w", target={"workflow": {"file": path}})
        assert fault is not None
        assert words in fault.message


def test_a_tool_whose_schema_is_broken_is_an_error_and_no_crash() -> None:
    fault = refused(target={"tool": "broken_schema"})
    assert fault is not None
    assert "mend the tool" in fault.message


def test_an_identity_without_the_grant_is_denied(settings: Settings) -> None:
    User.objects.create_user("ada")
    User.objects.create_user("gone", is_active=False)
    settings.WAKEFUL_IDENTITIES = {
        "bot://some": {"user": "ada", "tools": ["lifecycle_noop"]},
        "bot://any": {"user": "ada", "tools": ["*"]},
        "bot://gone": {"user": "gone", "tools": ["*"]},
    }
    assert refused(identity="bot://some") is None
    assert refused(identity={"ref": "bot://any"}, target=greet(name="Ada")) is None
    for identity, target, words in [
        ("bot://some", greet(name="Ada"), "may not use greet"),
        ("bot://gone", greet(name="Ada"), "no active user"),
        ("bot://unknown", greet(name="Ada"), "do not know"),
        ({"inline": {"name": "me"}}, greet(name="Ada"), "do not know"),
    ]:
        fault = refused(identity=identity, target=target)
        assert fault is not None
        assert (fault.code, fault.field) == ("routine_permission_denied", "identity")
        assert words in fault.message


def test_a_host_without_a_superuser_denies_those_that_name_nobody() -> None:
    User.objects.all().delete()
    fault = refused()
    assert fault is not None
    assert fault.code == "routine_permission_denied"


def test_whoever_made_a_job_needs_no_grant() -> None:
    User.objects.all().delete()
    assert resolve.Resolver().target_fault(routine(), None) is None


def test_the_look_after_sees_what_changed_beside_the_routine(settings: Settings) -> None:
    asked = routine(target={"agent": {"adapter": "echo", "prompt": "p"}}, identity="bot://a")
    first = resolve.Resolver()
    denied = first.refusal(asked, None)
    assert denied is not None
    assert denied.code == "routine_permission_denied"
    settings.WAKEFUL_IDENTITIES = {"bot://a": {"tools": ["*"]}}
    second = resolve.Resolver(first)
    assert second.refusal(asked, None) is None
    settings.WAKEFUL_AGENT_ADAPTERS = {}
    third = resolve.Resolver(second).refusal(asked, None)
    assert third is not None
    assert third.field == "target.agent.adapter"
