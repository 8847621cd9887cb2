"""The three tools that an agent calls: each gives back its canonical value, or an error value.

What a model can get wrong comes back as a value with a code and a message to act on. What the transport refuses (no
such session, not live, a lost lease, a conflicting key) is raised as a Refusal.
"""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from schedules import transaction
from schedules.domain import codec, errors, records, rules
from schedules.idempotency import Once
from schedules.locked import Unit
from schedules.sessions import events
from schedules.sessions.errors import PersistenceUncertain, Refusal
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A tool's answer. ``code`` is None for a value, else the error's code; ``value`` is the body either way."""

    value: Json
    code: errors.Code | None = None


def create(session_id: str, arguments: Json, *, lease_id: str | None = None, once: Once | None = None) -> Answer:
    """``schedule_create``: the view of the new reminder."""
    known: dict[str, Json] = {}

    def call() -> Json:
        if (answer := transaction.replayed(session_id, once)) is not None:
            return answer
        request = rules.parse_create(arguments)

        def action(unit: Unit) -> Json:
            _ready(unit)
            if unit.projection.active >= settings.WAKEFUL_MAX_REMINDERS:
                raise Refusal(
                    "limit_reached",
                    f"This session has {settings.WAKEFUL_MAX_REMINDERS} active reminders. Delete one first.",
                )
            record = rules.resolve(request, unit.projection.next_schedule_id(), unit.now)
            known["id"] = record.id
            unit.append(events.SCHEDULE_CHANGE, codec.encode(codec.Create(record=record)))
            return records.view(record, unit.now)

        return transaction.perform(session_id, action, lease_id=lease_id, once=once)

    return _answer("create", call, known)


def list_(session_id: str, arguments: Json, *, lease_id: str | None = None) -> Answer:
    """``schedule_list``: the views of the active reminders, in creation order."""

    def call() -> Json:
        rules.parse_list(arguments)

        def action(unit: Unit) -> Json:
            _ready(unit)
            return [records.view(entry.record, unit.now) for entry in unit.projection.active_entries()]

        return transaction.perform(session_id, action, lease_id=lease_id)

    return _answer("list", call, {})


def delete(session_id: str, arguments: Json, *, lease_id: str | None = None, once: Once | None = None) -> Answer:
    """``schedule_delete``: whether the reminder was there to delete."""
    known = _named(arguments)

    def call() -> Json:
        if (answer := transaction.replayed(session_id, once)) is not None:
            return answer
        schedule_id = rules.parse_delete(arguments)

        def action(unit: Unit) -> Json:
            _ready(unit)
            if unit.projection.entry(schedule_id) is None:
                return {"id": schedule_id, "deleted": False, "code": "schedule_not_found"}
            unit.append(events.SCHEDULE_CHANGE, codec.encode(codec.Delete(id=schedule_id)))
            return {"id": schedule_id, "deleted": True}

        return transaction.perform(session_id, action, lease_id=lease_id, once=once)

    return _answer("delete", call, known)


def uncertain(operation: str, arguments: Json) -> Answer:
    """The answer of ``create``, ``list`` or ``delete`` where the database was gone before the tool could be called."""
    return _uncertain(operation, _named(arguments) if operation == "delete" else {})


def _named(arguments: Json) -> dict[str, Json]:
    """The id of the reminder that a call of ``schedule_delete`` is about; empty where it names none."""
    with contextlib.suppress(errors.ScheduleError):
        return {"id": rules.parse_delete(arguments)}
    return {}


def _ready(unit: Unit) -> None:
    if not unit.live:
        raise Refusal("session_not_live", "No host holds this session. Open it first.")
    if unit.projection.corrupt_seq is not None:
        raise errors.CORRUPT.error()


def _answer(operation: str, call: Callable[[], Json], known: dict[str, Json]) -> Answer:
    try:
        return Answer(value=call())
    except errors.ScheduleError as error:
        return Answer(value={"code": error.code, "message": error.message}, code=error.code)
    except PersistenceUncertain:
        return _uncertain(operation, known)
    except Refusal:
        raise
    except Exception:
        # The contract promises a code for anything else; the trace is for the operator.
        logger.exception("schedule_%s failed", operation)
        return Answer(
            value={"code": errors.INTERNAL.code, "message": errors.INTERNAL.message},
            code=errors.INTERNAL.code,
        )


def _uncertain(operation: str, known: dict[str, Json]) -> Answer:
    situation = errors.UNCERTAIN
    value: dict[str, Json] = {"code": situation.code, "message": situation.message, "operation": operation}
    return Answer(value=value | known, code=situation.code)
