"""Writes projections: what changed in many sessions goes out in a few statements, in their events' transaction."""

from collections.abc import Sequence

from schedules.domain import records
from schedules.projection import rows
from schedules.projection.state import Projection
from schedules.sessions import bulk, lossless
from schedules.sessions.bulk import NUMBER, TEXT

_SESSION = {"session_id": TEXT}
_KEY = {"session_id": TEXT, "key": TEXT}
_REMINDER = {"kind": TEXT, "record": TEXT, "due_at": NUMBER}
_FOLLOWUP = {"seq": NUMBER, "attempt": NUMBER, "state": TEXT}
_STATE = {name: TEXT if name == "claimed" else NUMBER for name in rows.STATE_COLUMNS}
_BLANK = dict.fromkeys(("folded_through", "created", "active", "last_turn", "waiting", "exhausted"), NUMBER)
# The earliest target is read from the rows just written: no arithmetic here can disagree with them.
_EARLIEST = (
    "(SELECT min(r.due_at) FROM schedules_reminder r"
    " WHERE r.session_id = schedules_sessionstate.session_id AND r.due_at IS NOT NULL)"
)


def write(projections: Sequence[Projection], leased: set[str]) -> None:
    """Write what has changed in these projections, in bulk, in the transaction of their events.

    ``leased`` names the sessions that a host holds: only those can be armed.
    """
    bulk.delete("schedules_reminder", _SESSION, [(p.session_id,) for p in projections if p.wiped])
    _write_reminders(projections)
    _write_followups(projections)
    _write_states(projections, leased)


def _write_reminders(projections: Sequence[Projection]) -> None:
    made: list[bulk.Row] = []
    kept: list[bulk.Row] = []
    for p in projections:
        for schedule_id in p.changed_entries:
            now = p.schedules.entries[schedule_id]
            values = (
                (None, None, None)
                if now is None
                else (now.record.kind, lossless.dumps(records.to_json(now.record)), now.record.scheduled_at)
            )
            key = (p.session_id, lossless.index_key(schedule_id))
            if schedule_id in p.stored_entries:
                kept.append((*values, *key))
            else:
                made.append((*values, *key, None if now is None else now.seq))
    bulk.insert("schedules_reminder", _REMINDER | _KEY | {"seq": NUMBER}, made)
    bulk.update("schedules_reminder", _REMINDER, _KEY, kept)


def _write_followups(projections: Sequence[Projection]) -> None:
    made: list[bulk.Row] = []
    kept: list[bulk.Row] = []
    gone: list[bulk.Row] = []
    for p in projections:
        for followup_id in p.changed_followups:
            now = p.inbox.followups.get(followup_id)
            key = (p.session_id, lossless.index_key(followup_id))
            stored = followup_id in p.stored_followups
            if now is None:
                if stored:
                    gone.append(key)
            elif stored:
                kept.append((now.seq, now.attempt, now.state, *key))
            else:
                made.append((now.seq, now.attempt, now.state, *key, lossless.dumps(followup_id)))
    bulk.insert("schedules_followup", _FOLLOWUP | _KEY | {"followup_id": TEXT}, made)
    bulk.update("schedules_followup", _FOLLOWUP, _KEY, kept)
    bulk.delete("schedules_followup", _KEY, gone)


def _write_states(projections: Sequence[Projection], leased: set[str]) -> None:
    bulk.insert(
        "schedules_sessionstate",
        _SESSION | _BLANK,
        [(p.session_id, p.folded_through, 0, 0, 0, 0, 0) for p in projections if not p.stored],
    )
    armed: list[bulk.Row] = []
    quiet: list[bulk.Row] = []
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
    for values, armed_at in ((armed, _EARLIEST), (quiet, "NULL")):
        bulk.update(
            "schedules_sessionstate",
            _STATE,
            _SESSION,
            values,
            also=f"next_due = {_EARLIEST}, armed_at = {armed_at}",
        )
