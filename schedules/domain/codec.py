"""The strict codec of `schedule/change`, version 1: what a change may say, and nothing else.

Two decoders give one answer. `decode` checks a JSON value key by key. `decode_text` lets msgspec take the
usual text at speed and leaves all that it refuses to `decode`, so that what is accepted never depends on
msgspec.
"""

from typing import Literal, NoReturn, TypeAlias

import msgspec

from schedules.domain import errors, instants, records
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

VERSION = 1


class Create(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A reminder begins.

    record: the whole reminder.
    """

    record: records.Record


class Delete(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A reminder ends without being dispatched.

    id: of an active reminder.
    """

    id: str


class Dispatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A reminder's follow-up was queued: a one-shot ends, an `every` advances.

    id: of an active reminder.
    accepted_at: the decision time, in epoch milliseconds, of an `every`; None for a one-shot.
    """

    id: str
    accepted_at: int | None


Change: TypeAlias = Create | Delete | Dispatch


def encode(change: Change) -> dict[str, Json]:
    """The data of the event that records the change."""
    match change:
        case Create(record=record):
            return {"version": VERSION, "operation": "create", "schedule": records.to_json(record)}
        case Delete(id=schedule_id):
            return {"version": VERSION, "operation": "delete", "id": schedule_id}
        case Dispatch(id=schedule_id, accepted_at=accepted_at):
            value: dict[str, Json] = {"version": VERSION, "operation": "dispatch", "id": schedule_id}
            if accepted_at is not None:
                value["acceptedAt"] = instants.render(accepted_at)
            return value


def decode(value: Json) -> Change:
    """The change that an event's data says. Raises CorruptLog for anything that version 1 does not allow."""
    if not isinstance(value, dict):
        _refuse("a change is not an object")
    if records.safe_integer(value.get("version")) != VERSION:
        _refuse("a change has another version than 1")
    operation = value.get("operation")
    if operation == "create":
        _require_keys(value, "version", "operation", "schedule")
        return Create(record=_record(value["schedule"]))
    if operation == "delete":
        _require_keys(value, "version", "operation", "id")
        return Delete(id=_id(value["id"]))
    if operation != "dispatch":
        _refuse("a change has an unknown operation")
    if "acceptedAt" not in value:
        _require_keys(value, "version", "operation", "id")
        return Dispatch(id=_id(value["id"]), accepted_at=None)
    _require_keys(value, "version", "operation", "id", "acceptedAt")
    return Dispatch(id=_id(value["id"]), accepted_at=_instant(value["acceptedAt"]))


def decode_text(text: str) -> Change:
    """The change that stored JSON text says. Raises CorruptLog exactly where `decode` of its value would."""
    try:
        shape = _DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeError):
        return decode(_value(text))
    return _change_of(shape)


def _value(text: str) -> Json:
    try:
        return lossless.loads_trusted(text)
    except (ValueError, RecursionError):
        _refuse("a change is not JSON")


def _record(value: Json) -> records.Record:
    if not isinstance(value, dict):
        _refuse("a created schedule is not an object")
    kind: records.Kind
    seconds: int | None
    match value.get("kind"):
        case "at":
            _require_keys(value, "id", "kind", "prompt", "scheduledAt")
            kind, seconds = "at", None
        case "after":
            _require_keys(value, "id", "kind", "prompt", "afterSeconds", "scheduledAt")
            kind, seconds = "after", _after_seconds(value["afterSeconds"])
        case "every":
            _require_keys(value, "id", "kind", "prompt", "everySeconds", "scheduledAt")
            kind, seconds = "every", _every_seconds(value["everySeconds"])
        case _:
            _refuse("a created schedule has an unknown kind")
    return records.Record(
        id=_id(value["id"]),
        kind=kind,
        prompt=_prompt(value["prompt"]),
        scheduled_at=_instant(value["scheduledAt"]),
        seconds=seconds,
    )


def _require_keys(value: dict[str, Json], *keys: str) -> None:
    if len(value) != len(keys) or any(key not in value for key in keys):
        _refuse("a change or its schedule has missing or extra keys")


def _id(value: Json) -> str:
    if not isinstance(value, str) or not value or records.trim(value) != value:
        _refuse("an id is no string, empty or padded")
    return value


def _prompt(value: Json) -> str:
    if not isinstance(value, str) or not value or records.trim(value) != value:
        _refuse("a prompt is no string, empty or not trimmed")
    return value


def _instant(value: Json) -> int:
    instant = instants.parse(value) if isinstance(value, str) else None
    if instant is None:
        _refuse("an instant is malformed or impossible")
    return instant


def _after_seconds(value: Json) -> int:
    seconds = records.safe_integer(value)
    if seconds is None or seconds < 1:
        _refuse("afterSeconds is not a positive safe integer")
    return seconds


def _every_seconds(value: Json) -> int:
    seconds = records.safe_integer(value)
    if seconds is None or not records.MIN_EVERY_SECONDS <= seconds <= records.MAX_EVERY_SECONDS:
        _refuse("everySeconds is no safe integer, below 300 or too large")
    return seconds


def _refuse(reason: str) -> NoReturn:
    raise errors.CorruptLog(reason)


class _Text(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """The shape of stored text, for msgspec: exact keys and types. What values may be, the checks above say."""


class _After(_Text, tag_field="kind", tag="after"):
    id: str
    prompt: str
    after_seconds: int
    scheduled_at: str


class _At(_Text, tag_field="kind", tag="at"):
    id: str
    prompt: str
    scheduled_at: str


class _Every(_Text, tag_field="kind", tag="every"):
    id: str
    prompt: str
    every_seconds: int
    scheduled_at: str


class _Create(_Text, tag_field="operation", tag="create"):
    version: Literal[1]
    schedule: _After | _At | _Every


class _Delete(_Text, tag_field="operation", tag="delete"):
    version: Literal[1]
    id: str


class _Dispatch(_Text, tag_field="operation", tag="dispatch"):
    version: Literal[1]
    id: str
    accepted_at: str | msgspec.UnsetType = msgspec.UNSET


_DECODER = msgspec.json.Decoder(_Create | _Delete | _Dispatch)


def _change_of(shape: _Create | _Delete | _Dispatch) -> Change:
    if isinstance(shape, _Create):
        return Create(record=_record_of(shape.schedule))
    if isinstance(shape, _Delete):
        return Delete(id=_id(shape.id))
    accepted_at = None if shape.accepted_at is msgspec.UNSET else _instant(shape.accepted_at)
    return Dispatch(id=_id(shape.id), accepted_at=accepted_at)


def _record_of(shape: _After | _At | _Every) -> records.Record:
    kind: records.Kind
    seconds: int | None
    if isinstance(shape, _At):
        kind, seconds = "at", None
    elif isinstance(shape, _After):
        kind, seconds = "after", _after_seconds(shape.after_seconds)
    else:
        kind, seconds = "every", _every_seconds(shape.every_seconds)
    return records.Record(
        id=_id(shape.id),
        kind=kind,
        prompt=_prompt(shape.prompt),
        scheduled_at=_instant(shape.scheduled_at),
        seconds=seconds,
    )
