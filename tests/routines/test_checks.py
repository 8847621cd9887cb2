"""System checks of the routines' settings: each wrong one has an id and words on what to write instead."""

from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from pytest_django import Settings

from routines.tools import registry
from tests.routines import workspaces


@pytest.fixture(autouse=True)
def _few_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_BUILT_IN", ("noop",))


def found() -> dict[str, CheckMessage]:
    return {str(message.id): message for message in run_checks(tags=["wakeful"])}


def test_the_settings_as_they_ship_are_fine() -> None:
    assert found() == {}


@pytest.mark.parametrize(
    ("name", "id_", "wrong"),
    [
        ("WAKEFUL_SCAN_SECONDS", "wakeful.E104", [0.0, 3601.0, float("nan")]),
        ("WAKEFUL_WORKERS", "wakeful.E105", [0, 257]),
        ("WAKEFUL_PAUSE_AFTER", "wakeful.E106", [0]),
        ("WAKEFUL_EVENT_RATE", "wakeful.E107", [0]),
    ],
)
def test_a_number_out_of_range_is_explained(settings: Settings, name: str, id_: str, wrong: list[Any]) -> None:
    for value in wrong:
        setattr(settings, name, value)
        messages = found()
        assert list(messages) == [id_]
        assert str(messages[id_].hint).startswith(f"Set {name} to ")


def test_a_workspace_is_a_whole_path_and_one_that_is_away_only_a_warning(settings: Settings, tmp_path: Path) -> None:
    settings.WAKEFUL_WORKSPACES = [str(tmp_path)]
    assert found() == {}
    settings.WAKEFUL_WORKSPACES = ["projects"]
    assert list(found()) == ["wakeful.E101"]
    settings.WAKEFUL_WORKSPACES = [str(tmp_path / "nothing")]
    messages = found()
    assert list(messages) == ["wakeful.W101"]
    assert not messages["wakeful.W101"].is_serious()


@pytest.mark.parametrize(
    "grant",
    [
        "ada",
        {"user": ""},
        {"user": 7},
        {"tools": "*"},
        {"tools": [1]},
        {"tool": ["*"]},
        {"notify": "ada@example.org"},
        {"secret": None},
    ],
)
def test_a_grant_of_another_shape_is_explained(settings: Settings, grant: Any) -> None:
    settings.WAKEFUL_IDENTITIES = {"bot://a": grant}
    messages = found()
    assert list(messages) == ["wakeful.E102"]
    assert "'bot://a'" in messages["wakeful.E102"].msg


def test_a_whole_grant_and_an_empty_one_are_fine(settings: Settings) -> None:
    whole = {"user": "ada", "tools": ["*"], "notify": "https://example.org", "secret": "whsec_AAAA"}
    settings.WAKEFUL_IDENTITIES = {"default": whole, "bot://a": {}}
    assert found() == {}


def test_tools_that_can_be_had_are_fine(settings: Settings) -> None:
    settings.WAKEFUL_TOOLS = [f"{workspaces.PATH}.greet"]
    assert found() == {}
    assert registry.find("greet") is workspaces.greet


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing.here", "nothing"),
        (f"{workspaces.PATH}.nothing", "nothing"),
        ("tests.routines.domain.texts", "names no tool"),
        ("routines.tools.noop.registry", "names no tool"),
        ("breaks_when_imported", "breaks with a ZeroDivisionError"),
    ],
)
def test_tools_that_cannot_be_had_are_explained(
    settings: Settings, tmp_path: Path, path: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaks_when_imported.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    settings.WAKEFUL_TOOLS = [path]
    messages = found()
    assert list(messages) == ["wakeful.E103"]
    assert words in messages["wakeful.E103"].msg
