"""Projections thrown away and written anew, and checked against a full fold of their log.

Both run inside the caller's barrier and take the session's lock, so they may run while the system does.
"""

from collections.abc import Iterator
from typing import Any

from schedules.domain import errors, fold, records
from schedules.projection import rows, state, store
from schedules.sessions import inbox, log, lossless
from schedules.sessions.errors import Refusal

# How many changed rows are kept in memory before they are written.
_CHANGES = 10_000
_PAGE = 1000

_STATE = (*rows.STATE_COLUMNS, "next_due", "armed_at")
_REMINDER = ("seq", "kind", "record", "due_at")
_FOLLOWUP = ("followup_id", "seq", "attempt", "state")
_TABLES = ("schedules_reminder", "schedules_followup", "schedules_sessionstate")

# A row's columns by name, and a session's rows by key.
_Columns = dict[str, Any]
_Rows = dict[str, _Columns]


def all_sessions() -> Iterator[str]:
    """The id of every session, read in pages."""
    after = ""
    while page := rows.fetch("SELECT id FROM schedules_session WHERE id > %s ORDER BY id LIMIT %s", [after, _PAGE]):
        yield from (session_id for (session_id,) in page)
        after = page[-1][0]


def rebuild(session_id: str) -> None:
    """Write a session's projection anew from its events. Raises Refusal ``not_found``."""
    header = _locked(session_id)
    for table in _TABLES:
        rows.execute(f"DELETE FROM {table} WHERE session_id = %s", [session_id])
    write(header, leased=_leased(session_id))


def write(header: log.Header, *, leased: bool) -> None:
    """Write the projection of a session that has none; ``leased`` says whether a host holds it.

    Memory stays small however long the log is and however many reminders it tells of.
    """
    holders = {header.id} if leased else set()
    projection = state.blank(header.id, seed_length=header.seed_length)
    for event in log.own_stream(header.id, header.seed_length):
        projection.apply(event)
        if len(projection.changed_entries) + len(projection.changed_followups) >= _CHANGES:
            store.write([projection], holders)
            projection = _stored(header.id)
    store.write([projection], holders)


def check(session_id: str) -> list[str]:
    """Each difference between a session's projection and its log, in plain words; empty where they agree.

    Raises Refusal ``not_found``.
    """
    header = _locked(session_id)
    schedules, turns, corrupt_seq = _folds(header)
    states = _read("sessionstate", "session_id", _STATE, session_id)
    reminders = _read("reminder", "key", _REMINDER, session_id)
    for reminder in reminders.values():
        if reminder["record"] is None:
            # Whether an ended reminder's row still knows its event depends on when it was written.
            reminder["seq"] = None
    wanted = _state(header, schedules, turns, corrupt_seq)
    # A session to which nothing has happened may still be without a row.
    untouched = not states and wanted["folded_through"] < header.seed_length and not _leased(session_id)
    return [
        *_differences("state", states, {} if untouched else {session_id: wanted}),
        *_differences("reminder", reminders, _reminders(schedules)),
        *_differences("follow-up", _read("followup", "key", _FOLLOWUP, session_id), _followups(turns)),
    ]


def _locked(session_id: str) -> log.Header:
    header = log.header(session_id) if log.lock([session_id]) else None
    if header is None:
        raise Refusal("not_found", "There is no such session.")
    return header


def _leased(session_id: str) -> bool:
    return bool(rows.fetch("SELECT 1 FROM schedules_lease WHERE session_id = %s", [session_id]))


def _stored(session_id: str) -> state.Projection:
    columns = ", ".join(rows.STATE_COLUMNS)
    found = rows.fetch(f"SELECT {columns} FROM schedules_sessionstate WHERE session_id = %s", [session_id])
    return state.from_row(session_id, found[0])


def _read(table: str, key: str, columns: tuple[str, ...], session_id: str) -> _Rows:
    found = rows.fetch(
        f"SELECT {key}, {', '.join(columns)} FROM schedules_{table} WHERE session_id = %s",
        [session_id],
    )
    return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in found}


def _folds(header: log.Header) -> tuple[fold.Fold, inbox.Inbox, int | None]:
    """The pure folds of a session's events, and where they do not fold; no code that keeps rows is used."""
    seed = header.seed_length
    turns = inbox.replay(log.own_stream(header.id, seed), seed)
    try:
        return fold.replay_text(log.own_rows(header.id, seed), seed), turns, None
    except errors.CorruptLog as fault:
        return fold.Fold(), turns, fault.seq


def _state(header: log.Header, schedules: fold.Fold, turns: inbox.Inbox, corrupt_seq: int | None) -> _Columns:
    next_due = min((entry.record.scheduled_at for entry in schedules.active), default=None)
    armed = corrupt_seq is None and turns.turn is None and not turns.waiting and _leased(header.id)
    return {
        "folded_through": max(log.last_seq(header), header.seed_length - 1),
        "created": schedules.created,
        "active": len(schedules.active),
        "turn": None if turns.turn is None else turns.turn.number,
        "turn_seq": None if turns.turn is None else turns.turn.seq,
        "last_turn": turns.last_turn,
        "claimed": None if turns.claimed is None else lossless.dumps(turns.claimed),
        "waiting": len(turns.waiting),
        "exhausted": len(turns.exhausted),
        "corrupt_seq": corrupt_seq,
        "next_due": next_due,
        "armed_at": next_due if armed else None,
    }


def _reminders(schedules: fold.Fold) -> _Rows:
    return {
        lossless.index_key(schedule_id): dict.fromkeys(_REMINDER)
        if entry is None
        else {
            "seq": entry.seq,
            "kind": entry.record.kind,
            "record": lossless.dumps(records.to_json(entry.record)),
            "due_at": entry.record.scheduled_at,
        }
        for schedule_id, entry in schedules.entries.items()
    }


def _followups(turns: inbox.Inbox) -> _Rows:
    return {
        lossless.index_key(followup.id): {
            "followup_id": lossless.dumps(followup.id),
            "seq": followup.seq,
            "attempt": followup.attempt,
            "state": followup.state,
        }
        for followup in turns.followups.values()
    }


def _differences(what: str, stored: _Rows, wanted: _Rows) -> Iterator[str]:
    for key in sorted(stored.keys() | wanted.keys()):
        name = what if what == "state" else f"{what} {key}"
        if key not in stored:
            yield f"{name}: its row is missing"
        elif key not in wanted:
            yield f"{name}: its row should not be there"
        else:
            for column, value in wanted[key].items():
                if stored[key][column] != value:
                    yield f"{name}: {column} is {_said(stored[key][column])}, the log says {_said(value)}"


def _said(value: object) -> str:
    return "empty" if value is None else str(value)
