"""The `when` of a branch: `true` or `false`, a reference, or a reference compared with a literal. No code is run."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from routines.domain.findings import shown
from routines.workflow import references
from routines.workflow.references import Malformed, Missing, Reference, Scope
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

Literal: TypeAlias = "bool | int | float | str | None"

_LONGEST = 1_000
_FORM = "true, false, a reference, or REFERENCE OP LITERAL, as in $steps.check.exitCode == 0"
_COMPARISON = re.compile(r"(\$[\w.-]+)\s*(==|!=|<=|>=|<|>)\s*(.*)", re.DOTALL)
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a branch is taken on.

    text: as it was written.
    left: a reference, or what it always is.
    operator: how `left` is compared; None where it stands alone.
    right: with what it is compared.
    """

    text: str
    left: Reference | bool
    operator: str | None = None
    right: Literal = None


def read(when: Json) -> Condition:
    """The condition that a `when` is. Raises Malformed."""
    if isinstance(when, bool):
        return Condition(text=str(when).lower(), left=when)
    if not isinstance(when, str) or len(when) > _LONGEST:
        raise Malformed(f"when must be {_FORM}.")
    text = when.strip()
    if text in ("true", "false"):
        return Condition(text=text, left=text == "true")
    compared = _COMPARISON.fullmatch(text)
    left = references.read(compared[1] if compared else text)
    if left is None:
        raise Malformed(f"{shown(text)} is no condition; write {_FORM}.")
    if compared is None:
        return Condition(text=text, left=left)
    return Condition(text=text, left=left, operator=compared[2], right=_literal(compared[3]))


def holds(condition: Condition, scope: Scope) -> bool:
    """Whether it holds. Raises Missing for a value that is not there, and for values that cannot be compared so."""
    if isinstance(condition.left, bool):
        return condition.left
    left, right = references.value_of(condition.left, scope), condition.right
    if condition.operator is None:
        if left is None or isinstance(left, bool):
            return bool(left)
        raise Missing(f"{shown(condition.text)} is {_kind(left)}, not true or false; compare it with a literal.")
    alike = _kind(left) == _kind(right)
    if condition.operator in ("==", "!="):
        return (alike and left == right) == (condition.operator == "==")
    if alike and _kind(left) in ("a number", "a string"):
        return _ORDERS[condition.operator](left, right)
    raise Missing(
        f"{shown(condition.text)} cannot be told: {condition.operator} compares two numbers or two strings, not "
        f"{_kind(left)} with {_kind(right)}."
    )


def _literal(text: str) -> Literal:
    if len(text) >= 2 and text[0] == text[-1] == "'" and "'" not in text[1:-1]:
        return text[1:-1]
    try:
        value = lossless.loads(text)
    except lossless.Invalid:
        value = []
    if isinstance(value, list | dict):
        raise Malformed(
            f"{shown(text) or 'Nothing'} is no literal; write a number, true, false, null, or a text in quotes."
        )
    return value


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"
