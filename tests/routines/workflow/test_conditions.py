"""What a branch is taken on: literals, references, comparisons with a literal; never code."""

import operator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines.workflow import conditions
from routines.workflow.references import Malformed, Missing, Scope
from schedules.sessions import lossless
from tests.schedules.domain import strategies

OPERATORS: dict[str, Any] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
BLANKS = st.text(" \t", max_size=3)


def holds(when: Any, a: Any = None) -> bool:
    return conditions.holds(conditions.read(when), Scope(input={"a": a}))


@pytest.mark.parametrize(
    ("when", "a", "expected"),
    [
        (True, None, True),
        (False, None, False),
        ("true", None, True),
        (" false ", None, False),
        ("$input.a", True, True),
        ("$input.a", None, False),
        ("$input.a == 'x y'", "x y", True),
        ('$input.a != "x"', "x", False),
        ("$input.a<3", 2, True),
        ("$input.a >= 2.0", 2, True),
        ("$input.a == 1", True, False),
        ("$input.a == true", 1, False),
        ("$input.a == null", None, True),
        ("$input.a == 0", "0", False),
        ("$input.a != 0", [], True),
        ("$input.a > 'B'", "a", True),
    ],
)
def test_a_condition_means_what_it_says(when: Any, a: Any, expected: bool) -> None:
    assert holds(when, a) is expected


@pytest.mark.parametrize(
    "when",
    [
        "", "1", "'text'", "null", "a == b", "$input.a == b", "$input.a ==", "$input.a = 1", "$input.a === 1",
        "1 == $input.a", "$input.a == $input.a", "$input.a && true", "!$input.a", "$input.a == [1]", "$input.a == {}",
        "$input.a == 0x1", "$input.a == NaN", "$input.a == 1 or 1", "__import__('os')", "$inputs.a", "$steps == 1",
        None, 1, ["true"], "$input.a == " + "9" * 2_000, "$input.a == 'it''s'", "$input.a == \"a\" \"b\"",
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused_when_it_is_read(when: Any) -> None:
    with pytest.raises(Malformed, match=r"write|must be"):
        conditions.read(when)


@pytest.mark.parametrize(
    ("when", "a"),
    [
        ("$input.a < 3", "2"),
        ("$input.a < '3'", 2),
        ("$input.a >= 0", True),
        ("$input.a > null", 1),
        ("$input.a <= 3", None),
        ("$input.a < 3", [1]),
        ("$input.a", "yes"),
        ("$input.a", 1),
        ("$input.a", {}),
    ],
)
def test_values_of_unlike_types_are_not_put_in_an_order(when: str, a: Any) -> None:
    with pytest.raises(Missing, match=r"compare"):
        holds(when, a)


def test_a_value_that_is_not_there_is_named() -> None:
    with pytest.raises(Missing, match="nothing has the name b"):
        holds("$input.b == null")


@given(NUMBERS, st.sampled_from(list(OPERATORS)), NUMBERS, BLANKS, BLANKS)
def test_numbers_compare_as_numbers_do(left: float, op: str, right: float, before: str, after: str) -> None:
    assert holds(f"$input.a{before}{op}{after}{lossless.dumps(right)}", left) is OPERATORS[op](left, right)


@given(st.text(max_size=8), st.sampled_from(list(OPERATORS)), st.text(max_size=8))
def test_strings_compare_as_strings_do(left: str, op: str, right: str) -> None:
    assert holds(f"$input.a {op} {lossless.dumps(right)}", left) is OPERATORS[op](left, right)


@given(strategies.JSON, SCALARS)
def test_equal_and_unequal_never_fail_and_always_differ(left: Any, right: Any) -> None:
    literal = lossless.dumps(right)
    equal = holds(f"$input.a == {literal}", left)
    assert equal is not holds(f"$input.a != {literal}", left)
    if not isinstance(left, list | dict):
        assert equal is (lossless.canonical(left) == lossless.canonical(right))


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["$", "input.a", "==", "<", "'", '"', "1", "true", " "])).map("".join)
)
def test_any_text_is_a_condition_or_refused(when: str) -> None:
    try:
        condition = conditions.read(when)
    except Malformed:
        return
    with suppress(Missing):
        assert conditions.holds(condition, Scope(input={"a": 1})) in (True, False)
