"""``POST /routines/validate``: the recorded manifests over HTTP, and texts that are none."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from routines.domain import parse, rendering
from tests.conftest import Client, HandClock
from tests.routines.domain import texts
from tests.schedules.domain import vectors

Api = Callable[[User], Client]


@pytest.fixture
def check(user: User, api: Api, clock: HandClock) -> Callable[[str], Any]:
    """``check(text)``: the answer's body."""
    client = api(user)

    def validated(text: str) -> Any:
        answer = client.post("/routines/validate", {"text": text})
        assert answer.status_code == 200, answer.content
        assert set(answer.json()) == {"valid", "errors", "manifest"}
        return answer.json()

    return validated


def test_recorded_manifests_are_judged_as_recorded(check: Callable[[str], Any]) -> None:
    for row in vectors.rows("manifests")[::5]:
        answer = check(row["text"])
        assert answer["valid"] == row["valid"], row
        assert (answer["manifest"] is None) == (not row["valid"])
        assert all(set(fault) <= {"code", "field", "line", "message", "warning"} for fault in answer["errors"])
        fields = {(fault["field"] or "").split(".")[0] for fault in answer["errors"]}
        assert row["field"] is None or row["field"] in fields, row


def test_a_good_one_comes_back_with_its_defaults(check: Callable[[str], Any]) -> None:
    answer = check(texts.GOOD)
    assert answer == {
        "valid": True,
        "errors": [],
        "manifest": rendering.to_json(parse.parse_routine(texts.GOOD)),
    }
    assert answer["manifest"]["enabled"] is True


def test_all_errors_come_at_once_each_with_its_field_line_and_what_to_write(check: Callable[[str], Any]) -> None:
    text = texts.GOOD.replace("id: nightly-sweep", "id: No").replace(
        "kind: manual", "kind: cron\n  cron: '*/90 * * * *'"
    )
    answer = check(text)
    assert (answer["valid"], answer["manifest"]) == (False, None)
    told = [(fault["code"], fault["field"], fault["line"]) for fault in answer["errors"]]
    assert told == [("routine_invalid", "id", 3), ("routine_invalid", "schedule.cron", 7)]
    assert "every: 90m" in answer["errors"][1]["message"]


def test_a_warning_is_marked_and_refuses_nothing(check: Callable[[str], Any]) -> None:
    answer = check(texts.GOOD.replace("kind: manual", "kind: event\n  on: turn-ended"))
    assert answer["valid"]
    assert [(fault["field"], fault["warning"]) for fault in answer["errors"]] == [("schedule.on", True)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\u0000",
        "\ud800",
        texts.GOOD.replace("Sweep", "\u0000"),
        texts.GOOD.replace("Sweep", "\udfff"),
        texts.with_lines("metadata: {a: \x01}"),
        texts.with_lines("metadata: " + "[" * 10_000),
        texts.with_lines("metadata: &a [*a, *a]"),
        "---\n" + "x" * 300_000,
        "---\r" * 10_000,
    ],
    ids=range(10),
)
def test_any_string_is_judged_and_none_is_an_error_of_the_server(check: Callable[[str], Any], text: str) -> None:
    answer = check(text)
    assert not answer["valid"]
    assert answer["errors"]
