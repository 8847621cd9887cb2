"""The projection's rows: narrow statements that read the few that a call needs."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from schedules.domain import codec, fold
from schedules.sessions import inbox, log, lossless

#: The columns of a session's state that hold its fold; what is due follows from the reminders' rows.
STATE_COLUMNS = (
    "folded_through",
    "created",
    "active",
    "turn",
    "turn_seq",
    "last_turn",
    "claimed",
    "waiting",
    "exhausted",
    "corrupt_seq",
)
_FOLLOWUP = "SELECT followup_id, seq, attempt, state FROM schedules_followup WHERE session_id = %s"


def entries(session_id: str, schedule_ids: Sequence[str]) -> dict[str, fold.Entry | None]:
    """The stored ones of these reminder ids; None for one that ended."""
    keys = {lossless.index_key(schedule_id): schedule_id for schedule_id in schedule_ids}
    found = fetch(
        f"SELECT key, seq, record FROM schedules_reminder WHERE session_id = %s AND key IN ({log.marks(list(keys))})",
        [session_id, *keys],
    )
    return {keys[key]: None if record is None else entry(seq, record) for key, seq, record in found}


def active_entries(session_id: str, *, after: int = -1, limit: int | None = None) -> list[fold.Entry]:
    """A session's active reminders that were created after the event ``after``, in creation order."""
    bound, values = ("", []) if limit is None else (" LIMIT %s", [limit])
    found = fetch(
        "SELECT seq, record FROM schedules_reminder WHERE session_id = %s AND due_at IS NOT NULL AND seq > %s "
        f"ORDER BY seq{bound}",
        [session_id, after, *values],
    )
    return [entry(seq, record) for seq, record in found]


def due_entries(session_ids: Sequence[str], now: int) -> list[tuple[str, fold.Entry]]:
    """The active reminders of these sessions whose target has come."""
    found = fetch(
        "SELECT session_id, seq, record FROM schedules_reminder "
        f"WHERE session_id IN ({log.marks(session_ids)}) AND due_at <= %s",
        [*session_ids, now],
    )
    return [(session_id, entry(seq, record)) for session_id, seq, record in found]


def followup(session_id: str, followup_id: str) -> inbox.Followup | None:
    """A follow-up that waits, is claimed or is exhausted."""
    found = fetch(f"{_FOLLOWUP} AND key = %s", [session_id, lossless.index_key(followup_id)])
    return _followup(found[0]) if found else None


def oldest_waiting(session_id: str) -> inbox.Followup | None:
    """The follow-up at the front of the queue."""
    found = fetch(f"{_FOLLOWUP} AND state = 'waiting' ORDER BY seq LIMIT 1", [session_id])
    return _followup(found[0]) if found else None


def followups(session_id: str, state: str, *, after: int = -1, limit: int) -> list[inbox.Followup]:
    """A page of a session's follow-ups in a state, oldest first, those with a greater seq than ``after``."""
    found = fetch(f"{_FOLLOWUP} AND state = %s AND seq > %s ORDER BY seq LIMIT %s", [session_id, state, after, limit])
    return [_followup(row) for row in found]


def entry(seq: int, record: str) -> fold.Entry:
    """The fold's entry for a stored record."""
    change = codec.decode_text(f'{{"version":1,"operation":"create","schedule":{record}}}')
    if not isinstance(change, codec.Create):
        raise TypeError("a stored record is not a record")
    return fold.Entry(record=change.record, seq=seq)


def fetch(statement: str, values: Sequence[Any]) -> list[Any]:
    """Every row of a bounded query."""
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return list(cursor.fetchall())


def execute(statement: str, values: Sequence[Any]) -> int:
    """Run a statement that writes; how many rows it wrote."""
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return int(cursor.rowcount)


def _followup(row: Any) -> inbox.Followup:
    followup_id, seq, attempt, state = row
    return inbox.Followup(id=lossless.loads_trusted(followup_id), seq=seq, attempt=attempt, state=state)  # type: ignore[arg-type]
