"""The projection's rows: narrow statements that read the few that a call needs, and bulk ones that write many."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import connection

from schedules.domain import codec, fold, records
from schedules.sessions import inbox, log, lossless

if TYPE_CHECKING:
    from schedules.projection.state import Projection

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
_STATE = ", ".join(f"{name} = %s" for name in STATE_COLUMNS)
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


def store(projections: Sequence["Projection"], leased: set[str]) -> None:
    """Write what has changed in these projections, in bulk, in the transaction of their events.

    ``leased`` names the sessions that a host holds: only those can be armed.
    """
    write(
        "DELETE FROM schedules_reminder WHERE session_id = %s",
        [(p.session_id,) for p in projections if p.wiped],
    )
    made: list[tuple[object, ...]] = []
    kept: list[tuple[object, ...]] = []
    for p in projections:
        for schedule_id in p.changed_entries:
            now = p.schedules.entries[schedule_id]
            values = (
                (None, None, None)
                if now is None
                else (now.record.kind, lossless.dumps(records.to_json(now.record)), now.record.scheduled_at)
            )
            where = (p.session_id, lossless.index_key(schedule_id))
            if schedule_id in p.stored_entries:
                kept.append((*values, *where))
            else:
                made.append((*values, None if now is None else now.seq, *where))
    write(
        "INSERT INTO schedules_reminder (kind, record, due_at, seq, session_id, key) VALUES (%s, %s, %s, %s, %s, %s)",
        made,
    )
    write(
        "UPDATE schedules_reminder SET kind = %s, record = %s, due_at = %s WHERE session_id = %s AND key = %s",
        kept,
    )
    _store_followups(projections)
    _store_states(projections, leased)


def _store_followups(projections: Sequence["Projection"]) -> None:
    made: list[tuple[object, ...]] = []
    kept: list[tuple[object, ...]] = []
    gone: list[tuple[object, ...]] = []
    for p in projections:
        for followup_id in p.changed_followups:
            now = p.inbox.followups.get(followup_id)
            where = (p.session_id, lossless.index_key(followup_id))
            stored = followup_id in p.stored_followups
            if now is None:
                if stored:
                    gone.append(where)
            elif stored:
                kept.append((now.seq, now.attempt, now.state, *where))
            else:
                made.append((lossless.dumps(followup_id), now.seq, now.attempt, now.state, *where))
    write(
        "INSERT INTO schedules_followup (followup_id, seq, attempt, state, session_id, key) "
        "VALUES (%s, %s, %s, %s, %s, %s)",
        made,
    )
    write(
        "UPDATE schedules_followup SET seq = %s, attempt = %s, state = %s WHERE session_id = %s AND key = %s",
        kept,
    )
    write("DELETE FROM schedules_followup WHERE session_id = %s AND key = %s", gone)


_EARLIEST = (
    "(SELECT min(r.due_at) FROM schedules_reminder r"
    " WHERE r.session_id = schedules_sessionstate.session_id AND r.due_at IS NOT NULL)"
)


def _store_states(projections: Sequence["Projection"], leased: set[str]) -> None:
    write(
        "INSERT INTO schedules_sessionstate"
        " (session_id, folded_through, created, active, last_turn, waiting, exhausted)"
        " VALUES (%s, %s, 0, 0, 0, 0, 0)",
        [(p.session_id, p.folded_through) for p in projections if not p.stored],
    )
    armed: list[tuple[object, ...]] = []
    quiet: list[tuple[object, ...]] = []
    for p in projections:
        turn = p.inbox.turn
        ready = p.idle and p.corrupt_seq is None and p.session_id in leased
        (armed if ready else quiet).append(
            (
                p.folded_through,
                p.schedules.created,
                p.active,
                None if turn is None else turn.number,
                None if turn is None else turn.seq,
                p.inbox.last_turn,
                None if p.inbox.claimed is None else lossless.dumps(p.inbox.claimed),
                p.waiting,
                p.exhausted,
                p.corrupt_seq,
                p.session_id,
            )
        )
    # The earliest target is read from the rows just written: no arithmetic here can disagree with them.
    for values, armed_at in ((armed, _EARLIEST), (quiet, "NULL")):
        write(
            f"UPDATE schedules_sessionstate SET {_STATE}, next_due = {_EARLIEST}, armed_at = {armed_at} "
            "WHERE session_id = %s",
            values,
        )


def write(statement: str, values: Sequence[tuple[Any, ...]]) -> None:
    """Run one statement for each of these values."""
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(statement, values)


def _followup(row: Any) -> inbox.Followup:
    followup_id, seq, attempt, state = row
    return inbox.Followup(id=lossless.loads_trusted(followup_id), seq=seq, attempt=attempt, state=state)  # type: ignore[arg-type]
