"""JSON Schemas (2020-12) that the catalogues of tools and of event types share."""

from collections.abc import Iterable
from typing import get_args

from schedules.domain import records
from schedules.sessions.lossless import Json

Schema = dict[str, Json]

INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
}
KINDS: tuple[records.Kind, ...] = get_args(records.Kind)
NAME: Schema = {"type": "string", "minLength": 1}


def closed(required: Schema, optional: Schema | None = None) -> Schema:
    """An object with exactly these members."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def one_of(shapes: Iterable[Schema]) -> Schema:
    """A value of exactly one of these shapes."""
    return {"oneOf": [*shapes]}


def record(kind: records.Kind, *, text: Schema = NAME, more: Schema | None = None) -> Schema:
    """A reminder's record of one kind; ``text`` is the shape of its id and its prompt, ``more`` what a view adds."""
    seconds: Schema = {}
    if kind == "after":
        seconds["afterSeconds"] = {"type": "integer", "minimum": 1, "maximum": records.MAX_AFTER_SECONDS}
    elif kind == "every":
        seconds["everySeconds"] = {
            "type": "integer",
            "minimum": records.MIN_EVERY_SECONDS,
            "maximum": records.MAX_EVERY_SECONDS,
        }
    return closed(
        {"id": text, "kind": {"const": kind}, "prompt": text, **seconds, "scheduledAt": INSTANT, **(more or {})}
    )
