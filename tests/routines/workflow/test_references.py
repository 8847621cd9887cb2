"""References: a whole string becomes the value, everything else stays as it is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines.domain import jsonvalues
from routines.workflow import references
from routines.workflow.references import Item, Malformed, Missing, Scope
from schedules.sessions.lossless import Json
from tests.schedules.domain import strategies

NAMES = st.from_regex(r"[A-Za-z_\-가-힣][\w-]{0,8}", fullmatch=True)


def fill(value: Any, **known: Any) -> Json:
    return references.fill(jsonvalues.freeze(value), Scope(**({"input": {}} | known)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$input.a", [1, {"b": None}]),
        ("$input", {"a": [1, {"b": None}], "n": 3}),
        ("$input.a.1.b", None),
        ("$input.a.0", 1),
        ("$workflow.inputs.n", 3),
        ("$steps.build", {"code": 0, "out": "x"}),
        ("$steps.build.code", 0),
        ("$steps.build.outputs.code", 0),
        ("$steps.own.outputs", "its own"),
        ("$item.id", "seven"),
        ("$index", 4),
    ],
)
def test_a_string_that_is_one_reference_becomes_the_value(text: str, value: Json) -> None:
    scope = Scope(
        input={"a": [1, {"b": None}], "n": 3},
        steps={"build": {"code": 0, "out": "x"}, "own": {"outputs": "its own"}},
        item=Item(value={"id": "seven"}, index=4),
    )
    assert references.fill(text, scope) == value


@pytest.mark.parametrize(
    "text", ["$HOME", "costs $5", "$input.a and more", "a $input.a", "$", "$$", "$end", "${{ now }}", "$input.a\n"]
)
def test_any_other_string_is_text(text: str) -> None:
    assert references.read(text) is None
    assert fill(text) == text


@pytest.mark.parametrize("text", ["$inputs.a", "$steps", "$index.a", "$step", "$env.HOME", "$workflow.name"])
def test_what_can_only_be_meant_as_a_reference_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(Malformed, match=r"write \$input\.NAME"):
        references.read(text)


@pytest.mark.parametrize("text", ["$input.a", "$steps", "$index", "$env.HOME"])
def test_two_dollars_stand_for_the_text_of_a_reference(text: str) -> None:
    assert fill("$" + text) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("$input.b", "nothing has the name b"),
        ("$input.a.2", "nothing has the name 2"),
        ("$input.a.-1", "nothing has the name -1"),
        ("$input.a.01", "nothing has the name 01"),
        ("$input.a.١", "nothing has the name"),
        ("$input.a.0.x", "nothing has the name x"),
        ("$steps.later", "step later has not run"),
        ("$item", "in the steps of a map alone"),
    ],
)
def test_a_path_that_leads_nowhere_is_named(text: str, words: str) -> None:
    with pytest.raises(Missing, match=words):
        fill(text, input={"a": [1, 2]})


@given(strategies.JSON)
def test_a_value_without_references_stays_equal_to_itself(value: Json) -> None:
    assert fill({"value": value}) == {"value": value} or any(references.within(jsonvalues.freeze(value)))


@given(strategies.JSON, st.lists(NAMES, min_size=1, max_size=5))
def test_a_path_leads_to_the_value_that_stands_there(value: Json, path: list[str]) -> None:
    nested = value
    for name in reversed(path):
        nested = {name: nested}
    assert isinstance(nested, dict)
    assert fill("$input." + ".".join(path), input=nested) == value
    assert fill("$steps.one." + ".".join(path), steps={"one": {"outputs": 0, **nested}}) == value


@given(
    st.text(max_size=40) | st.lists(st.sampled_from(["$", ".", "input", "steps", "item", "a", "-", " "])).map("".join)
)
def test_any_string_is_a_reference_or_text_or_refused(text: str) -> None:
    try:
        found = references.read(text)
    except Malformed:
        return
    assert found is None or found.text == text


def test_what_is_filled_in_is_a_copy() -> None:
    kept: dict[str, Json] = {"list": [1]}
    filled = fill({"mine": "$steps.one"}, steps={"one": kept})
    assert filled == {"mine": {"list": [1]}}
    filled["mine"]["list"].append(2)  # type: ignore[call-overload, index, union-attr]
    assert kept == {"list": [1]}


def test_values_that_double_with_each_step_come_to_an_end() -> None:
    doubling = {"a": "$steps.one", "b": "$steps.one"}
    twice = fill(doubling, steps={"one": "x" * 1_500_000})
    with pytest.raises(Missing, match="refer to less of them"):
        fill(doubling, steps={"one": twice})


def test_a_deep_value_is_refused_before_it_is_copied() -> None:
    deep: Json = 1
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(Missing, match="64 levels deep"):
        fill("$steps.one", steps={"one": deep})
