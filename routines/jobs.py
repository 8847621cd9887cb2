"""Jobs as rows: the slots and events that are due become runs, each in one short transaction."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings

from routines import events, runs
from routines.domain import arming, errors, eventnames, jsonvalues, manifest, parse
from schedules import transaction
from schedules.domain import instants
from schedules.projection import rows
from schedules.sessions import bulk, log, lossless
from schedules.sessions.bulk import NUMBER, TEXT
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)

#: How many jobs or events one transaction takes: on SQLite other writers wait for it.
BATCH = 100

#: When a job whose slots cannot be computed is looked at again.
_BROKEN_MS = 60 * instants.SECOND
_BURST_MS = 60 * instants.SECOND

_OVERLAP = "The previous run had not ended."
_TABLE = "routines_job"
_COLUMNS = "id, source, routine_id, document, workspace, owner_id, once, anchor, cursor, last_slot, fire_at"
_ARMED = {"cursor": NUMBER, "next_slot": NUMBER, "fire_at": NUMBER, "last_slot": NUMBER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it is stored."""

    id: str
    source: str
    routine_id: str
    document: str
    workspace: str | None
    owner: int | None
    once: bool
    anchor: int
    cursor: int
    last_slot: int | None
    fire_at: int | None

    @property
    def routine(self) -> manifest.Routine:
        """What it fires and when."""
        return routine_of(self.document)

    def firing(self, event: Json = None) -> str:
        """What a run of it keeps."""
        return runs.Firing(document=self.document, workspace=self.workspace, event=event, owner=self.owner).dumps()

    def run(self, trigger: runs.Trigger, scheduled_for: int, **more: object) -> runs.New:
        """A run of it. A caught-up, scheduled or backfilled one takes its slot."""
        slot = scheduled_for if trigger in ("schedule", "catchup", "backfill") else None
        return runs.New(
            source=self.source,
            routine_id=self.routine_id,
            trigger=trigger,
            scheduled_for=scheduled_for,
            slot=slot,
            **more,  # type: ignore[arg-type]  # fields of New
        )


@lru_cache(maxsize=4_096)
def routine_of(document: str) -> manifest.Routine:
    """The routine of a stored manifest. Raises `errors.Invalid` for one that an older version took."""
    fields = lossless.loads_trusted(document)
    return parse.define_routine(**fields)  # type: ignore[arg-type]  # an object


def fire(now: int) -> int:
    """Turn the slots of a batch of due jobs into runs, and arm the jobs anew; how many jobs there were.

    Raises PersistenceUncertain.
    """
    with transaction.barrier():
        found = _jobs(
            "fire_at <= %s AND paused_at IS NULL ORDER BY fire_at, id LIMIT %s" + runs.lock(skip_locked=True),
            [now, BATCH],
        )
        _fire(found, now)
    return len(found)


def settle(ids: Sequence[str], now: int) -> None:
    """Turn into runs what some jobs, at most BATCH, owe by ``now``, jitter or not: their schedules are about to change.

    Inside the caller's transaction, which holds their rows.
    """
    _fire(_jobs(f"id IN ({log.marks(ids)}) AND next_slot <= %s AND paused_at IS NULL", [*ids, now]), now)


def _fire(found: Sequence[Job], now: int) -> None:
    busy = runs.open_sources([job.source for job in found])
    made: list[runs.New] = []
    armed: list[bulk.Row] = []
    for job in found:
        try:
            fired, row = _fired(job, max(now, job.fire_at or now), busy=job.source in busy)
        except Exception:
            # One job whose slots cannot be computed must not keep the others from firing.
            logger.exception("%s: its slots cannot be computed; it is tried again in a minute", job.source)
            fired, row = [], (job.cursor, job.last_slot, now + _BROKEN_MS, job.last_slot, job.id)
        made += fired
        armed.append(row)
    runs.insert(made, now)
    bulk.update(_TABLE, _ARMED, {"id": TEXT}, armed)


def _fired(job: Job, now: int, *, busy: bool) -> tuple[list[runs.New], bulk.Row]:
    routine = job.routine
    due = arming.due(routine, job.anchor, job.cursor, now)
    firing = job.firing()
    made: list[runs.New] = []
    if due.dropped and due.last_dropped is not None:
        many = f"{due.dropped:,}" if due.dropped <= arming.COUNTED else f"More than {arming.COUNTED:,}"
        words = f"{many} missed slots up to this one were dropped: nothing ran when they were due."
        logger.warning("%s: %s", job.source, words)
        made.append(job.run("catchup", due.last_dropped, skipped=words))
    made += [
        job.run("catchup", slot, due_at=now + place * arming.STAGGER_MS, firing=firing)
        for place, slot in enumerate(due.catch_up)
    ]
    for slot in due.fire:
        if busy:
            made.append(job.run("schedule", slot, skipped=_OVERLAP))
        else:
            made.append(job.run("schedule", slot, due_at=now, firing=firing))
            busy = True
    last_slot = max((run.scheduled_for for run in made), default=job.last_slot)
    if job.once and due.cursor > job.cursor and made:
        return made, (due.cursor, None, None, last_slot, job.id)
    armed = arming.arm(routine, job.anchor, due.cursor)
    return made, (due.cursor, armed.slot, armed.fire_at, last_slot, job.id)


def hear(now: int) -> int:
    """Fire what waits for a batch of events, and mark these handled; how many there were.

    Raises PersistenceUncertain.
    """
    with transaction.barrier():
        heard = rows.fetch(
            "SELECT id, name, payload, time, depth FROM routines_lifecycleevent WHERE handled_at IS NULL"
            f" ORDER BY id LIMIT %s{runs.lock(skip_locked=True)}",
            [BATCH],
        )
        if not heard:
            return 0
        names = sorted({row[1] for row in heard})
        found = _jobs(
            f"event IN ({log.marks(names)}) AND paused_at IS NULL ORDER BY id"
            # Not skipping: an event must not miss a job because another process just works it.
            + runs.lock(),
            names,
        )
        busy = runs.open_sources([job.source for job in found])
        made: list[runs.New] = []
        for _, name, payload, time, depth in heard:
            for job in found:
                try:
                    made += _heard(job, name, lossless.loads_trusted(payload), time, depth, now, busy)
                except errors.Invalid:
                    # One job that only an older version took must not keep the others from hearing.
                    logger.exception("%s: its manifest is not valid any more; mend the file", job.source)
        runs.insert(made, now)
        bulk.update("routines_lifecycleevent", {"handled_at": NUMBER}, {"id": NUMBER}, [(now, row[0]) for row in heard])
    return len(heard)


def _heard(job: Job, name: str, payload: Json, time: int, depth: int, now: int, busy: set[str]) -> Sequence[runs.New]:
    schedule = job.routine.schedule
    if not isinstance(schedule, manifest.EventSchedule) or eventnames.canonical(schedule.on) != name:
        return []
    if not events.matches(jsonvalues.thaw_object(schedule.filter), payload):
        return []
    if depth >= events.DEEPEST:
        return [job.run("event", time, depth=depth, skipped=f"A chain of routines ends at depth {events.DEEPEST}.")]
    count = _count_burst(job.id, now)
    if count > settings.WAKEFUL_EVENT_RATE:
        words = (
            f"Events fire it {settings.WAKEFUL_EVENT_RATE} times a minute at most; the rest of the minute is let go."
        )
        # The first one over tells of all the others.
        return [job.run("event", time, skipped=words)] if count == settings.WAKEFUL_EVENT_RATE + 1 else []
    if job.source in busy:
        return [job.run("event", time, depth=depth + 1, skipped=_OVERLAP)]
    busy.add(job.source)
    return [job.run("event", time, due_at=now, depth=depth + 1, firing=job.firing(payload))]


def _count_burst(job_id: str, now: int) -> int:
    """Count one more event of a job in its present minute; the job is locked."""
    fresh = "burst_at > %s AND burst_at <= %s"
    rows.execute(
        f"UPDATE {_TABLE} SET burst = CASE WHEN {fresh} THEN burst + 1 ELSE 1 END,"
        f" burst_at = CASE WHEN {fresh} THEN burst_at ELSE %s END WHERE id = %s",
        [now - _BURST_MS, now, now - _BURST_MS, now, now, job_id],
    )
    return int(rows.fetch(f"SELECT burst FROM {_TABLE} WHERE id = %s", [job_id])[0][0])


def rearm(after: str, now: int) -> str | None:
    """Compute the next times of a batch of jobs anew, those beyond the id ``after``; the last id, None at the end.

    The rules of zones may be newer than what was computed. What is due already stays so. Raises PersistenceUncertain.
    """
    with transaction.barrier():
        found = _jobs(
            "id > %s AND fire_at > %s ORDER BY id LIMIT %s" + runs.lock(skip_locked=True), [after, now, BATCH]
        )
        armed: list[bulk.Row] = []
        for job in found:
            try:
                again = arming.arm(job.routine, job.anchor, job.cursor)
            except Exception:
                logger.exception("%s: its next time cannot be computed", job.source)
            else:
                armed.append((job.cursor, again.slot, again.fire_at, job.last_slot, job.id))
        bulk.update(_TABLE, _ARMED, {"id": TEXT}, armed)
    return found[-1].id if found else None


def of_routine(routine_id: str) -> Job | None:
    """The job of a routine, or a cron job by its id."""
    found = _jobs("routine_id = %s", [routine_id])
    return found[0] if found else None


def pause(routine_id: str, now: int, *, by: str | None, reason: str) -> bool:
    """Let a job rest until it is resumed; False where there is none or it rests already."""
    return bool(
        rows.execute(
            f"UPDATE {_TABLE} SET paused_at = %s, paused_by = %s, paused_reason = %s"
            " WHERE routine_id = %s AND paused_at IS NULL",
            [now, by, reason, routine_id],
        )
    )


def resume(routine_id: str, now: int) -> bool:
    """Have a job fire again, from its next slot after now on; False where there is none that rests."""
    found = _jobs("routine_id = %s AND paused_at IS NOT NULL" + runs.lock(), [routine_id])
    if not found:
        return False
    (job,) = found
    cursor = max(job.cursor, now)
    spent = job.once and job.last_slot is not None
    armed = arming.Armed(slot=None, fire_at=None) if spent else arming.arm(job.routine, job.anchor, cursor)
    rows.execute(
        f"UPDATE {_TABLE} SET paused_at = NULL, paused_by = NULL, paused_reason = NULL, failures = 0, cursor = %s,"
        " next_slot = %s, fire_at = %s WHERE id = %s",
        [cursor, armed.slot, armed.fire_at, job.id],
    )
    return True


def ended_well(source: str) -> None:
    """Forget the failures of a job in a row."""
    rows.execute(f"UPDATE {_TABLE} SET failures = 0 WHERE source = %s AND failures > 0", [source])


def ended_badly(source: str, now: int, error: str) -> bool:
    """Count a failure of a job; whether it paused the job."""
    rows.execute(f"UPDATE {_TABLE} SET failures = failures + 1 WHERE source = %s", [source])
    reason = (
        f"{settings.WAKEFUL_PAUSE_AFTER} runs in a row failed, the last one so: {error} "
        "Mend the cause, then resume the routine."
    )
    return bool(
        rows.execute(
            f"UPDATE {_TABLE} SET paused_at = %s, paused_by = NULL, paused_reason = %s"
            " WHERE source = %s AND failures >= %s AND paused_at IS NULL",
            [now, reason[: runs.LONGEST_ERROR], source, settings.WAKEFUL_PAUSE_AFTER],
        )
    )


def _jobs(condition: str, values: Sequence[object]) -> list[Job]:
    found = rows.fetch(f"SELECT {_COLUMNS} FROM {_TABLE} WHERE {condition}", values)
    return [
        Job(
            id=row[0],
            source=row[1],
            routine_id=row[2],
            document=row[3],
            workspace=row[4],
            owner=row[5],
            once=bool(row[6]),
            anchor=row[7],
            cursor=row[8],
            last_slot=row[9],
            fire_at=row[10],
        )
        for row in found
    ]
