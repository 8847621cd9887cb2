"""The adapters' settings: what one may hold, and what a check says of one that cannot work."""

from typing import Any

import pytest
from django.core import checks

from routines import adapters

GOOD = {"command": ["my-agent", "-p", "{prompt}"]}


@pytest.mark.parametrize(
    "given",
    [
        GOOD,
        {"command": ["a"], "seconds": 1},
        {"command": ["a", '{"json": [1]}', "{}", "{model}{cwd}{session}"], "seconds": 3600, "env": {"KEY_1": ""}},
    ],
)
def test_a_good_one_is_found(settings: Any, given: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"mine": given}
    found = adapters.find("mine")
    assert found is not None
    assert list(found.command) == given["command"]
    assert found.seconds == given.get("seconds", 600)
    assert checks.run_checks(tags=["wakeful"]) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "must be an object"),
        (["a"], "must be an object"),
        ({}, "must be a list of strings"),
        ({"command": "my-agent {prompt}"}, "must be a list of strings"),
        ({"command": []}, "must be a list of strings"),
        ({"command": ["a", 1]}, "must be a list of strings"),
        ({"command": ["a", "b\0"]}, "must be a list of strings"),
        ({"command": ["a", "\ud800"]}, "must be a list of strings"),
        ({"command": ["", "b"]}, "begin with the program's own name"),
        ({"command": ["{prompt}"]}, "begin with the program's own name"),
        ({"command": ["a", "--x={promt}"]}, "holds {promt}"),
        ({**GOOD, "seconds": 0}, "from 1 to 3600"),
        ({**GOOD, "seconds": 3601}, "from 1 to 3600"),
        ({**GOOD, "seconds": True}, "from 1 to 3600"),
        ({**GOOD, "seconds": "60"}, "from 1 to 3600"),
        ({**GOOD, "env": []}, "must be an object of names"),
        ({**GOOD, "env": {"A=B": "c"}}, "must be an object of names"),
        ({**GOOD, "env": {"A": 1}}, "must be an object of names"),
        ({**GOOD, "env": {"WAKEFUL_TOKEN": "mine"}}, "choose another"),
        ({**GOOD, "shell": True}, "has no 'shell'"),
    ],
)
def test_a_bad_one_is_explained_and_never_run(settings: Any, given: Any, says: str) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"mine": given}
    assert adapters.find("mine") is None
    (found,) = checks.run_checks(tags=["wakeful"])
    assert found.id == "wakeful.E110"
    assert says in str(found.hint)


def test_a_name_is_neither_empty_nor_endless(settings: Any) -> None:
    for name in ("", "a" * 101):
        settings.WAKEFUL_AGENT_ADAPTERS = {name: GOOD}
        (found,) = checks.run_checks(tags=["wakeful"])
        assert found.id == "wakeful.E110"


@pytest.mark.parametrize(("given", "good"), [(0, True), (86_400, True), (2_592_000, True), (2_592_001, False)])
def test_a_session_stays_open_for_a_month_at_most(settings: Any, given: int, good: bool) -> None:
    settings.WAKEFUL_AGENT_OPEN_SECONDS = given
    assert [found.id for found in checks.run_checks(tags=["wakeful"])] == ([] if good else ["wakeful.E111"])


@pytest.mark.parametrize(
    ("given", "good"),
    [
        ("http://127.0.0.1:8000", True),
        ("https://wakeful.example", True),
        ("wakeful.example:8000", False),
        ("ftp://wakeful.example", False),
        ("http://", False),
        ("http://[::1", False),
        ("http://a:99999", False),
    ],
)
def test_agents_are_given_an_address_that_can_be_one(settings: Any, given: str, good: bool) -> None:
    settings.WAKEFUL_URL = given
    assert [found.id for found in checks.run_checks(tags=["wakeful"])] == ([] if good else ["wakeful.E112"])
