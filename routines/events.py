"""The bus of AIP-37 events: what happened is written in the transaction of what made it happen.

A scheduler takes the events up and fires what waits for them (:mod:`routines.jobs`).
"""

import logging
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from routines.domain import eventnames
from schedules import clock, transaction
from schedules.projection import rows
from schedules.sessions import events as sessions
from schedules.sessions import log, lossless
from schedules.sessions.errors import PersistenceUncertain
from schedules.sessions.events import Event
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)

#: A session's event to tell of: the session's id, the event's name, when it happened.
Told: TypeAlias = tuple[str, str, int]

#: A chain of routines that fire each other ends here.
DEEPEST = 8

#: The key of a session's metadata under which the routine that started it keeps how deep it stands.
DEPTH = "depth"

_TABLE = "routines_lifecycleevent"

_OF_SESSIONS = {
    sessions.SESSION_OPENED: "conversation-start",
    sessions.SESSION_CLOSED: "conversation-end",
    sessions.TURN_START: "turn-start",
    sessions.TURN_END: "turn-end",
}
_ENDED_BADLY = ("failed", "interrupted")


def emit(name: str, payload: Json, now: int, *, origin: str, depth: int = 0) -> int:
    """Write an event; its id. ``origin`` says who emitted it: `routine:<id>`, `user:<name>` or `session:<id>`."""
    found = rows.fetch(
        f"INSERT INTO {_TABLE} (name, payload, time, depth, origin) VALUES (%s, %s, %s, %s, %s) RETURNING id",
        [eventnames.canonical(name), lossless.dumps(payload), now, depth, origin],
    )
    return int(found[0][0])


def of_session_events(appended: Sequence[tuple[str, Event]]) -> None:
    """The log's hook: what hosts' sessions did, for the routines that wait for it. In the log's own transaction."""
    told = [(session_id, name, event.time) for session_id, event in appended for name in _names(event)]
    if told:
        _tell(told)


def of_tool_value(session_id: str, tool: str, now: int) -> None:
    """The tools' hook: a tool of a session was called and gave a value. In the transaction of that value."""
    told = [(session_id, "tool-call", now), (session_id, "tool-result", now)]
    _tell(told, {"tool": tool})


def of_tool_error(session_id: str, tool: str) -> None:
    """The tools' hook: a tool of a session was called and gave an error. Never raises: the caller has its answer."""
    try:
        with transaction.asking():
            now = clock.sample()
            told = _awaited([(session_id, "tool-call", now), (session_id, "tool-error", now)])
        if told:
            with transaction.barrier():
                _tell(told, {"tool": tool})
    except PersistenceUncertain:
        logger.warning("session %s: the events of a call of %s were lost", session_id, tool)


def _names(event: Event) -> list[str]:
    name = _OF_SESSIONS.get(event.type)
    if name is None:
        return []
    badly = isinstance(event.data, dict) and event.data.get("outcome") in _ENDED_BADLY
    return [name, "turn-error"] if event.type == sessions.TURN_END and badly else [name]


def _awaited(told: Sequence[Told]) -> list[Told]:
    """Those of the events that some routine waits for: nobody else would ever read those of sessions."""
    names = sorted({name for _, name, _ in told})
    found = rows.fetch(f"SELECT DISTINCT event FROM routines_job WHERE event IN ({log.marks(names)})", names)
    awaited = {row[0] for row in found}
    return [one for one in told if one[1] in awaited]


def _tell(told: Sequence[Told], more: Mapping[str, Json] | None = None) -> None:
    for session_id, name, time in _awaited(told):
        if (header := log.header(session_id)) is None:
            continue
        metadata = lossless.loads_trusted(header.metadata)
        payload: dict[str, Json] = {
            "sessionId": session_id,
            "origin": header.origin,
            "cwd": header.cwd,
            "metadata": metadata,
            **(more or {}),
        }
        emit(name, payload, time, origin=f"session:{session_id}", depth=_depth(header.origin, metadata))


def _depth(origin: str, metadata: Json) -> int:
    """How deep in a chain of routines a session stands: a chain through an agent's session is one too."""
    depth = metadata.get(DEPTH) if isinstance(metadata, dict) else None
    return depth if origin.startswith(("routine:", "cron:")) and isinstance(depth, int) else 0


def matches(wanted: Mapping[str, Json], payload: Json) -> bool:
    """Whether a payload holds every pair that a routine's filter wants, compared as JSON values."""
    return isinstance(payload, dict) and all(
        name in payload and lossless.canonical(payload[name]) == lossless.canonical(value)
        for name, value in wanted.items()
    )
