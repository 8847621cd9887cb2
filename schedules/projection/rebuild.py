"""Projections thrown away and written anew, and checked against a full fold of their log.

Both hold the session's lock, so they may run while the system does.
"""

from collections.abc import Iterator
from typing import Any

from schedules import transaction
from schedules.domain import errors, fold, records
from schedules.projection import rows, state
from schedules.sessions import inbox, log, lossless
from schedules.sessions.errors import Refusal

# How many changed rows are kept in memory before they are written.
_CHANGES = 10_000
_PAGE = 1000

_STATE = (*rows.STATE_COLUMNS, "next_due", "armed_at")
_TABLES = ("schedules_reminder", "schedules_followup", "schedules_sessionstate")

# A row's columns by name, and a session's rows by key.
_Columns = dict[str, Any]
_Rows = dict[str, _Columns]


def all_sessions() -> Iterator[str]:
    """The id of every session, read in pages."""
    after = ""
    while page := rows.fetch(
        "SELECT id FROM schedules_session WHERE id > %s ORDER BY id LIMIT %s", [after, _PAGE]
    ):
        yield from (session_id for (session_id,) in page)
        after = page[-1][0]


def rebuild(session_id: str) -> None:
    """Write a session's projection anew from its events. Raises Refusal ``not_found``."""
    with transaction.barrier():
        header = _locked(session_id)
        for table in _TABLES:
            rows.write(f"DELETE FROM {table} WHERE session_id = %s", [(session_id,)])  # noqa: S608
        write(header, leased=_leased(session_id))


def write(header: log.Header, *, leased: bool) -> None:
    """Write the projection of a session that has none, in the caller's transaction.

    ``leased`` says whether a host holds it. Memory stays small however long the log and however many its reminders.
    """
    holders = {header.id} if leased else set()
    projection = state.blank(header.id, seed_length=header.seed_length)
    for event in log.own_stream(header.id, header.seed_length):
        projection.apply(event)
        if len(projection.changed_entries) + len(projection.changed_followups) >= _CHANGES:
            rows.store([projection], holders)
            projection = _stored(header.id)
    rows.store([projection], holders)


def check(session_id: str) -> list[str]:
    """Each difference between a session's projection and its log, in plain words; empty where they agree.

    Raises Refusal ``not_found``.
    """
    with transaction.barrier():
        header = _locked(session_id)
        expected = _expected(header, leased=_leased(session_id))
        stored = (
            _read("sessionstate", "session_id", _STATE, session_id),
            _read("reminder", "key", ("seq", "kind", "record", "due_at"), session_id),
            _read("followup", "key", ("followup_id", "seq", "attempt", "state"), session_id),
        )
    for reminder in stored[1].values():
        if reminder["record"] is None:
            # Whether an ended reminder's row still knows its event depends on when it was written.
            reminder["seq"] = None
    return [
        difference
        for what, kept, wanted in zip(("state", "reminder", "follow-up"), stored, expected, strict=True)
        for difference in _differences(what, kept, wanted)
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
    found = rows.fetch(f"SELECT {columns} FROM schedules_sessionstate WHERE session_id = %s", [session_id])  # noqa: S608
    return state.from_row(session_id, found[0])


def _read(table: str, key: str, columns: tuple[str, ...], session_id: str) -> _Rows:
    found = rows.fetch(
        f"SELECT {key}, {', '.join(columns)} FROM schedules_{table} WHERE session_id = %s",  # noqa: S608
        [session_id],
    )
    return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in found}


def _expected(header: log.Header, *, leased: bool) -> tuple[_Rows, _Rows, _Rows]:
    """What the rows must say, by the pure folds alone: none of the code that keeps them is used."""
    corrupt_seq = None
    try:
        schedules = fold.replay_text(log.own_rows(header.id, header.seed_length), header.seed_length)
    except errors.CorruptLog as fault:
        schedules, corrupt_seq = fold.Fold(), fault.seq
    turns = inbox.replay(log.own_stream(header.id, header.seed_length), header.seed_length)
    next_due = min((entry.record.scheduled_at for entry in schedules.active), default=None)
    ready = leased and corrupt_seq is None and turns.turn is None and not turns.waiting
    columns: _Columns = {
        "folded_through": max(log.last_seq(header), header.seed_length - 1),
        "created": schedules.created,
        "active": len(schedules.active),
        "turn": turns.turn and turns.turn.number,
        "turn_seq": turns.turn and turns.turn.seq,
        "last_turn": turns.last_turn,
        "claimed": None if turns.claimed is None else lossless.dumps(turns.claimed),
        "waiting": len(turns.waiting),
        "exhausted": len(turns.exhausted),
        "corrupt_seq": corrupt_seq,
        "next_due": next_due,
        "armed_at": next_due if ready else None,
    }
    blank = columns["folded_through"] == header.seed_length - 1 and not leased
    reminders = {lossless.index_key(name): _reminder(entry) for name, entry in schedules.entries.items()}
    followups = {
        lossless.index_key(followup.id): {
            "followup_id": lossless.dumps(followup.id),
            "seq": followup.seq,
            "attempt": followup.attempt,
            "state": followup.state,
        }
        for followup in turns.followups.values()
    }
    # A session to which nothing has happened may still be without a row.
    states = {} if blank and not _has_state(header.id) else {header.id: columns}
    return states, reminders, followups


def _has_state(session_id: str) -> bool:
    return bool(rows.fetch("SELECT 1 FROM schedules_sessionstate WHERE session_id = %s", [session_id]))


def _reminder(entry: fold.Entry | None) -> _Columns:
    if entry is None:
        return dict.fromkeys(("seq", "kind", "record", "due_at"))
    return {
        "seq": entry.seq,
        "kind": entry.record.kind,
        "record": lossless.dumps(records.to_json(entry.record)),
        "due_at": entry.record.scheduled_at,
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
