"""What a call's body may hold, declared field by field, and the strict reading of it.

A body is declared once, beside the view that reads it::

    OPEN = Body(holder=Text(required=True, low=1, high=200), leaseSeconds=Whole(low=5, high=86_400))
    OPEN.read(request.data)  # {"holder": "laptop", "leaseSeconds": None}

All its faults are reported at once. An optional field that is absent or null reads as None.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from schedules.domain import instants
from schedules.sessions import errors, lossless

# How much of a stranger's body an error message repeats.
_MOST_FAULTS = 20
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(ABC):
    """One field of a body.

    required: whether a call without it is refused.
    about: a sentence for the API's description.
    """

    required: bool = False
    about: str = ""

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What to send, as the object of a sentence: ``text of at most 200 characters``."""

    @abstractmethod
    def accepts(self, value: object) -> bool:
        """Whether the value is one of this field's."""

    @property
    @abstractmethod
    def shape(self) -> dict[str, Any]:
        """The same in JSON Schema."""

    def used(self, value: Any) -> Any:
        """An accepted value as the code uses it."""
        return value

    def schema(self) -> dict[str, Any]:
        """The field in the API's description."""
        return {**self.shape, "description": self.about} if self.about else self.shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Field):
    """A string of ``low`` to ``high`` characters that any database can keep.

    pattern: a regular expression that it matches as a whole.
    like: what the pattern means, in words.
    lossless: whether U+0000 and lone surrogates are taken too; such text is stored as JSON, not as it is.
    """

    low: int = 0
    high: int | None = None
    pattern: str | None = None
    like: str = ""
    lossless: bool = False

    @property
    def wanted(self) -> str:
        length = ""
        if self.high is not None:
            length = f" of {self.low} to {self.high} characters" if self.low else f" of at most {self.high} characters"
        elif self.low:
            length = f" of at least {self.low} characters" if self.low > 1 else " that is not empty"
        made_of = f", {self.like}" if self.like else ""
        plain = "" if self.lossless or self.pattern else ", without U+0000 and lone surrogates"
        return f"text{length}{made_of}{plain}"

    def accepts(self, value: object) -> bool:
        return (
            isinstance(value, str)
            and len(value) >= self.low
            and (self.high is None or len(value) <= self.high)
            and (self.lossless or ("\0" not in value and lossless.is_unicode(value)))
            and (self.pattern is None or re.fullmatch(self.pattern, value) is not None)
        )

    @property
    def shape(self) -> dict[str, Any]:
        bounds = {
            "minLength": self.low or None,
            "maxLength": self.high,
            "pattern": self.pattern and f"^(?:{self.pattern})$",
        }
        return {"type": "string"} | {name: bound for name, bound in bounds.items() if bound is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Field):
    """A whole number from ``low`` to ``high`` as JavaScript has it: ``60.0``, not ``true`` or ``"60"``."""

    low: int = 0
    high: int = lossless.MAX_SAFE_INTEGER

    @property
    def wanted(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def accepts(self, value: object) -> bool:
        number = lossless.safe_integer(value)
        return number is not None and self.low <= number <= self.high

    def used(self, value: Any) -> int:
        return int(value)

    @property
    def shape(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant(Field):
    """A date and time with ``Z`` or an offset, in the years 0001 to 9999; used in epoch milliseconds."""

    wanted = "a real date and time with Z or an offset, such as 2030-01-31T09:00:00Z"
    shape: ClassVar = {"type": "string", "format": "date-time", "example": "2030-01-31T09:00:00Z"}

    def accepts(self, value: object) -> bool:
        instant = instants.parse_offset(value) if isinstance(value, str) else None
        return instant is not None and instants.MIN <= instant <= instants.MAX

    def used(self, value: Any) -> int | None:
        return instants.parse_offset(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Field):
    """``true`` or ``false``."""

    wanted = "true or false"
    shape: ClassVar = {"type": "boolean"}

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Object(Field):
    """A JSON object of any content, which comes back losslessly."""

    wanted = "an object"
    shape: ClassVar = {"type": "object", "additionalProperties": True}

    def accepts(self, value: object) -> bool:
        return isinstance(value, dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anything(Field):
    """Any JSON value, null included where the field is there."""

    wanted = "any JSON value"
    shape: ClassVar[dict[str, Any]] = {}

    def accepts(self, value: object) -> bool:
        return True


class Body:
    """The fields of one call's body: nothing else is taken in it."""

    def __init__(self, **fields: Field) -> None:
        self.fields = fields

    def read(self, data: object) -> dict[str, Any]:
        """Every declared field's value; None for an absent one. Raises Refusal with all its faults."""
        if not isinstance(data, dict):
            raise errors.Refusal("invalid_request", "Send a JSON object as the body.")
        values: dict[str, Any] = dict.fromkeys(self.fields)
        faults: dict[str, str] = {}
        for name, field in self.fields.items():
            value = data.get(name)
            if name not in data or (value is None and not isinstance(field, Anything)):
                if field.required:
                    faults[name] = f"This is missing: send {field.wanted}."
                continue
            if field.accepts(value):
                values[name] = field.used(value)
            else:
                faults[name] = f"Send {field.wanted}."
        for name in data:
            if name not in self.fields:
                faults[name[:_LONGEST_NAME]] = f"This is not known here. {self._known}"
        if faults:
            raise _refused(faults)
        return values

    def schema(self) -> dict[str, Any]:
        """The body in JSON Schema, for the API's description."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: field.schema() for name, field in self.fields.items()},
            "additionalProperties": False,
        }
        required = [name for name, field in self.fields.items() if field.required]
        return {**schema, "required": required} if required else schema

    @property
    def _known(self) -> str:
        return f"The call takes {', '.join(self.fields)}." if self.fields else "The call takes an empty object."


def _refused(faults: dict[str, str]) -> errors.Refusal:
    shown = dict(list(faults.items())[:_MOST_FAULTS])
    name, fault = next(iter(shown.items()))
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return errors.Refusal("invalid_request", f"{name}: {fault}{more}", shown)
