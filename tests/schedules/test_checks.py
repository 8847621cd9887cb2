"""System checks: each wrong setting has an id and words on what to write instead."""

from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from pytest_django import Settings


def found(*, deploy: bool = False) -> dict[str, CheckMessage]:
    messages = run_checks(tags=["wakeful"], include_deployment_checks=deploy)
    return {str(message.id): message for message in messages}


def test_the_settings_as_they_ship_are_fine() -> None:
    assert found() == {}


@pytest.mark.parametrize(
    ("name", "id_", "wrong"),
    [
        ("WAKEFUL_LEASE_SECONDS", "wakeful.E010", [4, 86_401]),
        ("WAKEFUL_BATCH_SESSIONS", "wakeful.E011", [0, 10_001]),
        ("WAKEFUL_MAX_WAIT_SECONDS", "wakeful.E012", [0.29, 3601.0, float("nan"), float("inf")]),
        ("WAKEFUL_MAX_REMINDERS", "wakeful.E013", [0]),
        ("WAKEFUL_MAX_SESSIONS", "wakeful.E014", [0]),
        ("WAKEFUL_PORT", "wakeful.E015", [0, 65_536]),
        ("WAKEFUL_LOG_FORMAT", "wakeful.E002", ["", "JSON", "xml"]),
    ],
)
def test_a_value_out_of_range_is_explained(settings: Settings, name: str, id_: str, wrong: list[Any]) -> None:
    for value in wrong:
        setattr(settings, name, value)
        messages = found()
        assert list(messages) == [id_]
        assert name in messages[id_].msg
        assert str(messages[id_].hint).startswith(f"Set {name} to ")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("WAKEFUL_LEASE_SECONDS", [5, 86_400]),
        ("WAKEFUL_MAX_WAIT_SECONDS", [0.3, 3600]),
        ("WAKEFUL_PORT", [1, 65_535]),
    ],
)
def test_the_ends_of_a_range_belong_to_it(settings: Settings, name: str, values: list[Any]) -> None:
    for value in values:
        setattr(settings, name, value)
        assert found() == {}


def test_what_could_not_be_read_is_explained(settings: Settings) -> None:
    settings.UNREADABLE = {"WAKEFUL_PORT": "a whole number such as 8000"}
    message = found()["wakeful.E001"]
    assert message.msg == "WAKEFUL_PORT cannot be read."
    assert message.hint == "Set WAKEFUL_PORT to a whole number such as 8000, or unset it."


def test_exceptions_of_outbound_requests_are_hosts_addresses_and_networks(settings: Settings) -> None:
    settings.WAKEFUL_OUTBOUND_ALLOW = ["hook.example", "10.0.0.5", "10.0.0.0/8", "fd00::/8"]
    assert found() == {}


@pytest.mark.parametrize("wrong", ["", "http://hook.example", "hook.example:80", "*.example", "10.0.0.1/8", "127.1"])
def test_an_exception_of_outbound_requests_that_allows_nothing_is_explained(settings: Settings, wrong: str) -> None:
    settings.WAKEFUL_OUTBOUND_ALLOW = ["10.0.0.5", wrong]
    message = found()["wakeful.E003"]
    assert message.msg == f"WAKEFUL_OUTBOUND_ALLOW holds {wrong!r}, which allows nothing."
    assert "10.0.0.0/8" in str(message.hint)


def test_a_secret_key_from_nowhere_is_a_warning_in_deployment_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.SECRET_KEY_FILE = tmp_path / "key"
    monkeypatch.delenv("SECRET_KEY", raising=False)
    assert found() == {}
    assert not found(deploy=True)["wakeful.W001"].is_serious()
    monkeypatch.setenv("SECRET_KEY", "from the environment")
    assert found(deploy=True) == {}
    monkeypatch.delenv("SECRET_KEY")
    settings.SECRET_KEY_FILE.write_text("kept")
    assert found(deploy=True) == {}
