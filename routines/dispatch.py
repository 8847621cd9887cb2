"""One attempt of a run: lower its target, call the tool within its limits, and have what came of it recorded.

The scheduler and triggers both come through here.
"""

import logging
import threading
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from routines import identities, lowering, outcomes, runs
from routines.domain import manifest, placeholders
from routines.outcomes import Outcome
from routines.tools import registry
from routines.tools.registry import Call, Result
from schedules import clock, transaction
from schedules.sessions.errors import PersistenceUncertain
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)

#: How long a tool that was told to end may still take, in seconds, before its answer no longer counts.
GRACE_SECONDS = 5
_STEP_SECONDS = 0.5


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
        now = clock.sample()
        status = outcomes.record(run, outcome, now)
        if status is None:
            logger.warning("%s: run %s was lost to another before it ended", run.source, run.id)
        # Whoever is told may take seconds to answer.
        connection.close()
        outcomes.tell(run, outcome, status, now)
    except PersistenceUncertain:
        logger.warning("%s: run %s ended, and the database did not take it; its lease will end", run.source, run.id)
    except Exception:
        logger.exception("%s: the end of run %s could not be recorded; its lease will end", run.source, run.id)
    return outcome


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
    routine = outcomes.kept(run)
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
    call = _call(run, grant, user.pk, now, tool.seconds, lowered.secrets)
    # No connection is held while the tool works: it may take hours.
    connection.close()
    return _limited(run, tool, call, lowered, cancelled)


def _call(
    run: runs.Claimed, grant: identities.Grant, user_id: int, now: int, seconds: float, secrets: frozenset[str]
) -> Call:
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
        return _run(called, told, dict(inputs), secrets)

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


def _run(tool: registry.Tool, call: Call, inputs: dict[str, Any], secrets: frozenset[str]) -> Result:
    try:
        return tool.run(call, inputs)
    except PersistenceUncertain:
        return Result(ok=False, summary="The database did not answer.")
    except Exception:  # noqa: BLE001  whatever a tool raises is logged, and fails its call alone
        # The trace by hand: an exception's words may hold what the vault gave.
        trace = placeholders.redact(traceback.format_exc(), secrets)
        logger.error("%s: the tool %s broke in run %s\n%s", call.origin, tool.name, call.run_id, trace)
        return Result(ok=False, summary=f"The tool {tool.name} broke; the host's log says how.")


def _limited(
    run: runs.Claimed, tool: registry.Tool, call: Call, lowered: lowering.Lowered, cancelled: threading.Event
) -> Outcome:
    """Call the tool in a thread of its own, renewing the run's lease, until it answers or its time is over."""
    answers: list[Result] = []
    ended = threading.Event()

    def target() -> None:
        try:
            answers.append(_run(tool, call, dict(lowered.inputs), lowered.secrets))
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
    late = not (ended.is_set() or stopped or lost)
    call.cancelled.set()
    ended.wait(GRACE_SECONDS)
    # What was done all the same, once told to end, counts as done: it must not be done again.
    if answers and not lost and (answers[0].ok or not (stopped or late)):
        return Outcome(result=answers[0], secrets=lowered.secrets)
    if stopped or lost:
        summary = "The process that ran it stopped."
        return Outcome(result=Result(ok=False, summary=summary), interrupted=True, secrets=lowered.secrets)
    summary = f"{tool.name} took longer than {tool.seconds:g} s."
    return Outcome(result=Result(ok=False, summary=summary, failure="timeout"), secrets=lowered.secrets)


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
