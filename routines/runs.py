"""Runs as rows: written once for a slot, claimed for each attempt, ended by whoever holds them.

Whatever writes here runs inside the caller's transaction. All instants are epoch milliseconds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import connection

from schedules.domain import instants
from schedules.projection import rows
from schedules.sessions import log, lossless
from schedules.sessions.lossless import Json

Trigger = Literal["schedule", "manual", "event", "catchup", "backfill"]
Ended = Literal["completed", "failed", "skipped", "interrupted"]

#: How long a worker holds a run unless it renews; and how often it does.
LEASE_MS = 30_000
RENEW_SECONDS = 10

LONGEST_SUMMARY = 500
LONGEST_ERROR = 2_000

_TABLE = "routines_run"
_SHOWN = (
    "id, routine_id, trigger, scheduled_for, started_at, ended_at, attempt, status, summary, error, fired_by, due_at"
)


_HELD = "id, source, routine_id, trigger, scheduled_for, attempt, started_at, depth, lane, document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """What a run fires, kept with it until it has ended: an edit of the routine does not change a run under way.

    document: JSON text of the manifest.
    workspace: the routine's own workspace; None where it has none.
    event: the payload that fired it; None where no event did.
    owner: the user who made a cron job; None for a routine, whose identity fires it.
    """

    document: str
    workspace: str | None = None
    event: Json = None
    owner: int | None = None

    def dumps(self) -> str:
        """As it is stored."""
        return lossless.dumps(
            {"document": self.document, "workspace": self.workspace, "event": self.event, "owner": self.owner}
        )

    @classmethod
    def loads(cls, text: str) -> "Firing":
        """From what is stored."""
        return cls(**lossless.loads_trusted(text))  # type: ignore[arg-type]  # written by dumps alone


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A run to be written.

    source: `routine:<id>` or `cron:<job id>`.
    routine_id: the routine's id, or the cron job's.
    trigger: what fired it.
    scheduled_for: its slot, or the instant of its cause.
    slot: the same where no second run of it may ever be; None otherwise.
    due_at: when its first attempt may begin; None for one that ends at once.
    firing: what it fires.
    alone: whether it waits for other scheduled runs of its source; a person's trigger does not.
    depth: how many routines stand between it and its first cause, itself included.
    fired_by: the user who asked for it.
    skipped: why it is recorded without being fired; None where it is fired.
    id: its id.
    """

    source: str
    routine_id: str
    trigger: Trigger
    scheduled_for: int
    slot: int | None = None
    due_at: int | None = None
    firing: str | None = None
    alone: bool = True
    depth: int = 1
    fired_by: str | None = None
    skipped: str | None = None
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A run that this worker holds, for one attempt.

    attempt: which one, from 1. It fences: what an earlier attempt says later no longer counts.
    worker: the holder's id.
    """

    id: str
    source: str
    routine_id: str
    trigger: Trigger
    scheduled_for: int
    attempt: int
    started_at: int
    depth: int
    alone: bool
    worker: str
    firing: Firing


def insert(made: Iterable[New], now: int) -> int:
    """Write runs, each with its id or a new one; how many there were not yet. A slot that has its run is left alone."""
    written = 0
    for run in made:
        skipped = run.skipped is not None
        written += rows.execute(
            f"INSERT INTO {_TABLE} (id, source, routine_id, trigger, slot, scheduled_for, status, attempt, due_at,"
            " lane, depth, fired_by, document, ended_at, summary)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, 0, %s, %s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (source, slot) WHERE slot IS NOT NULL DO NOTHING",
            [
                run.id or log.new_id(),
                run.source,
                run.routine_id,
                run.trigger,
                run.slot,
                run.scheduled_for,
                "skipped" if skipped else "running",
                None if skipped else run.due_at,
                run.source if run.alone else None,
                run.depth,
                run.fired_by,
                None if skipped else run.firing,
                now if skipped else None,
                None if run.skipped is None else run.skipped[:LONGEST_SUMMARY],
            ],
        )
    return written


def open_sources(sources: Sequence[str]) -> set[str]:
    """Those of which a scheduled run is under way, waits for its turn or for a retry.

    What a catch-up or a backfill has queued but not begun does not count: it is no previous run.
    """
    if not sources:
        return set()
    found = rows.fetch(
        f"SELECT DISTINCT source FROM {_TABLE} WHERE status = 'running' AND source IN ({log.marks(sources)})"
        " AND lane IS NOT NULL AND (attempt > 0 OR trigger NOT IN ('catchup', 'backfill'))",
        sources,
    )
    return {row[0] for row in found}


_FREE = (
    f"NOT EXISTS (SELECT 1 FROM {_TABLE} o WHERE o.lane = {_TABLE}.lane AND o.lane IS NOT NULL"
    " AND o.worker IS NOT NULL)"
)


def waiting(now: int, limit: int) -> list[str]:
    """The ids of runs whose attempt may begin, longest due first."""
    found = rows.fetch(
        f"SELECT id FROM {_TABLE} WHERE due_at <= %s AND {_FREE} ORDER BY due_at, id LIMIT %s", [now, limit]
    )
    return [row[0] for row in found]


def claim(run_id: str, worker: str, now: int) -> Claimed | None:
    """Take a run for its next attempt; None where another was quicker.

    Raises IntegrityError where another run of its source was claimed in the same moment: that is as good as None, but
    the transaction is lost.
    """
    if not rows.execute(
        f"UPDATE {_TABLE} SET worker = %s, lease_until = %s, due_at = NULL, attempt = attempt + 1,"
        f" started_at = COALESCE(started_at, %s) WHERE id = %s AND due_at <= %s AND {_FREE}",
        [worker, now + LEASE_MS, now, run_id, now],
    ):
        return None
    row = rows.fetch(f"SELECT {_HELD} FROM {_TABLE} WHERE id = %s", [run_id])[0]
    return _claimed(row, worker)


def _claimed(row: Sequence[Any], worker: str) -> Claimed:
    return Claimed(
        id=row[0],
        source=row[1],
        routine_id=row[2],
        trigger=row[3],
        scheduled_for=row[4],
        attempt=row[5],
        started_at=row[6],
        depth=row[7],
        alone=row[8] is not None,
        firing=Firing.loads(row[9]),
        worker=worker,
    )


def renew(run: Claimed, now: int) -> bool:
    """Hold on to a run; False where it is lost."""
    return bool(
        rows.execute(
            f"UPDATE {_TABLE} SET lease_until = %s WHERE id = %s AND worker = %s AND attempt = %s",
            [now + LEASE_MS, run.id, run.worker, run.attempt],
        )
    )


def retry(run: Claimed, *, due_at: int, summary: str, error: str) -> bool:
    """Give a run back for another attempt from ``due_at`` on; False where it is lost."""
    return _release(run, "running", None, due_at, summary, error)


def end(run: Claimed, status: Ended, now: int, *, summary: str, error: str | None) -> bool:
    """End a run for good; False where it is lost, and nothing was written."""
    return _release(run, status, now, None, summary, error)


def _release(
    run: Claimed, status: str, ended_at: int | None, due_at: int | None, summary: str, error: str | None
) -> bool:
    return bool(
        rows.execute(
            f"UPDATE {_TABLE} SET status = %s, ended_at = %s, due_at = %s, summary = %s, error = %s,"
            " worker = NULL, lease_until = NULL, document = CASE WHEN CAST(%s AS bigint) IS NULL THEN document END"
            " WHERE id = %s AND worker = %s AND attempt = %s",
            [
                status,
                ended_at,
                due_at,
                summary[:LONGEST_SUMMARY],
                None if error is None else error[:LONGEST_ERROR],
                ended_at,
                run.id,
                run.worker,
                run.attempt,
            ],
        )
    )


def lapsed(now: int, limit: int) -> list[Claimed]:
    """The runs whose worker has gone silent, as that worker holds them: whoever ends one first has it."""
    found = rows.fetch(
        f"SELECT {_HELD}, worker FROM {_TABLE} WHERE lease_until <= %s ORDER BY lease_until LIMIT %s", [now, limit]
    )
    return [_claimed(row, row[-1]) for row in found]


def shorten(now: int) -> None:
    """Bound the leases after the clock was set back: none lasts longer than one lease time from now."""
    rows.execute(f"UPDATE {_TABLE} SET lease_until = %s WHERE lease_until > %s", [now + LEASE_MS, now + LEASE_MS])


def prune(routine_id: str, *, keep: int, keep_failed: int) -> None:
    """Forget the ended runs that are neither among the newest of all nor among the newest failed ones."""
    kept = f"SELECT id FROM (SELECT id FROM {_TABLE} WHERE routine_id = %s {{}} ORDER BY id DESC LIMIT %s) AS newest"
    rows.execute(
        f"DELETE FROM {_TABLE} WHERE routine_id = %s AND status <> 'running'"
        f" AND id NOT IN ({kept.format('')}) AND id NOT IN ({kept.format(_FAILED)})",
        [routine_id, routine_id, keep, routine_id, keep_failed],
    )


_FAILED = "AND status IN ('failed', 'interrupted')"


def find(run_id: str) -> dict[str, Json] | None:
    """A run as the API shows it."""
    found = rows.fetch(f"SELECT {_SHOWN} FROM {_TABLE} WHERE id = %s", [run_id])
    return to_json(found[0]) if found else None


def history(routine_id: str, *, before: str | None, limit: int) -> list[dict[str, Json]]:
    """A page of a routine's runs, newest first: those made before the run of the id ``before``."""
    below = "" if before is None else " AND id < %s"
    found = rows.fetch(
        f"SELECT {_SHOWN} FROM {_TABLE} WHERE routine_id = %s{below} ORDER BY id DESC LIMIT %s",
        [routine_id, *([] if before is None else [before]), limit],
    )
    return [to_json(row) for row in found]


def to_json(row: Sequence[Any]) -> dict[str, Json]:
    """A row of the shown columns as the API shows it."""
    started_at, ended_at, due_at = row[4], row[5], row[11]
    shown: dict[str, Json] = {
        "runId": row[0],
        "routineId": row[1],
        "trigger": row[2],
        "scheduledFor": instants.render(row[3]),
        "startedAt": None if started_at is None else instants.render(started_at),
        "endedAt": None if ended_at is None else instants.render(ended_at),
        "attempt": row[6],
        "status": row[7],
        "durationMs": None if started_at is None or ended_at is None else max(0, ended_at - started_at),
        "summary": row[8],
        "error": row[9],
    }
    if row[10] is not None:
        shown["firedBy"] = row[10]
    if due_at is not None:
        shown["nextAttemptAt"] = instants.render(due_at)
    return shown


def under_way(run_id: str) -> bool:
    """Whether a run's present attempt has not ended yet; one that waits for its retry has ended an attempt."""
    found = rows.fetch(f"SELECT status, worker, attempt FROM {_TABLE} WHERE id = %s", [run_id])
    return bool(found) and found[0][0] == "running" and (found[0][1] is not None or found[0][2] == 0)


def lock(*, skip_locked: bool = False) -> str:
    """What a select ends with so that its rows are this transaction's; on SQLite they are already."""
    if connection.vendor != "postgresql":
        return ""
    return " FOR NO KEY UPDATE SKIP LOCKED" if skip_locked else " FOR NO KEY UPDATE"
