"""The three tools as a model's function-calling API takes them: names, descriptions, JSON Schemas (2020-12).

The input schemas have no combinator at their top, for several such APIs refuse one there: that exactly one
selector is given is said in words, and checked by `rules`.
"""

from schedules.domain import records, schemas
from schedules.domain.schemas import NAME, Schema, closed
from schedules.sessions.lossless import Json


def _closed(**members: Json) -> Schema:
    return closed(members)


_STATE: Schema = {"state": {"enum": ["scheduled", "overdue"]}, "deliveryMode": {"const": "session-local"}}
_VIEW: Schema = {
    "type": "object",
    **schemas.one_of(schemas.record(kind, more=_STATE) for kind in schemas.KINDS),
}

_AT: Schema = {
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
                _closed(id=NAME, deleted={"const": True}),
                _closed(id=NAME, deleted={"const": False}, code={"const": "schedule_not_found"}),
            ],
        },
    },
]
