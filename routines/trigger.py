"""Firing by hand: now, whatever the schedule says and whether or not it is enabled."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.db import connection

from routines import audit, dispatch, jobs, library, lowering, resolve, runs
from routines.domain import errors, manifest, placeholders, reconcile, rendering
from routines.tools import registry
from routines.workers import Pool
from schedules import clock, transaction, workerid
from schedules.projection import rows
from schedules.sessions import log, lossless
from schedules.sessions.errors import Refusal
from schedules.sessions.lossless import Json

#: How long a caller waits for the first attempt, in seconds.
WAIT_SECONDS = 30
_LOOK_SECONDS = 0.25

#: How many callers of one process wait at a time; the others are answered at once that the run goes on.
_WAITING = threading.BoundedSemaphore(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggered:
    """What became of a trigger.

    run_id: the run's id; None for a dry run.
    ok: whether the first attempt did what it was asked; None while it goes on.
    summary: one line for a person.
    call: of a dry run, the tool and inputs that would have been called, without secrets.
    """

    run_id: str | None
    ok: bool | None
    summary: str
    call: dict[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        """As the API answers it."""
        told: dict[str, Json] = {"ok": self.ok is not False, "summary": self.summary}
        return told | ({"runId": self.run_id} if self.call is None else {"call": self.call})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A routine as its file says now."""

    routine: manifest.Routine
    workspace: str | None


def trigger(routine_id: str, *, by: str, dry_run: bool = False, wait: float = WAIT_SECONDS) -> Triggered:
    """Fire a routine, or a cron job by its id, and wait for its first attempt.

    Raises Refusal `not_found`, and `errors.Invalid` where its file is broken or its target cannot be dispatched.
    """
    with transaction.asking():
        now = clock.sample()
        job = jobs.of_routine(routine_id)
    if job is not None and job.owner is not None:
        found = _Found(routine=job.routine, workspace=None)
        source, owner = job.source, job.owner
    else:
        found = _read(routine_id)
        source, owner = f"routine:{routine_id}", None
    _check(found, owner)
    firing = runs.Firing(
        document=lossless.dumps(rendering.to_json(found.routine)), workspace=found.workspace, owner=owner
    )
    run_id = log.new_id()
    if dry_run:
        return _rehearsed(run_id, source, routine_id, found.routine, firing, now)
    made = runs.New(
        id=run_id,
        source=source,
        routine_id=routine_id,
        trigger="manual",
        scheduled_for=now,
        due_at=now,
        firing=firing.dumps(),
        alone=False,
        fired_by=by,
    )
    with transaction.barrier():
        runs.insert([made], now)
        audit.record(by, "trigger", source, now, run_id)
    # Where this process has no room, whichever scheduler has some takes the run.
    _pool().begin(run_id, now)
    return _awaited(run_id, wait)


def stop() -> None:
    """End what this process works for triggers, at its own end."""
    if _pool.cache_info().currsize:
        _pool().stop()


@cache
def _pool() -> Pool:
    return Pool(workerid.new(), lambda: None)


def _read(routine_id: str) -> _Found:
    """The routine as its file says now. The file that is known by its id is tried first, then every one."""
    with transaction.asking():
        known = rows.fetch("SELECT path, workspace FROM routines_routine WHERE id = %s", [routine_id])
    connection.close()
    trusted = {library.real(workspace) for workspace in settings.WAKEFUL_WORKSPACES}
    # A workspace that was taken out of the settings is not trusted any more, whatever the last reconcile saw.
    known = [(path, workspace) for path, workspace in known if library.real(workspace) in trusted]
    for path, workspace in known:
        if (found := _of(routine_id, library.read([path]), workspace)) is not None:
            return found
    for workspace in settings.WAKEFUL_WORKSPACES:
        if (found := _of(routine_id, library.read([f"{workspace}/.routines"]), workspace)) is not None:
            return found
    # The known file may be there, and be no routine for now.
    there = [path for path, _ in known if os.path.isfile(path)]
    broken = [file for file in library.read(there) if file.routine is None]
    if broken:
        raise errors.Invalid(broken[0].faults)
    raise Refusal("not_found", "No ROUTINE.md of the workspaces declares that id.")


def _of(routine_id: str, files: Sequence[reconcile.Declared], workspace: str) -> _Found | None:
    for file in files:
        if file.routine is not None and file.routine.id == routine_id:
            return _Found(routine=file.routine, workspace=library.real(workspace))
    return None


def _check(found: _Found, owner: int | None) -> None:
    """Refuse a target that this host does not dispatch, and an identity without the grant."""
    resolver = resolve.Resolver()
    ask = resolver.refusal if owner is None else resolver.target_fault
    with transaction.asking():
        fault = ask(found.routine, found.workspace)
    if fault is not None:
        raise errors.Invalid([fault])


def _rehearsed(
    run_id: str, source: str, routine_id: str, routine: manifest.Routine, firing: runs.Firing, now: int
) -> Triggered:
    run = runs.Claimed(
        id=run_id,
        source=source,
        routine_id=routine_id,
        trigger="manual",
        scheduled_for=now,
        attempt=1,
        started_at=now,
        depth=1,
        alone=False,
        worker="",
        firing=firing,
    )
    try:
        lowered = dispatch.lower(run, routine, now)
    except (lowering.Unlowerable, placeholders.Unfilled) as error:
        return Triggered(run_id=None, ok=False, summary=str(error), call={})
    tool = registry.find(lowered.tool)
    words = None if tool is None else tool.problem(lowered.inputs)
    inputs = placeholders.redact(lowered.inputs, lowered.secrets)
    summary = f"Would call {lowered.tool}." if words is None else str(placeholders.redact(words, lowered.secrets))
    return Triggered(run_id=None, ok=words is None, summary=summary, call={"tool": lowered.tool, "inputs": inputs})


def _awaited(run_id: str, wait: float) -> Triggered:
    """The run once its first attempt has ended, or as it stands when the wait is over."""
    if _WAITING.acquire(blocking=False):
        try:
            pause = clock.Alarm()
            for _ in range(round(wait / _LOOK_SECONDS)):
                with transaction.asking():
                    going = runs.under_way(run_id)
                if not going:
                    break
                # A caller that waits holds no connection.
                connection.close()
                pause.wait(_LOOK_SECONDS)
        finally:
            _WAITING.release()
    with transaction.asking():
        going = runs.under_way(run_id)
        shown = runs.find(run_id) or {}
    if going:
        return Triggered(run_id=run_id, ok=None, summary="The run goes on.")
    ok = shown.get("status") in ("completed", "skipped")
    return Triggered(run_id=run_id, ok=ok, summary=str(shown.get("summary") or ""))
