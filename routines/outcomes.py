"""What came of a run's attempt: recorded under the run's fence, and all that follows from it.

What the vault gave is taken out of everything that is kept or told.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from django.db import IntegrityError

from routines import events, jobs, notices, runs
from routines.domain import errors, eventnames, manifest, placeholders, retry
from routines.tools.registry import Result
from schedules import transaction
from schedules.domain import instants
from schedules.projection import rows
from schedules.sessions import log
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)

#: What a run is after an attempt; None where it was no longer this worker's, and nothing was written.
Recorded: TypeAlias = "runs.Ended | Literal['retrying'] | None"

_STAGES = {
    "routine-triggered": "begun",
    "routine-completed": "completed",
    "routine-failed": "failed",
}
_SUFFIXES = {
    "triggered": "begun",
    "started": "begun",
    "completed": "completed",
    "succeeded": "completed",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of an attempt.

    result: what the tool answered, or what stood in its way.
    interrupted: the process ended it, not the tool.
    secrets: what the vault gave.
    """

    result: Result
    interrupted: bool = False
    secrets: frozenset[str] = field(default_factory=frozenset)


def claim(run_id: str, worker: str, now: int) -> runs.Claimed | None:
    """Take a run for its next attempt; None where another was quicker. Raises PersistenceUncertain."""
    try:
        with transaction.barrier():
            claimed = runs.claim(run_id, worker, now)
            if claimed is not None and claimed.attempt == 1 and (routine := kept(claimed)) is not None:
                _fire_events(claimed, routine, "begun", now, {})
    except IntegrityError:
        # Another run of its job was claimed in this very moment: it is this one's turn later.
        return None
    return claimed


def record(run: runs.Claimed, outcome: Outcome, now: int) -> Recorded:
    """Write what came of an attempt: the run's end or its retry, events, a work item, the job's health.

    Raises PersistenceUncertain.
    """
    routine = kept(run)
    result = outcome.result
    summary = clean(result.summary, outcome.secrets)
    good = result.ok or result.skipped
    again = None
    if routine is not None and not good:
        again = retry.next_attempt(routine.retry, attempt=run.attempt, failure=result.failure, ended_at=now)
    with transaction.barrier():
        if again is not None:
            words = f"Attempt {run.attempt} failed: {summary}"
            return "retrying" if runs.retry(run, due_at=again, summary=words, error=summary) else None
        status = _status(outcome)
        if not runs.end(run, status, now, summary=summary, error=None if good else summary):
            return None
        if routine is not None:
            if status == "completed":
                _fire_events(run, routine, "completed", now, {"status": status, "summary": summary})
            elif not good:
                _route_failure(run, routine, status, summary, now)
            runs.prune(run.routine_id, keep=routine.history.retain_runs, keep_failed=routine.history.retain_failed)
        if run.alone and status == "completed":
            jobs.ended_well(run.source)
        elif run.alone and not good and jobs.ended_badly(run.source, now, summary):
            logger.warning("%s paused itself: too many runs in a row failed", run.source)
    return status


def tell(run: runs.Claimed, outcome: Outcome, status: Recorded, now: int) -> None:
    """Tell those whom the routine names that its run failed for good. It may take seconds for each; never raises."""
    routine = kept(run)
    if routine is None or status not in ("failed", "interrupted"):
        return
    notice = notices.Notice(
        routine_id=run.routine_id,
        run_id=run.id,
        status=status,
        summary=clean(outcome.result.summary, outcome.secrets),
        error=None,
        scheduled_for=run.scheduled_for,
    )
    for identity in routine.on_failure.notify:
        if (words := notices.send(identity, notice, now)) is not None:
            logger.warning("%s: nobody was told of the failure of run %s: %s", run.source, run.id, words)


def kept(run: runs.Claimed) -> manifest.Routine | None:
    """The routine that a run keeps; None for one that only an older version took."""
    try:
        return jobs.routine_of(run.firing.document)
    except errors.Invalid:
        return None


def clean(text: str, secrets: frozenset[str]) -> str:
    """A text of one line without secrets and without what no column can keep."""
    redacted = str(placeholders.redact(text, secrets))
    plain = redacted.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return " ".join(plain.split())[: runs.LONGEST_SUMMARY]


def _status(outcome: Outcome) -> runs.Ended:
    if outcome.result.skipped:
        return "skipped"
    if outcome.result.ok:
        return "completed"
    return "interrupted" if outcome.interrupted else "failed"


def _route_failure(run: runs.Claimed, routine: manifest.Routine, status: str, summary: str, now: int) -> None:
    told: dict[str, Json] = {"status": status, "summary": summary}
    _fire_events(run, routine, "failed", now, told)
    if routine.on_failure.fire_event is not None:
        _emit(run, routine.on_failure.fire_event, now, told)
    if routine.on_failure.create_work_item:
        rows.execute(
            "INSERT INTO routines_workitem (id, routine_id, run_id, title, detail, opened_at)"
            " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (run_id) DO NOTHING",
            [log.new_id(), run.routine_id, run.id, f"{run.routine_id} {status}", summary, now],
        )


def _fire_events(run: runs.Claimed, routine: manifest.Routine, stage: str, now: int, more: Mapping[str, Json]) -> None:
    for name in routine.fires_events:
        if _stage(name) == stage:
            _emit(run, name, now, more)


def _stage(name: str) -> str:
    """At which stage a routine fires an event of its own: by its name's end, else on completion."""
    if name in _STAGES:
        return _STAGES[name]
    return next((stage for suffix, stage in _SUFFIXES.items() if name.endswith(suffix)), "completed")


def _emit(run: runs.Claimed, name: str, now: int, more: Mapping[str, Json]) -> None:
    payload: dict[str, Json] = {
        "routineId": run.routine_id,
        "runId": run.id,
        "trigger": run.trigger,
        "scheduledFor": instants.render(run.scheduled_for),
        **more,
    }
    events.emit(eventnames.canonical(name), payload, now, origin=run.source, depth=run.depth)
