"""The catalogue of event types: for each, who writes it and the JSON Schema (2020-12) of its data.

The schemas say what Wakeful writes. An imported log may hold other data under the same names; it is kept as
it is.
"""

from schedules.sessions import events
from schedules.sessions.lossless import MAX_SAFE_INTEGER, Json

_TEXT: dict[str, Json] = {"type": "string"}
_ID: dict[str, Json] = {"type": "string", "minLength": 1}
_TURN: dict[str, Json] = {"type": "integer", "minimum": 1}
_INSTANT: dict[str, Json] = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
}
# The blanks that String.prototype.trim takes away, at neither end. ECMA-262, the dialect of `pattern`, means
# by \s exactly those; the characters are spelt out because other dialects do not.
_BLANK = r"\t\n\u000b\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TRIMMED: dict[str, Json] = {
    "type": "string",
    "minLength": 1,
    "not": {"pattern": f"^[{_BLANK}]|[{_BLANK}]$"},
}


def _object(required: dict[str, Json], optional: dict[str, Json] | None = None) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _enum(*values: str) -> dict[str, Json]:
    return {"enum": list(values)}


def _record(kind: str, **seconds: Json) -> dict[str, Json]:
    return _object({"id": _TRIMMED, "kind": {"const": kind}, "prompt": _TRIMMED, **seconds, "scheduledAt": _INSTANT})


def _change(operation: str, **members: Json) -> dict[str, Json]:
    return _object({"version": {"const": 1}, "operation": {"const": operation}, **members})


_SCHEDULE_CHANGE: dict[str, Json] = {
    "oneOf": [
        _change(
            "create",
            schedule={
                "oneOf": [
                    _record("after", afterSeconds={"type": "integer", "minimum": 1, "maximum": MAX_SAFE_INTEGER}),
                    _record("at"),
                    _record(
                        "every",
                        everySeconds={"type": "integer", "minimum": 300, "maximum": MAX_SAFE_INTEGER // 1000},
                    ),
                ]
            },
        ),
        _change("delete", id=_TRIMMED),
        _change("dispatch", id=_TRIMMED),
        _change("dispatch", id=_TRIMMED, acceptedAt=_INSTANT),
    ]
}

_SCHEMAS: dict[str, dict[str, Json]] = {
    events.SESSION_OPENED: _object({"holder": _TEXT}, {"callbackUrl": _TEXT}),
    events.SESSION_CLOSED: _object({"reason": _enum("closed", "lease_expired")}),
    events.TURN_START: _object(
        {"turn": _TURN, "source": _enum("user", "followup")},
        {"followupId": _ID, "attempt": {"type": "integer", "minimum": 1, "maximum": 3}},
    ),
    events.USER_MESSAGE: _object({"turn": _TURN, "text": _TEXT}, {"clientTimeZone": _TEXT, "followupId": _ID}),
    events.ASSISTANT_MESSAGE: _object({"turn": _TURN, "text": _TEXT}),
    events.TURN_END: _object({"turn": _TURN, "outcome": _enum("completed", "failed", "aborted", "interrupted")}),
    events.FOLLOWUP_QUEUED: _object(
        {
            "followupId": _ID,
            "kind": _enum("one-shot", "batch", "prompt"),
            "reminders": {
                "type": "array",
                "items": _object({"id": _ID, "occurrenceAt": _INSTANT, "prompt": _TEXT}),
            },
            "text": _TEXT,
        }
    ),
    events.FOLLOWUP_DISCARDED: _object({"followupId": _ID}),
    events.SCHEDULE_CHANGE: _SCHEDULE_CHANGE,
}

HOST_TYPE = "host:*"

EVENT_TYPES: list[dict[str, Json]] = [
    {"type": event_type, "schema": schema, "writer": "wakeful"} for event_type, schema in _SCHEMAS.items()
]
# Stands for every type with a colon: a host's own, whose data may be anything.
EVENT_TYPES.append({"type": HOST_TYPE, "schema": {}, "writer": "host"})
