"""The closed list of the routines' error codes, and what one fault of a manifest looks like.

A message is read by whoever wrote the manifest, often a model: it says what is wrong and what to write instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

Code = Literal[
    "routine_invalid",
    "routine_id_mismatch",
    "routine_duplicate",
    "routine_target_unresolvable",
    "routine_permission_denied",
    "routine_disabled",
]
CODES: tuple[Code, ...] = get_args(Code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong with a routine.

    code: one of CODES.
    message: what is wrong and what to write instead, in plain words.
    field: the dotted path of the field at fault (`on_failure.notify.0`); None where it is the text as a whole.
    line: the line in the file, from 1; None where the routine did not come from a text.
    warning: whether the routine is good all the same.
    """

    code: Code
    message: str
    field: str | None = None
    line: int | None = None
    warning: bool = False


class Invalid(ValueError):
    """A manifest that is no routine. `faults` are all that were found, warnings too, at least one no warning."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(describe, self.faults)))


def describe(fault: Fault) -> str:
    """One line for a person: `line 4: message`."""
    return fault.message if fault.line is None else f"line {fault.line}: {fault.message}"


def gravest(faults: Sequence[Fault]) -> Fault:
    """Of the faults of one file, at least one, the first that is no warning, or else the first."""
    return next((fault for fault in faults if not fault.warning), faults[0])


def to_json(fault: Fault) -> dict[str, Any]:
    """The fault as the API shows it: `code, field, line, message`, and `warning` where it is one."""
    shown: dict[str, Any] = {
        "code": fault.code,
        "field": fault.field,
        "line": fault.line,
        "message": fault.message,
    }
    return shown | {"warning": True} if fault.warning else shown
