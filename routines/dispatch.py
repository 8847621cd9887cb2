"""One attempt of a run: lower its target, call the tool within its limits, and record what came of it.

The scheduler and triggers both come through here. What the vault gave is taken out of everything that is kept.
"""

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, connection

from routines import events, identities, jobs, lowering, notices, runs
from routines.domain import errors, eventnames, manifest, placeholders, retry
from routines.tools import registry
from routines.tools.registry import Call, Result
from schedules import clock, transaction
from schedules.domain import instants
from schedules.projection import rows
from schedules.sessions import log
from schedules.sessions.errors import PersistenceUncertain
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)

#: How long a tool that was told to end may still take, in seconds, before its answer no longer counts.
GRACE_SECONDS = 5

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


def work(run: runs.Claimed, cancelled: threading.Event) -> Outcome:
    """Make an attempt of a claimed run and record what came of it. Never raises.

    ``cancelled`` is set from outside when the process stops: the tool is told to end, and the attempt is given back.
    """
    try:
        outcome = _attempt(run, cancelled)
    except Exception:
        logger.exception("%s: run %s broke", run.source, run.id)
        outcome = Outcome(result=Result(ok=False, summary="The attempt broke; the host's log says how."))
    try:
        record(run, outcome, clock.sample())
    except PersistenceUncertain:
        logger.warning("%s: run %s ended, and the database did not take it; its lease will end", run.source, run.id)
    except Exception:
        logger.exception("%s: the end of run %s could not be recorded; its lease will end", run.source, run.id)
    return outcome


def kept(run: runs.Claimed) -> manifest.Routine | None:
    """The routine that a run keeps; None for one that only an older version took."""
    try:
        return jobs.routine_of(run.firing.document)
    except errors.Invalid:
        return None


def lower(run: runs.Claimed, routine: manifest.Routine, now: int) -> lowering.Lowered:
    """The tool and inputs of a run's target, filled in. Raises `lowering.Unlowerable` and `placeholders.Unfilled`."""
    event = run.firing.event
    context = placeholders.Context(
        now=now,
        routine_id=run.routine_id,
        run_id=run.id,
        scheduled_for=run.scheduled_for,
        event=event if isinstance(event, Mapping) else None,
        vault=settings.WAKEFUL_VAULT.get,
    )
    return lowering.lower(routine, run.firing.workspace, context)


def granted(run: runs.Claimed, routine: manifest.Routine) -> tuple[identities.Grant | None, User | None]:
    """Who fires a run: the user who made the cron job, or the routine's identity."""
    if run.firing.owner is not None:
        user = User.objects.filter(pk=run.firing.owner, is_active=True).first()
        return identities.Grant(name=run.source, username=None, tools=None, notify=None, secret=None), user
    grant = identities.grant(routine.identity)
    return grant, None if grant is None else identities.user_of(grant)


def _attempt(run: runs.Claimed, cancelled: threading.Event) -> Outcome:
    now = clock.sample()
    routine = kept(run)
    if routine is None:
        return Outcome(result=Result(ok=False, summary="Its manifest is not valid any more; mend the file."))
    try:
        lowered = lower(run, routine, now)
    except (lowering.Unlowerable, placeholders.Unfilled) as error:
        return Outcome(result=Result(ok=False, summary=str(error)))
    tool = registry.find(lowered.tool)
    if tool is None:
        return Outcome(result=Result(ok=False, summary=f"This host has no tool {lowered.tool}."))
    grant, user = granted(run, routine)
    words = identities.refusal(grant, user, tool.name) or tool.problem(lowered.inputs)
    if words is not None or grant is None or user is None:
        return Outcome(result=Result(ok=False, summary=words or ""), secrets=lowered.secrets)
    call = _call(run, grant, user.pk, now, tool.seconds)
    # No connection is held while the tool works: it may take hours.
    connection.close()
    return _limited(run, tool, call, lowered, cancelled)


def _call(run: runs.Claimed, grant: identities.Grant, user_id: int, now: int, seconds: float) -> Call:
    """What the tool is told; the tools that it calls in turn are told the same."""

    def invoke(
        name: str,
        inputs: Mapping[str, Json],
        *,
        seconds: float | None = None,
        cancelled: threading.Event | None = None,
    ) -> Result:
        called = registry.find(name)
        if called is None:
            return Result(ok=False, summary=f"This host has no tool {name}.")
        if not grant.allows(name):
            return Result(ok=False, summary=f"The identity {grant.name} may not use {name}.")
        if (words := called.problem(dict(inputs))) is not None:
            return Result(ok=False, summary=words)
        most = call.seconds if seconds is None else seconds
        told = replace(
            call, now=clock.sample(), seconds=min(most, called.seconds), cancelled=cancelled or call.cancelled
        )
        return _run(called, told, dict(inputs))

    call = Call(
        now=now,
        seconds=seconds,
        user_id=user_id,
        origin=run.source,
        run_id=run.id,
        depth=run.depth,
        workspace=run.firing.workspace,
        invoke=invoke,
        allowed=grant.allows,
    )
    return call


def _run(tool: registry.Tool, call: Call, inputs: dict[str, Any]) -> Result:
    try:
        return tool.run(call, inputs)
    except PersistenceUncertain:
        return Result(ok=False, summary="The database did not answer.")
    except Exception:
        logger.exception("%s: the tool %s broke in run %s", call.origin, tool.name, call.run_id)
        return Result(ok=False, summary=f"The tool {tool.name} broke; the host's log says how.")


def _limited(
    run: runs.Claimed, tool: registry.Tool, call: Call, lowered: lowering.Lowered, cancelled: threading.Event
) -> Outcome:
    """Call the tool in a thread of its own, renewing the run's lease, until it answers or its time is over."""
    answers: list[Result] = []
    ended = threading.Event()

    def target() -> None:
        try:
            inputs = lowered.inputs
            answers.append(_run(tool, call, dict(inputs)))
        finally:
            connection.close()
            ended.set()

    # A daemon: a tool that hangs for good must not hold up the end of the process as well.
    threading.Thread(target=target, name=f"run {run.id}", daemon=True).start()
    stopped = lost = False
    left = tool.seconds
    while not ended.wait(min(left, _STEP_SECONDS)) and left > 0:
        left -= _STEP_SECONDS
        if cancelled.is_set():
            stopped = True
            break
        if not _still_held(run, tool.seconds - left):
            lost = True
            break
    call.cancelled.set()
    ended.wait(GRACE_SECONDS)
    if answers and not (stopped or lost):
        return Outcome(result=answers[0], secrets=lowered.secrets)
    if stopped or lost:
        summary = "The process that ran it stopped."
        return Outcome(result=Result(ok=False, summary=summary), interrupted=True, secrets=lowered.secrets)
    summary = f"{tool.name} took longer than {tool.seconds:g} s."
    return Outcome(result=Result(ok=False, summary=summary, failure="timeout"), secrets=lowered.secrets)


_STEP_SECONDS = 0.5


def _still_held(run: runs.Claimed, worked: float) -> bool:
    """Renew the lease if it is time; whether the run is still this worker's, as far as is known."""
    if worked % runs.RENEW_SECONDS >= _STEP_SECONDS:
        return True
    try:
        with transaction.barrier():
            return runs.renew(run, clock.sample())
    except PersistenceUncertain:
        return True
    finally:
        connection.close()


def record(run: runs.Claimed, outcome: Outcome, now: int) -> bool:
    """Write what came of an attempt, and all that follows from it; False where the run was no longer this worker's.

    Raises PersistenceUncertain.
    """
    routine = kept(run)
    result = outcome.result
    summary = _clean(result.summary, outcome)
    again = None
    if routine is not None and not result.ok and not result.skipped:
        again = retry.next_attempt(routine.retry, attempt=run.attempt, failure=result.failure, ended_at=now)
    with transaction.barrier():
        if again is not None:
            return runs.retry(run, due_at=again, summary=f"Attempt {run.attempt} failed: {summary}", error=summary)
        status: runs.Ended = "interrupted" if outcome.interrupted else "failed"
        if result.skipped:
            status = "skipped"
        elif result.ok:
            status = "completed"
        good = status in ("completed", "skipped")
        if not runs.end(run, status, now, summary=summary, error=None if good else summary):
            logger.warning("%s: run %s was lost to another before it ended", run.source, run.id)
            return False
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
    if routine is not None and not good:
        _notify(run, routine, status, summary, now)
    return True


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


def _notify(run: runs.Claimed, routine: manifest.Routine, status: str, summary: str, now: int) -> None:
    for identity in routine.on_failure.notify:
        notice = notices.Notice(
            routine_id=run.routine_id,
            run_id=run.id,
            status=status,
            summary=summary,
            error=summary,
            scheduled_for=run.scheduled_for,
        )
        if (words := notices.send(identity, notice, now)) is not None:
            logger.warning("%s: nobody was told of the failure of run %s: %s", run.source, run.id, words)


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


def _clean(text: str, outcome: Outcome) -> str:
    """A summary of one line without secrets and without what no column can keep."""
    redacted = str(placeholders.redact(text, outcome.secrets))
    plain = redacted.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return " ".join(plain.split())[: runs.LONGEST_SUMMARY]
