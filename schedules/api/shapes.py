"""The shapes of the API's answers, in JSON Schema, for its description."""

from typing import Any

from schedules.domain import schemas, toolbox

Schema = dict[str, Any]

INSTANT: Schema = schemas.INSTANT
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SEQ: Schema = {"type": "integer", "minimum": 0}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def listed(item: Schema, cursor: Schema = TEXT) -> Schema:
    """A page: results, and what to pass for the next one."""
    return record(
        {
            "results": {"type": "array", "items": item},
            "next": {"oneOf": [cursor, {"type": "null"}]},
        }
    )


def maybe(shape: Schema) -> Schema:
    """The shape, or null."""
    return {"oneOf": [shape, {"type": "null"}]}


ERROR = record(
    {"code": TEXT, "message": TEXT},
    {"fields": {"type": "object", "additionalProperties": {"type": "string"}}},
)
TOOL_ERROR = record(
    {"code": TEXT, "message": TEXT},
    {
        "fields": {"type": "object", "additionalProperties": {"type": "string"}},
        "operation": {"enum": ["create", "list", "delete"]},
        "id": TEXT,
    },
)

LEASE_FIELDS = {"leaseId": TEXT, "leaseSeconds": {"type": "integer", "minimum": 5}, "expiresAt": INSTANT}
LEASE = record(LEASE_FIELDS)
CLOSED = record({"closed": {"const": True}})

TIME_CONTEXT = record(
    {"now": INSTANT, "provenance": {"enum": ["unique", "mixed", "missing"]}, "text": TEXT}, {"timeZone": TEXT}
)
TURN = record(
    {
        "turn": {"type": "integer", "minimum": 1},
        "source": {"enum": ["user", "followup"]},
        "messages": {"type": "array", "items": record({"seq": SEQ, "text": TEXT}, {"followupId": TEXT})},
        "timeContext": TIME_CONTEXT,
    },
    {"attempt": {"type": "integer", "minimum": 1}},
)
TURN_ENDED = record(
    {
        "turn": {"type": "integer", "minimum": 1},
        "outcome": {"enum": ["completed", "failed", "aborted"]},
        "timeContext": TIME_CONTEXT,
    }
)

EVENT: Schema = {
    "type": "object",
    "properties": {"seq": SEQ, "type": TEXT, "time": {"type": "integer"}, "data": {}},
    "required": ["seq", "type", "time", "data"],
    # An imported event's envelope may hold more keys; they are kept.
    "additionalProperties": True,
}
EVENTS = listed(EVENT, SEQ)
#: One of the Server-Sent Events: ``data`` is the JSON text of an event, ``id`` its seq.
SERVER_SENT: Schema = {
    "type": "object",
    "properties": {"id": {"type": "string", "pattern": "^[0-9]+$"}, "event": TEXT, "data": TEXT},
    "required": ["data"],
}

FOLLOWUP = record(
    {
        "followupId": TEXT,
        "seq": SEQ,
        "queuedAt": INSTANT,
        "attempt": {"type": "integer", "minimum": 1, "maximum": 3},
        "kind": TEXT,
        "reminders": {"type": "array", "items": {}},
        "text": TEXT,
    }
)
DISCARDED = record({"followupId": TEXT, "discarded": {"const": True}})

_SESSION = {
    "id": TEXT,
    "createdAt": INSTANT,
    "parentSession": maybe(TEXT),
    "seedLength": COUNT,
    "origin": TEXT,
    "title": maybe(TEXT),
    "cwd": maybe(TEXT),
    "metadata": {"type": "object", "additionalProperties": True},
    "owner": TEXT,
    "live": {"type": "boolean"},
    "corrupt": {"type": "boolean"},
    "lease": maybe(record({"holder": TEXT, "leaseSeconds": COUNT, "expiresAt": INSTANT})),
    "counts": record({"events": COUNT, "turns": COUNT, "reminders": COUNT, "waiting": COUNT, "exhausted": COUNT}),
}
_WHOLE_SESSION = _SESSION | {"openTurn": maybe(TURN), "exhausted": {"type": "array", "items": FOLLOWUP}}
SESSION_ROW = record(_SESSION)
SESSION = record(_WHOLE_SESSION)
SESSION_CREATED = record(_WHOLE_SESSION, LEASE_FIELDS)

TOOLS = {tool["name"]: tool for tool in toolbox.TOOLS}
VIEW: Schema = TOOLS["schedule_create"]["outputSchema"]  # type: ignore[assignment]  # a JSON object
TOOL = record(
    {"name": TEXT, "description": TEXT, "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
)
EVENT_TYPE = record({"type": TEXT, "schema": {"type": "object"}, "writer": {"enum": ["wakeful", "host"]}})
