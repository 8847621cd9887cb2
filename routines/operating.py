"""What operators do to the job of a routine: let it rest, have it go on, make up for old slots. All is recorded."""

from routines import audit, jobs, runs
from routines.domain import arming, timing
from schedules import clock, transaction
from schedules.sessions.errors import Refusal

#: How many slots one backfill takes.
MOST_SLOTS = 1_000


def pause(routine_id: str, *, by: str, reason: str) -> None:
    """Let a job rest until it is resumed. Raises Refusal: `not_found`; `invalid_request` where it rests already."""
    with transaction.barrier():
        now = clock.sample()
        job = _job(routine_id)
        if not jobs.pause(routine_id, now, by=by, reason=reason):
            raise Refusal("invalid_request", "The routine is paused already.")
        audit.record(by, "pause", job.source, now, reason)


def resume(routine_id: str, *, by: str) -> None:
    """Have a job fire again, from its next slot on. Raises Refusal: `not_found`; `invalid_request` if none rests."""
    with transaction.barrier():
        now = clock.sample()
        job = _job(routine_id)
        if not jobs.resume(routine_id, now):
            raise Refusal("invalid_request", "The routine is not paused.")
        audit.record(by, "resume", job.source, now)


def backfill(routine_id: str, start: int, end: int, *, by: str) -> int:
    """Queue a run for each slot from ``start`` to ``end`` that never had one, oldest first; how many there were.

    Raises Refusal `not_found` where the routine holds no job, and `invalid_request` for a span that is none, lies
    ahead, or holds more than MOST_SLOTS slots.
    """
    with transaction.barrier():
        now = clock.sample()
        job = _job(routine_id)
        if not start <= end <= now:
            raise Refusal("invalid_request", "A backfill takes a span of the past: from, then to, neither after now.")
        slots = timing.slots(job.routine.schedule, job.anchor).between(start - 1, end, MOST_SLOTS + 1)
        if len(slots) > MOST_SLOTS:
            raise Refusal("invalid_request", f"That span holds more than {MOST_SLOTS} slots; take it in parts.")
        firing = job.firing()
        made = [
            job.run("backfill", slot, due_at=now + place * arming.STAGGER_MS, firing=firing, fired_by=by)
            for place, slot in enumerate(slots)
        ]
        queued = runs.insert(made, now)
        audit.record(by, "backfill", job.source, now, f"{queued} slots")
    return queued


def _job(routine_id: str) -> jobs.Job:
    job = jobs.of_routine(routine_id)
    if job is None:
        raise Refusal("not_found", "No routine of that id holds a job; reconcile first.")
    return job
