"""The three tools that an agent calls: each gives back its canonical value, or an error value.

What a model can get wrong comes back as a value with a code and a message to act on. What the transport refuses (no
such session, not live, a lost lease, a conflicting key) is raised as a Refusal.
"""

import contextlib
import logging
from collections.abc import Callable, Mapping
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


#: Called with a session's id, a tool's name and the decision time where the tool gives a value, in the transaction that
#: the value tells of; others fill them in their apps.py.
on_value: list[Callable[[str, str, int], None]] = []

#: Called with a session's id and a tool's name after the tool gave an error value, which wrote nothing.
on_error: list[Callable[[str, str], None]] = []


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
            return _told(unit, "create", records.view(record, unit.now))

        return transaction.perform(session_id, action, lease_id=lease_id, once=once)

    return _answer(session_id, "create", call, known)


def list_(session_id: str, arguments: Json, *, lease_id: str | None = None) -> Answer:
    """``schedule_list``: the views of the active reminders, in creation order."""

    def call() -> Json:
        rules.parse_list(arguments)

        def action(unit: Unit) -> Json:
            _ready(unit)
            views: Json = [records.view(entry.record, unit.now) for entry in unit.projection.active_entries()]
            return _told(unit, "list", views)

        return transaction.perform(session_id, action, lease_id=lease_id)

    return _answer(session_id, "list", call, {})


def delete(session_id: str, arguments: Json, *, lease_id: str | None = None, once: Once | None = None) -> Answer:
    """``schedule_delete``: whether the reminder was there to delete."""

    def call() -> Json:
        if (answer := transaction.replayed(session_id, once)) is not None:
            return answer
        schedule_id = rules.parse_delete(arguments)

        def action(unit: Unit) -> Json:
            _ready(unit)
            if unit.projection.entry(schedule_id) is None:
                return _told(unit, "delete", {"id": schedule_id, "deleted": False, "code": "schedule_not_found"})
            unit.append(events.SCHEDULE_CHANGE, codec.encode(codec.Delete(id=schedule_id)))
            return _told(unit, "delete", {"id": schedule_id, "deleted": True})

        return transaction.perform(session_id, action, lease_id=lease_id, once=once)

    return _answer(session_id, "delete", call, named("delete", arguments))


def named(operation: str, arguments: Json) -> dict[str, Json]:
    """What the arguments alone tell of the reminder that a call is about: the ``id`` of one to delete."""
    if operation == "delete":
        with contextlib.suppress(errors.ScheduleError):
            return {"id": rules.parse_delete(arguments)}
    return {}


def uncertain(operation: str, known: Mapping[str, Json]) -> Answer:
    """The answer where the database did not confirm the call; ``known`` is what is known of its reminder."""
    situation = errors.UNCERTAIN
    value: dict[str, Json] = {"code": situation.code, "message": situation.message, "operation": operation}
    return Answer(value={**value, **known}, code=situation.code)


def _ready(unit: Unit) -> None:
    if not unit.live:
        raise Refusal("session_not_live", "No host holds this session. Open it first.")
    if unit.projection.corrupt_seq is not None:
        raise errors.CORRUPT.error()


def _told(unit: Unit, operation: str, value: Json) -> Json:
    for hook in on_value:
        hook(unit.session_id, f"schedule_{operation}", unit.now)
    return value


def _answer(session_id: str, operation: str, call: Callable[[], Json], known: dict[str, Json]) -> Answer:
    try:
        return Answer(value=call())
    except errors.ScheduleError as error:
        for hook in on_error:
            hook(session_id, f"schedule_{operation}")
        return Answer(value={"code": error.code, "message": error.message}, code=error.code)
    except PersistenceUncertain:
        return uncertain(operation, known)
    except Refusal:
        raise
    except Exception:
        # The contract promises a code for anything else; the trace is for the operator.
        logger.exception("schedule_%s failed", operation)
        return Answer(
            value={"code": errors.INTERNAL.code, "message": errors.INTERNAL.message},
            code=errors.INTERNAL.code,
        )
