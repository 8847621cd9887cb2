"""Routines and their jobs as operators see them."""

from typing import Any

from routines import runs
from routines.domain import timing
from routines.jobs import of_routine
from schedules.domain import instants
from schedules.projection import rows
from schedules.sessions import log, lossless
from schedules.sessions.errors import Refusal
from schedules.sessions.lossless import Json

_ROUTINE = "SELECT id, state, code, reason, path, document FROM routines_routine"
_JOB = (
    "SELECT routine_id, kind, next_slot, fire_at, last_slot, failures, paused_at, paused_by, paused_reason"
    " FROM routines_job"
)

_RECENT = 10


def page(*, after: str = "", limit: int) -> list[dict[str, Json]]:
    """A page of the routines that the registrar knows, by id, with the state of their jobs."""
    found = rows.fetch(f"{_ROUTINE} WHERE id > %s ORDER BY id LIMIT %s", [after, limit])
    return _shown(found)


def one(routine_id: str) -> dict[str, Json]:
    """A routine with its manifest and its newest runs. Raises Refusal `not_found`."""
    found = rows.fetch(f"{_ROUTINE} WHERE id = %s", [routine_id])
    if not found:
        raise Refusal("not_found", "The registrar knows no routine of that id; reconcile, or look at its errors.")
    recent: Json = [*runs.history(routine_id, before=None, limit=_RECENT)]
    return {**_shown(found)[0], "manifest": lossless.loads_trusted(found[0][5]), "runs": recent}


def following(routine_id: str, after: int, count: int) -> list[int]:
    """The next slots of a routine's job later than an instant, before jitter. Raises Refusal `not_found`."""
    job = of_routine(routine_id)
    if job is None:
        raise Refusal("not_found", "No routine of that id holds a job; reconcile first.")
    return timing.slots(job.routine.schedule, job.anchor).between(max(after, job.cursor), instants.MAX, count)


def _shown(found: list[Any]) -> list[dict[str, Json]]:
    ids = [row[0] for row in found]
    of = {row[0]: row for row in rows.fetch(f"{_JOB} WHERE routine_id IN ({log.marks(ids)})", ids)} if ids else {}
    return [
        {"id": row[0], "state": row[1], "code": row[2], "reason": row[3], "file": row[4], **_job(of.get(row[0]))}
        for row in found
    ]


def _job(row: Any) -> dict[str, Json]:
    if row is None:
        return {}
    return {
        "kind": row[1],
        "nextSlot": _instant(row[2]),
        "nextFiring": _instant(row[3]),
        "lastSlot": _instant(row[4]),
        "failures": row[5],
        "pausedAt": _instant(row[6]),
        "pausedBy": row[7],
        "pausedReason": row[8],
    }


def _instant(value: int | None) -> str | None:
    return None if value is None else instants.render(value)
