"""Sessions that agents run in: what `agent_start` opens, and what brings reminders to the agent while they are open.

A turn is one run of an adapter. The worker of a turn holds the session's row; between turns nobody does, and the
session's own lease outlasts its life, so that an open session in which nothing happens costs no write. Whichever
process finds a follow-up waiting claims the row by a counted update and runs the next turn.
"""

import json
import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings

from routines import adapters
from routines.models import AgentSession
from routines.tools import environment, processes
from schedules import clock, live, transaction, turns
from schedules.access import models as access
from schedules.locked import Unit
from schedules.projection import rows
from schedules.sessions import log
from schedules.sessions.errors import PersistenceUncertain, Refusal
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)

#: The holder of the sessions' leases: the same in every process, so that one can take over from another.
HOLDER = "wakeful-agents"
EXIT = "wakeful:agent-exit"
#: How much of an adapter's output is kept, in bytes.
MOST_OUTPUT = 64 * 1024

#: What a turn takes beside the adapter's own time, and more.
MARGIN_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What an agent is run with, in every turn of its session.

    adapter: the adapter's name.
    seconds: how long a turn may take.
    model: what fills the adapter's {model}, if anything.
    cwd: the real path of the folder that it runs in; None for an empty one of its own, which is gone afterwards.
    """

    adapter: str
    seconds: int
    model: str | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An agent's session whose row this process holds.

    worker: as which it does.
    lease_id: the session's own lease.
    ends_at: when the session is closed, in epoch milliseconds.
    """

    session_id: str
    user_id: int
    task: Task
    worker: str
    lease_id: str
    ends_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an agent answered in one turn.

    exit_code: of its adapter; None where that did not start, or was ended.
    output: what it printed, its end cut off where that is blank; a sentence where it did not start.
    timed_out: it took longer than it may.
    cancelled: it was ended because its answer no longer counted.
    """

    exit_code: int | None
    output: str
    timed_out: bool = False
    cancelled: bool = False


def start(made: log.Header, task: Task, prompt: str, *, run_id: str, cancelled: threading.Event) -> Answer:
    """Open a new session, have its agent answer a prompt, and leave it open if anything waits in it by then.

    Raises Refusal where the session cannot be made, or was lost to another.
    """
    worker = log.new_id()
    ends_at = made.created_at + settings.WAKEFUL_AGENT_OPEN_SECONDS * 1000
    # Before the session itself: whatever is cut short from here on, another process finds the row and tidies up.
    with transaction.barrier():
        AgentSession.objects.create(
            session_id=made.id,
            run_id=run_id,
            user_id=made.owner_id,
            task=json.dumps(asdict(task)),
            worker=worker,
            lease_until=made.created_at + (task.seconds + MARGIN_SECONDS) * 1000,
            ends_at=ends_at,
        )
    try:
        lease = live.create(made, _opening(task, ends_at, made.created_at))
    except PersistenceUncertain:
        raise
    except Refusal:
        forget(made.id, worker)
        raise
    held = Held(
        session_id=made.id,
        user_id=made.owner_id,
        task=task,
        worker=worker,
        lease_id=str(lease["leaseId"]),
        ends_at=ends_at,
    )
    answered = _turn(held, turns.message(prompt), cancelled)
    settle(held, at_once=answered.cancelled)
    return answered


def answer(held: Held, cancelled: threading.Event) -> None:
    """Have the agent answer the oldest follow-up that waits in its session.

    A turn that is cancelled is left open, for another process to interrupt: so its follow-up comes back.
    """
    try:
        if _turn(held, None, cancelled).cancelled:
            _abandon(held)
            return
    except PersistenceUncertain:
        raise
    except Refusal as refusal:
        if refusal.code != "nothing_to_claim":
            logger.warning("agent session %s is another's by now: %s", held.session_id, refusal.code)
            forget(held.session_id, held.worker)
            return
    settle(held)


def settle(held: Held, *, at_once: bool = False) -> None:
    """Close a session that is done: nothing waits in it, its time is over, or ``at_once``. Else let go of its row."""
    if close(held.session_id, held.lease_id, at_any_rate=at_once or held.ends_at <= clock.sample()):
        forget(held.session_id, held.worker)
        return
    with transaction.barrier():
        rows.execute(
            "UPDATE routines_agentsession SET worker = NULL, session_lease = %s WHERE session_id = %s AND worker = %s",
            [held.lease_id, held.session_id, held.worker],
        )


def close(session_id: str, lease_id: str, *, at_any_rate: bool) -> bool:
    """Close a session that nothing waits in, or ``at_any_rate`` one that has no open turn; whether it is closed now."""

    def action(unit: Unit) -> Json:
        unit.hold(lease_id)
        projection = unit.projection
        awaited = projection.waiting or (projection.active and projection.corrupt_seq is None)
        if projection.inbox.turn is not None or (awaited and not at_any_rate):
            return False
        live.end(unit, "closed")
        return True

    try:
        return bool(transaction.perform(session_id, action))
    except PersistenceUncertain:
        raise
    except Refusal:
        return True  # another has it by now, or its lease ended


def reopen(session_id: str, task: Task, ends_at: int, now: int) -> str | None:
    """Open the session of a worker that died: its open turn ends interrupted. The new lease; None where it is lost."""
    try:
        lease: Any = live.open_(session_id, _opening(task, ends_at, now))
    except PersistenceUncertain:
        raise
    except Refusal as refusal:
        logger.warning("agent session %s cannot be opened anew: %s", session_id, refusal.code)
        return None
    return str(lease["leaseId"])


def forget(session_id: str, worker: str | None) -> None:
    """Drop the row that ``worker`` holds, or nobody; the agent's token opens nothing any more."""
    with transaction.barrier():
        # Another that has taken the session over by now keeps both.
        if rows.execute(
            "DELETE FROM routines_agentsession WHERE session_id = %s AND COALESCE(worker, '') = %s",
            [session_id, worker or ""],
        ):
            access.revoke_of_session(session_id, clock.sample())


def _turn(held: Held, said: turns.Message | None, cancelled: threading.Event) -> Answer:
    """One turn: with what was said, or with the oldest follow-up. Raises Refusal."""
    turn: Any = turns.begin(held.session_id, held.lease_id, said)
    began = time.monotonic()
    answered = _run(held, turn["messages"][0]["text"], cancelled)
    if said is None and answered.cancelled:
        return answered
    told: Json = {
        "adapter": held.task.adapter,
        "exitCode": answered.exit_code,
        "timedOut": answered.timed_out,
        "durationMs": round((time.monotonic() - began) * 1000),
    }
    turns.append_host_event(held.session_id, held.lease_id, EXIT, told)
    outcome = "aborted" if answered.cancelled else "completed" if answered.exit_code == 0 else "failed"
    turns.end(held.session_id, turn["turn"], held.lease_id, outcome, answered.output)
    return answered


def _run(held: Held, prompt: str, cancelled: threading.Event) -> Answer:
    task = held.task
    adapter = adapters.find(task.adapter)
    if adapter is None:
        return Answer(exit_code=None, output=f"There is no adapter {task.adapter} any more.")
    with _folder(task.cwd) as cwd:
        if cwd is None:
            return Answer(exit_code=None, output="The folder that the agent runs in is gone.")
        secret = _new_token(held)
        values = {"prompt": prompt, "model": task.model or "", "cwd": cwd, "session": held.session_id}
        done = processes.run(
            adapter.arguments(values),
            cwd=cwd,
            env={
                **environment.clean(),
                **adapter.env,
                "WAKEFUL_URL": settings.WAKEFUL_URL,
                "WAKEFUL_SESSION": held.session_id,
                "WAKEFUL_TOKEN": secret,
            },
            seconds=task.seconds,
            most_output=MOST_OUTPUT,
            cancelled=cancelled,
            stdin=prompt.encode(errors="replace") if adapter.reads_prompt else b"",
        )
    if done.missing:
        return Answer(exit_code=None, output=f"The program of the adapter {task.adapter} cannot be started.")
    # Agents like to print their environment.
    shown = done.output.replace(secret, "[WAKEFUL_TOKEN]").rstrip()
    return Answer(exit_code=done.code, output=shown, timed_out=done.timed_out, cancelled=done.cancelled)


def _new_token(held: Held) -> str:
    """A token for this session alone. Only the newest opens anything: the one of a dead worker's agent does not."""
    with transaction.barrier():
        now = clock.sample()
        access.revoke_of_session(held.session_id, now)
        ends_at = max(held.ends_at, now) + (held.task.seconds + MARGIN_SECONDS) * 1000
        _, secret = access.issue(held.user_id, now, session_id=held.session_id, expires_at=ends_at)
    return secret


@contextmanager
def _folder(cwd: str | None) -> Iterator[str | None]:
    if cwd is not None:
        yield cwd if os.path.isdir(cwd) else None
        return
    with tempfile.TemporaryDirectory(prefix="wakeful-agent-", ignore_cleanup_errors=True) as made:
        yield os.path.realpath(made)


def _abandon(held: Held) -> None:
    """Have another process take over at once."""
    with transaction.barrier():
        rows.execute(
            "UPDATE routines_agentsession SET lease_until = 0 WHERE session_id = %s AND worker = %s",
            [held.session_id, held.worker],
        )


def _opening(task: Task, ends_at: int, now: int) -> live.Opening:
    """A lease that outlasts the session's life and a last turn: nobody has to renew it."""
    rest = max(0, ends_at - now) // 1000
    return live.Opening(holder=HOLDER, seconds=rest + task.seconds + MARGIN_SECONDS)
