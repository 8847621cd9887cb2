"""The catalogue of event types: for each, who writes it and the JSON Schema (2020-12) of its data.

The schemas say what Wakeful writes. An imported log may hold other data under the same names; it is kept as
it is.
"""

from schedules.domain import schemas
from schedules.domain.schemas import INSTANT, NAME, Schema, closed
from schedules.sessions import events
from schedules.sessions.lossless import Json

_TEXT: Schema = {"type": "string"}
_TURN: Schema = {"type": "integer", "minimum": 1}
# The blanks that String.prototype.trim takes away, at neither end. ECMA-262, the dialect of `pattern`, means
# by \s exactly those; the characters are spelt out because other dialects do not.
_BLANK = r"\t\n\u000b\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TRIMMED: Schema = {
    "type": "string",
    "minLength": 1,
    "not": {"pattern": f"^[{_BLANK}]|[{_BLANK}]$"},
}


def _enum(*values: str) -> Schema:
    return {"enum": list(values)}


def _change(operation: str, **members: Json) -> Schema:
    return closed({"version": {"const": 1}, "operation": {"const": operation}, **members})


_SCHEDULE_CHANGE: Schema = {
    "oneOf": [
        _change(
            "create",
            schedule=schemas.one_of(schemas.record(kind, text=_TRIMMED) for kind in schemas.KINDS),
        ),
        _change("delete", id=_TRIMMED),
        _change("dispatch", id=_TRIMMED),
        _change("dispatch", id=_TRIMMED, acceptedAt=INSTANT),
    ]
}

_SCHEMAS: dict[str, Schema] = {
    events.SESSION_OPENED: closed({"holder": _TEXT}, {"callbackUrl": _TEXT}),
    events.SESSION_CLOSED: closed({"reason": _enum("closed", "lease_expired")}),
    events.TURN_START: closed(
        {"turn": _TURN, "source": _enum("user", "followup")},
        {"followupId": NAME, "attempt": {"type": "integer", "minimum": 1, "maximum": 3}},
    ),
    events.USER_MESSAGE: closed({"turn": _TURN, "text": _TEXT}, {"clientTimeZone": _TEXT, "followupId": NAME}),
    events.ASSISTANT_MESSAGE: closed({"turn": _TURN, "text": _TEXT}),
    events.TURN_END: closed({"turn": _TURN, "outcome": _enum("completed", "failed", "aborted", "interrupted")}),
    events.FOLLOWUP_QUEUED: closed(
        {
            "followupId": NAME,
            "kind": _enum("one-shot", "batch", "prompt"),
            "reminders": {
                "type": "array",
                "items": closed({"id": NAME, "occurrenceAt": INSTANT, "prompt": _TEXT}),
            },
            "text": _TEXT,
        }
    ),
    events.FOLLOWUP_DISCARDED: closed({"followupId": NAME}),
    events.SCHEDULE_CHANGE: _SCHEDULE_CHANGE,
}

HOST_TYPE = "host:*"

EVENT_TYPES: list[Schema] = [
    {"type": event_type, "schema": schema, "writer": "wakeful"} for event_type, schema in _SCHEMAS.items()
]
# Stands for every type with a colon: a host's own, whose data may be anything.
EVENT_TYPES.append({"type": HOST_TYPE, "schema": {}, "writer": "host"})
