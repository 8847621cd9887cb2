"""The session event log: the only code that writes a session or an event.

Everything here runs inside the caller's transaction; what is appended is durable when that commits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import uuid_utils
from django.db import connection

from schedules.sessions import bulk, lossless
from schedules.sessions.bulk import NUMBER, TEXT
from schedules.sessions.events import Event

# What makes up turns is indexed by itself, so that a long log or a long turn is quick to ask. SQLite uses such an index
# only where a query repeats its condition.
_OF_TURNS = "type IN ('turn/start', 'turn/end', 'user/message')"
_EVENT = {"session_id": TEXT, "seq": NUMBER, "type": TEXT, "time": NUMBER, "data": TEXT, "extra": TEXT}
_SELECT = "SELECT seq, type, time, data, extra FROM schedules_sessionevent"
_CHUNK = 1000
_TURN_MESSAGES = 10_001


#: Called with what live sessions append, `(session id, event)` in order, in the transaction that appends it; others
#: fill it in their apps.py. What an import brings in happened elsewhere, and is not told.
hooks: list[Callable[[Sequence[tuple[str, Event]]], None]] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A session's immutable header.

    ``created_at`` is in epoch milliseconds; ``metadata`` and ``extra`` are JSON text. ``source`` is the session whose
    own events hold the last inherited one; None where nothing is inherited by reference.
    """

    id: str
    owner_id: int
    created_at: int
    parent: str | None = None
    seed_length: int = 0
    source: str | None = None
    origin: str = "api"
    title: str | None = None
    cwd: str | None = None
    metadata: str = "{}"
    extra: str | None = None

    @property
    def first_own_seq(self) -> int:
        """The seq of the first event stored under this session."""
        return 0 if self.source is None else self.seed_length


_FIELDS = "id, owner_id, created_at, parent, seed_length, source, origin, title, cwd, metadata, extra"
_NAMES = tuple(_FIELDS.split(", "))


def marks(values: Sequence[object]) -> str:
    """As many placeholders as there are values."""
    return ", ".join(["%s"] * len(values))


def new_id() -> str:
    """A fresh UUIDv7: unique, hard to guess, and roughly in order of creation, which keeps indexes compact."""
    return str(uuid_utils.uuid7())


def header(session_id: str) -> Header | None:
    """The header of a session, or None."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_FIELDS} FROM schedules_session WHERE id = %s", [session_id])
        row = cursor.fetchone()
    return None if row is None else Header(**dict(zip(_NAMES, row, strict=True)))


def create(made: Header) -> None:
    """Write a session's header. Raises IntegrityError where the id is taken."""
    values = [getattr(made, name) for name in _NAMES]
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO schedules_session ({_FIELDS}) VALUES ({marks(values)})", values)


def lock(session_ids: Sequence[str], *, skip_locked: bool = False) -> dict[str, int]:
    """Lock sessions until the transaction ends; the seedLength of each that exists and was locked, by id, in order.

    Always in the order of their ids, so that two callers never wait for each other in a circle. On SQLite the
    immediate transaction already is the lock. A header never changes, so it can be read by the statement that locks.
    """
    tail = ""
    if connection.vendor == "postgresql":
        tail = " FOR NO KEY UPDATE SKIP LOCKED" if skip_locked else " FOR NO KEY UPDATE"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, seed_length FROM schedules_session WHERE id IN ({marks(session_ids)}) ORDER BY id{tail}",
            list(session_ids),
        )
        return dict(cursor.fetchall())


def append(events: Iterable[tuple[str, Event]]) -> None:
    """Write the next events of sessions, in order, as ``(session id, event)``. The caller holds their locks."""
    rows = [
        (
            session_id,
            event.seq,
            event.type,
            event.time,
            lossless.dumps(event.data),
            None if event.extra is None else lossless.dumps(event.extra),
        )
        for session_id, event in events
    ]
    bulk.insert("schedules_sessionevent", _EVENT, rows)


def last_seq(of: Header) -> int:
    """The seq of a session's last event, the inherited prefix included; -1 where there is none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(seq) FROM schedules_sessionevent WHERE session_id = %s", [of.id])
        row = cursor.fetchone()
    return of.first_own_seq - 1 if row[0] is None else int(row[0])


def read(of: Header, *, after: int = -1, limit: int) -> list[Event]:
    """Up to ``limit`` events with a greater seq than ``after``, in order, a fork's inherited prefix included."""
    events: list[Event] = []
    for segment in _segments(of):
        if segment.high is not None and segment.high <= after + 1:
            continue
        start = max(segment.low, after + 1)
        events += _own(segment.session_id, start, segment.high, limit - len(events))
        if len(events) >= limit:
            break
    return events


def stream(of: Header, *, after: int = -1) -> Iterator[Event]:
    """Every event after ``after``, read in short steps: memory and transactions stay small however long the log."""
    while chunk := read(of, after=after, limit=_CHUNK):
        yield from chunk
        after = chunk[-1].seq


def own_stream(session_id: str, start: int) -> Iterator[Event]:
    """The events stored under a session from seq ``start`` on, read in short steps."""
    while chunk := _own(session_id, start, None, _CHUNK):
        yield from chunk
        start = chunk[-1].seq + 1


def own_rows(session_id: str, start: int) -> Iterator[tuple[int, str, str]]:
    """``(seq, type, data text)`` of the events stored under a session, from seq ``start`` on."""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT seq, type, data FROM schedules_sessionevent WHERE session_id = %s AND seq >= %s "
                "ORDER BY seq LIMIT %s",
                [session_id, start, _CHUNK],
            )
            rows = cursor.fetchall()
        if not rows:
            return
        yield from rows
        start = rows[-1][0] + 1


def own_events(session_id: str, seqs: Sequence[int]) -> dict[int, Event]:
    """The named events stored under a session, by seq."""
    if not seqs:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_SELECT} WHERE session_id = %s AND seq IN ({marks(seqs)})",
            [session_id, *seqs],
        )
        return {row[0]: _event(row) for row in cursor.fetchall()}


def turn_events(session_id: str, start: int) -> list[Event]:
    """The start and the first 10,000 user messages of a session's open turn, whose start is the event ``start``."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_SELECT} WHERE session_id = %s AND {_OF_TURNS} AND seq >= %s ORDER BY seq LIMIT %s",
            [session_id, start, _TURN_MESSAGES],
        )
        return [_event(row) for row in cursor.fetchall()]


def turn_open_at(of: Header, boundary: int) -> bool:
    """Whether a turn was open right after the event ``boundary``."""
    segment = _segment_at(of, boundary)
    if segment is None:
        return False
    # The fold starts anew at a fork's seed: what was open before it is history.
    floor = segment.seed if boundary >= segment.seed else segment.low
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT type FROM schedules_sessionevent WHERE session_id = %s AND {_OF_TURNS} "
            "AND type <> 'user/message' "
            "AND seq <= %s AND seq >= %s ORDER BY seq DESC LIMIT 1",
            [segment.session_id, boundary, floor],
        )
        row = cursor.fetchone()
    return row is not None and bool(row[0] == "turn/start")


def fork(parent: Header, *, session_id: str, owner_id: int, boundary: int, now: int) -> Header:
    """Write the header of a child that inherits its parent's events up to and with ``boundary``, copying none."""
    segment = _segment_at(parent, boundary)
    child = Header(
        id=session_id,
        owner_id=owner_id,
        created_at=now,
        parent=parent.id,
        seed_length=boundary + 1,
        source=None if segment is None else segment.session_id,
        title=parent.title,
        cwd=parent.cwd,
        metadata=parent.metadata,
    )
    create(child)
    return child


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """A stretch of a session's events: stored under ``session_id`` from ``low`` on, up to ``high`` where it ends."""

    session_id: str
    seed: int
    low: int
    high: int | None


def _segment_at(of: Header, seq: int) -> _Segment | None:
    for segment in reversed(_segments(of)):
        if segment.low <= seq:
            return segment
    return None


def _segments(of: Header) -> list[_Segment]:
    """Where a session's events are stored, oldest first."""
    if of.source is None:
        return [_Segment(session_id=of.id, seed=of.seed_length, low=0, high=None)]
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE chain (id, source, seed_length, depth) AS ("
            " SELECT id, source, seed_length, 0 FROM schedules_session WHERE id = %s"
            " UNION ALL SELECT s.id, s.source, s.seed_length, depth + 1"
            " FROM schedules_session s JOIN chain c ON s.id = c.source"
            ") SELECT id, source, seed_length FROM chain ORDER BY depth",
            [of.id],
        )
        chain = cursor.fetchall()
    segments: list[_Segment] = []
    high: int | None = None
    for session_id, source, seed in chain:
        low = 0 if source is None else seed
        if high is None or low < high:
            segments.append(_Segment(session_id=session_id, seed=seed, low=low, high=high))
            high = low
    segments.reverse()
    return segments


def _own(session_id: str, start: int, end: int | None, limit: int) -> list[Event]:
    clauses = ["session_id = %s", "seq >= %s"]
    values: list[Any] = [session_id, start]
    if end is not None:
        clauses.append("seq < %s")
        values.append(end)
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_SELECT} WHERE {' AND '.join(clauses)} ORDER BY seq LIMIT %s",
            [*values, limit],
        )
        return [_event(row) for row in cursor.fetchall()]


def _event(row: tuple[int, str, int, str, str | None]) -> Event:
    seq, kind, time, data, extra = row
    decoded = None if extra is None else lossless.loads_trusted(extra)
    return Event(
        seq=seq,
        type=kind,
        time=time,
        data=lossless.loads_trusted(data),
        extra=decoded if isinstance(decoded, dict) else None,
    )
