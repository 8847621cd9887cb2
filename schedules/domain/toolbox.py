"""The three tools as a model's function-calling API takes them: names, descriptions, JSON Schemas (2020-12).

The input schemas have no combinator at their top, for several such APIs refuse one there: that exactly one
selector is given is said in words, and checked by `rules`.
"""

from schedules.domain import records
from schedules.sessions.lossless import Json

_INSTANT: dict[str, Json] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
}
_ID: dict[str, Json] = {"type": "string", "minLength": 1}


def _closed(**properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def record_schema(kind: records.Kind) -> dict[str, Json]:
    """The JSON Schema of a record of one kind, as a `schedule/change` stores it."""
    seconds: dict[str, Json] = {}
    if kind == "after":
        seconds["afterSeconds"] = {"type": "integer", "minimum": 1, "maximum": records.MAX_AFTER_SECONDS}
    elif kind == "every":
        seconds["everySeconds"] = {
            "type": "integer",
            "minimum": records.MIN_EVERY_SECONDS,
            "maximum": records.MAX_EVERY_SECONDS,
        }
    return _closed(
        id=_ID,
        kind={"const": kind},
        prompt={"type": "string", "minLength": 1},
        **seconds,
        scheduledAt=_INSTANT,
    )


def _view_schema(kind: records.Kind) -> dict[str, Json]:
    properties = record_schema(kind)["properties"]
    if not isinstance(properties, dict):
        raise TypeError("a record's schema has no properties")
    return _closed(
        **properties,
        state={"enum": ["scheduled", "overdue"]},
        deliveryMode={"const": "session-local"},
    )


_VIEW: dict[str, Json] = {
    "type": "object",
    "oneOf": [_view_schema("after"), _view_schema("at"), _view_schema("every")],
}

_AT: dict[str, Json] = {
    "description": "Once, at this time. A string with an offset, or a local date and time with its "
    "time_zone. It must lie in the future.",
    "oneOf": [
        {
            "type": "string",
            "description": "Date and time with Z or an offset, such as 2030-01-31T09:00:00+01:00.",
            "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?"
            r"(Z|[+-][0-9]{2}:[0-9]{2})$",
        },
        _closed(
            date={
                "type": "string",
                "description": "Such as 2030-01-31.",
                "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            },
            time={
                "type": "string",
                "description": "24 hours, such as 09:00:00.",
                "pattern": r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?$",
            },
            time_zone={
                "type": "string",
                "description": "UTC or an IANA name such as Europe/Paris: the one the time context gives, else ask.",
            },
        ),
    ],
}

TOOLS: list[dict[str, Json]] = [
    {
        "name": "schedule_create",
        "description": "Schedule a reminder that comes back to this conversation as a later turn, while the "
        "conversation is open. Give prompt and exactly one of: after_seconds (once, after a delay: 'in ten "
        "minutes'), at (once, at a date and time: 'tomorrow at nine'), every_seconds (again and again at a "
        "fixed interval of at least 300 seconds; not for days of a calendar). Returns the reminder with its "
        "id and absolute time.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "prompt": {
                    "type": "string",
                    "minLength": 1,
                    "description": "What to be reminded of, in words that will make sense on their own later.",
                },
                "after_seconds": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": records.MAX_AFTER_SECONDS,
                    "description": "Once, so many seconds from now.",
                },
                "at": _AT,
                "every_seconds": {
                    "type": "integer",
                    "minimum": records.MIN_EVERY_SECONDS,
                    "maximum": records.MAX_AFTER_SECONDS,
                    "description": "Again and again, every so many seconds from now, until deleted.",
                },
            },
            "required": ["prompt"],
            "additionalProperties": False,
        },
        "outputSchema": _VIEW,
    },
    {
        "name": "schedule_list",
        "description": "List the active reminders of this conversation in the order of their creation, each "
        "with its id and next time. Takes no arguments.",
        "inputSchema": _closed(),
        "outputSchema": {"type": "array", "items": _VIEW},
    },
    {
        "name": "schedule_delete",
        "description": "Delete one active reminder of this conversation by its id. deleted is false where no "
        "active reminder has that id: it ended, was deleted before, or never existed.",
        "inputSchema": _closed(
            id={
                "type": "string",
                "minLength": 1,
                "description": "As schedule_create and schedule_list show it, such as schedule-1.",
            }
        ),
        "outputSchema": {
            "type": "object",
            "oneOf": [
                _closed(id=_ID, deleted={"const": True}),
                _closed(id=_ID, deleted={"const": False}, code={"const": "schedule_not_found"}),
            ],
        },
    },
]
