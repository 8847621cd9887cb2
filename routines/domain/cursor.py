"""Reads one value of a manifest at a time, typed and strict, and notes what is wrong with it.

Every reading method answers with a value of the promised type. Where it had to note a fault the value is only a
stand-in, so that reading goes on and all faults are found at once; the routine as a whole is refused then.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from routines.domain import jsonvalues
from routines.domain.findings import Findings, Path, dotted
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

Choice = TypeVar("Choice", bound=str)

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a number"),
    (float, "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "a mapping"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value, and where it stands.

    value: the value, as JSON.
    path: the keys that lead to it.
    findings: where its faults are noted.
    """

    value: Json
    path: Path
    findings: Findings

    def refuse(self, message: str) -> None:
        """Note that this field is at fault."""
        self.findings.refuse(self.path, message)

    def warn(self, message: str) -> None:
        """Note what its author should know."""
        self.findings.warn(self.path, message)

    def text(
        self, form: str = "a string", *, least: int = 1, most: int | None = None, pattern: re.Pattern[str] | None = None
    ) -> str:
        """A string of `least` to `most` characters that the pattern matches from end to end.

        form: what to write, in words that follow "must be".
        """
        if not isinstance(self.value, str):
            quote = "; put it in quotes" if isinstance(self.value, bool | int | float) else ""
            self.refuse(f"{self.name} must be {form}, not {self.kind}{quote}.")
            return ""
        length = len(self.value)
        fits = least <= length and (most is None or length <= most)
        if fits and (pattern is None or pattern.fullmatch(self.value)):
            return self.value
        hint = ", not empty" if not length else f"; it has {length:,}" if most is not None and length > most else ""
        self.refuse(f"{self.name} must be {form}{hint}.")
        return ""

    def choice(self, options: Sequence[Choice]) -> Choice:
        """One of these strings."""
        for option in options:
            if self.value == option:
                return option
        self.refuse(f"{self.name} must be one of {', '.join(options)}.")
        return options[0]

    def integer(self, *, least: int = 0, most: int | None = None) -> int:
        """A whole number, by JavaScript's rule: `60.0` is one, `true`, `"60"` and 2^53 are none."""
        number = lossless.safe_integer(self.value)
        if number is not None and least <= number and (most is None or number <= most):
            return number
        bounds = f"from {least} to {most:,}" if most is not None else f"of {least} or more, at most 2^53 - 1"
        self.refuse(f"{self.name} must be a whole number {bounds}.")
        return least

    def flag(self) -> bool:
        """`true` or `false`."""
        if isinstance(self.value, bool):
            return self.value
        hint = " without quotes (on, off, yes and no are strings)" if isinstance(self.value, str) else ""
        self.refuse(f"{self.name} must be true or false{hint}, not {self.kind}.")
        return False

    def items(self, form: str) -> "list[Field]":
        """The items of a list. form: what to write, in words that follow "must be"."""
        if not isinstance(self.value, list):
            self.refuse(f"{self.name} must be {form}, not {self.kind}.")
            return []
        return [
            Field(value=item, path=(*self.path, index), findings=self.findings) for index, item in enumerate(self.value)
        ]

    def free(self) -> Mapping[str, jsonvalues.Frozen]:
        """A mapping that may hold anything."""
        return jsonvalues.freeze_object(self.mapping())

    def mapping(self) -> Mapping[str, Json]:
        """A mapping's members, as they are."""
        if isinstance(self.value, dict):
            return self.value
        self.refuse(f"{self.name} must be a mapping (key: value), not {self.kind}.")
        return {}

    def record(self, *, required: Sequence[str] = (), optional: Sequence[str] = ()) -> "Record":
        """A mapping of these keys and no others."""
        members = self.mapping()
        for key in members:
            if key not in required and key not in optional:
                known = ", ".join((*required, *optional))
                self.at(key).refuse(f"{dotted((key,))} is not a field of {self.name}; it may have {known}.")
        for key in required:
            if key not in members:
                self.at(key).refuse(f"{self.name} must have {key}; add it.")
        return Record(members=members, field=self)

    def at(self, key: str) -> "Field":
        """The member of that key; null where there is none."""
        members = self.value if isinstance(self.value, dict) else {}
        return Field(value=members.get(key), path=(*self.path, key), findings=self.findings)

    @property
    def name(self) -> str:
        """The field as a message names it."""
        return dotted(self.path) or self.findings.subject

    @property
    def kind(self) -> str:
        """The value's type in words; short strings in full."""
        if isinstance(self.value, str) and len(self.value) <= 20:
            return f"the string {lossless.dumps(self.value)}"
        return next((words for kind, words in _KINDS if isinstance(self.value, kind)), "null (an empty value)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A mapping whose keys were checked.

    members: what it holds.
    field: the field that it is.
    """

    members: Mapping[str, Json]
    field: Field

    def get(self, key: str) -> Field | None:
        """The member; None where it is absent."""
        return self.field.at(key) if key in self.members else None

    def need(self, key: str) -> Field:
        """A required member. One that is absent was noted: what is noted of it from now on is dropped."""
        return self.field.at(key)

    def free(self, key: str) -> Mapping[str, jsonvalues.Frozen]:
        """An optional free-form mapping, else an empty one."""
        found = self.get(key)
        return jsonvalues.freeze_object({}) if found is None else found.free()

    def flag(self, key: str, default: bool) -> bool:
        """An optional `true` or `false`."""
        found = self.get(key)
        return default if found is None else found.flag()

    def integer(self, key: str, default: int, *, least: int = 0, most: int | None = None) -> int:
        """An optional whole number."""
        found = self.get(key)
        return default if found is None else found.integer(least=least, most=most)

    def choice(self, key: str, options: Sequence[Choice], default: Choice) -> Choice:
        """An optional choice."""
        found = self.get(key)
        return default if found is None else found.choice(options)
