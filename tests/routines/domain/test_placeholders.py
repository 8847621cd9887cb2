"""Placeholders in inputs: which there are, and what they become."""

from dataclasses import replace
from typing import Any

import pytest

from routines.domain import placeholders
from routines.domain.jsonvalues import freeze
from schedules.sessions.lossless import Json

EVENT: dict[str, Json] = {
    "sessionId": "s-1",
    "n": 3,
    "none": None,
    "list": [{"a": True}, "${{ vault.KEY }}"],
    "metadata": {"deep": {"x-y_z": 1.5}},
}


def context(**changes: Any) -> placeholders.Context:
    known = {"KEY": "s3cret", "EMPTY": "", "LONG": "s3cret-and-more"}
    usual = placeholders.Context(
        now=1_000, routine_id="@acme/nightly", run_id="run-1", scheduled_for=0, event=EVENT, vault=known.get
    )
    return replace(usual, **changes)


def fill(value: Json, **changes: Any) -> Json:
    return placeholders.fill(freeze(value), context(**changes)).value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${{ now }}", "1970-01-01T00:00:01.000Z"),
        ("${{now}}", "1970-01-01T00:00:01.000Z"),
        ("${{ routine.id }}", "@acme/nightly"),
        ("${{ routine.run_id }}", "run-1"),
        ("${{ routine.scheduled_for }}", "1970-01-01T00:00:00.000Z"),
        ("${{ vault.KEY }}", "s3cret"),
        ("${{ vault.EMPTY }}", ""),
        ("${{ event.sessionId }}", "s-1"),
        ("${{ event.n }}", 3),
        ("${{ event.none }}", None),
        ("${{ event.list }}", EVENT["list"]),
        ("${{ event.list.0.a }}", True),
        ("${{ event.metadata.deep.x-y_z }}", 1.5),
        (" ${{ event.n }}", " 3"),
        ("a ${{ event.none }}/${{ event.list.0 }}/${{ now }}", 'a null/{"a":true}/1970-01-01T00:00:01.000Z'),
        ("${{ routine.id }}${{ routine.id }}", "@acme/nightly@acme/nightly"),
        ("$${{ now }}", "${{ now }}"),
        ("$$${{ now }}", "$${{ now }}"),
        ("$${{ anything", "${{ anything"),
        ("a $ { {} } ${x} {{ y }} }}", "a $ { {} } ${x} {{ y }} }}"),
        ("", ""),
    ],
)
def test_a_string_is_filled(text: str, value: Json) -> None:
    assert list(placeholders.problems(text)) == []
    assert fill(text) == value


def test_values_anywhere_are_filled_and_keys_are_not() -> None:
    value: Json = {"${{ now }}": [1, None, {"x": ["${{ event.n }}"]}]}
    assert fill(value) == {"${{ now }}": [1, None, {"x": [3]}]}


def test_what_was_filled_in_is_never_read_again() -> None:
    filled = placeholders.fill(freeze(["${{ event.list.1 }}", "x${{ event.list.1 }}"]), context())
    assert filled.value == ["${{ vault.KEY }}", "x${{ vault.KEY }}"]
    assert filled.secrets == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "${{ }}", "${{}}", "${{ nope }}", "${{ event }}", "${{ event. }}", "${{ event..x }}", "${{ vault.a-b }}",
        "${{ vault }}",
        "${{ vault.A.B }}", "${{ routine.name }}", "${{ now() }}", "${{ now", "${{ now }", "x ${{", "${{ ${{ now }} }}",
        "${{ event.é }}", "${{ NOW }}", "${{ {a} }}",
    ],
)  # fmt: skip
def test_what_is_no_placeholder_is_refused_before_and_when_it_fires(text: str) -> None:
    [(path, message), *_] = placeholders.problems(freeze({"a": [text]}), ("target", "inputs"))
    assert path == ("target", "inputs", "a", 0)
    assert "write" in message
    with pytest.raises(placeholders.Unfilled):
        fill(text)


@pytest.mark.parametrize(
    "text",
    ["${{ event.x }}", "${{ event.n.x }}", "${{ event.list.2 }}", "${{ event.list.-1 }}", "${{ event.list.00 }}",
     "${{ event.list.9999999 }}", "${{ vault.OTHER }}"],
)  # fmt: skip
def test_what_has_no_value_this_time_is_an_error_that_names_it(text: str) -> None:
    assert list(placeholders.problems(text)) == []
    with pytest.raises(placeholders.Unfilled, match=text.split(".")[-1].split()[0]):
        fill(text)
    with pytest.raises(placeholders.Unfilled):
        fill("${{ event.n }}", event=None)


def test_secrets_are_marked_and_taken_out_of_what_is_shown() -> None:
    filled = placeholders.fill(
        freeze({"a": "Bearer ${{ vault.KEY }}", "b": "${{ vault.LONG }}", "c": "${{ vault.EMPTY }}"}), context()
    )
    assert filled.value == {"a": "Bearer s3cret", "b": "s3cret-and-more", "c": ""}
    assert filled.secrets == {"s3cret", "s3cret-and-more", ""}
    shown = placeholders.redact({"in": filled.value, "s3cret": ["x s3cret y", 1]}, filled.secrets)
    assert shown == {
        "in": {"a": "Bearer [redacted]", "b": "[redacted]", "c": ""},
        "[redacted]": ["x [redacted] y", 1],
    }
    assert placeholders.redact("x", frozenset()) == "x"


@pytest.mark.parametrize(
    "text", ["${{ a " * 40_000, "${{" * 60_000, "$" * 200_000, "${{ }" * 40_000, "${{" + "}" * 200_000]
)
def test_long_texts_take_one_pass(text: str) -> None:
    # A scan that starts over would take minutes here, and the test's time limit would end it.
    assert len(list(placeholders.problems(text))) <= 60_000
