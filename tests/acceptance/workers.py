"""Jobs for processes of their own: the code under test, called without a web server between.

``python -m tests.acceptance.workers JOB ARGUMENTS`` says "ready", begins at SIGUSR1, and prints what the job gave back
as its last line. With ``WORKER_CLOCK`` in the environment, its clock is ahead by the milliseconds in that file.
"""

import contextlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
from django.conf import settings

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection

from schedules import clock, heartbeat, live, owner, tools, transaction, turns
from schedules.domain import fold, instants, records
from schedules.projection import rebuild, rows
from schedules.sessions import events, log
from schedules.sessions.errors import Refusal
from tests.acceptance.agentjobs import answer_agents, start_agent
from tests.acceptance.crashing import die_everywhere

LEASE_SECONDS = 86_400
PATIENCE = 30
_ROUND_SECONDS = 0.01


def prepare(sessions: int, rules: list[dict[str, Any]]) -> list[list[str]]:
    """Make a database with so many live sessions, each with these reminders; ``[id, lease]`` of each."""
    call_command("migrate", verbosity=0)
    user, _ = User.objects.get_or_create(username="ada")
    made = []
    for _ in range(sessions):
        header = log.Header(id=log.new_id(), owner_id=user.pk, created_at=clock.sample())
        lease = live.create(header, live.Opening(holder="host", seconds=LEASE_SECONDS))
        for rule in rules:
            remind(header.id, rule)
        made.append([header.id, str(lease["leaseId"])])
    return made


def remind(session_id: str, rule: dict[str, Any]) -> str:
    """Make a reminder; its id."""
    answer: Any = tools.create(session_id, {"prompt": "Look.", **rule})
    assert answer.code is None, answer
    return str(answer.value["id"])


def take(session_id: str, holder: str = "host") -> str:
    """Open a session; the lease."""
    lease: Any = live.open_(session_id, live.Opening(holder=holder, seconds=LEASE_SECONDS))
    return str(lease["leaseId"])


def calls(session_id: str, lease: str, count: int, seed: int) -> list[tuple[int, int, str]]:
    """Make mixed calls on one session, one after the other: when each began and ended, and its code or new id."""
    choice = random.Random(seed)
    made: list[str] = []
    mine: list[int] = []

    def create() -> str:
        made.append(remind(session_id, {"after_seconds": 3600 + seed}))
        return made[-1]

    def delete() -> str:
        return tools.delete(session_id, {"id": made.pop() if made else "schedule-0"}).code or "deleted"

    def look() -> str:
        return tools.list_(session_id, {}).code or "listed"

    def turn() -> str:
        if mine:
            turns.end(session_id, mine.pop(), lease, "completed", "Done.")
            return "ended"
        begun: Any = turns.begin(session_id, lease, turns.message("Hello."))
        mine.append(begun["turn"])
        return "begun"

    def note() -> str:
        turns.append_host_event(session_id, lease, "host:note", seed)
        return "noted"

    done = []
    for _ in range(count):
        call = choice.choice([create, create, create, delete, look, turn, note])
        began = time.monotonic_ns()
        try:
            said = call()
        except Refusal as refusal:
            said = refusal.code
        done.append((began, time.monotonic_ns(), said))
    return done


def host(sessions: list[list[str]], followups: int) -> int:
    """Claim and answer so many follow-ups in each of these sessions; how many were claimed in all."""
    missing = {session_id: followups for session_id, _ in sessions}
    end = time.monotonic() + PATIENCE
    while any(missing.values()) and time.monotonic() < end:
        idle = True
        for session_id, lease in sessions:
            if not missing[session_id]:
                continue
            with contextlib.suppress(Refusal):
                turn: Any = turns.begin(session_id, lease, None)
                turns.end(session_id, turn["turn"], lease, "completed", None)
                missing[session_id] -= 1
                idle = False
        if idle:
            time.sleep(_ROUND_SECONDS)
    return len(sessions) * followups - sum(missing.values())


def note(session_id: str, lease: str) -> int:
    """Append events of the host's own until the lease is lost; how many."""
    noted = 0
    while True:
        try:
            turns.append_host_event(session_id, lease, "host:note", noted)
        except Refusal as refusal:
            if refusal.code != "lease_lost":
                raise
            return noted
        noted += 1


def claim(session_id: str, lease: str) -> None:
    """Claim a follow-up, say so, and never end its turn."""
    turns.begin(session_id, lease, None)
    sys.stdout.write("claimed\n")
    sys.stdout.flush()
    signal.pause()


def told(session_id: str, count: int = 0) -> list[str]:
    """The types of a session's events, once there are so many."""
    header = log.header(session_id)
    assert header is not None
    end = time.monotonic() + PATIENCE
    while True:
        types = [event.type for event in log.stream(header)]
        if len(types) >= count or time.monotonic() > end:
            return types
        time.sleep(_ROUND_SECONDS)


def lease_left(session_id: str) -> int:
    """How many milliseconds a session's lease has left, once every owner has seen the present clock."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        now = clock.sample()
        beats = [beat for (beat,) in rows.fetch("SELECT beat_at FROM schedules_ownerheartbeat", [])]
        # A second later than its beat an owner has long looked for work too.
        if beats and all(1000 <= now - beat < heartbeat.BEAT_SECONDS * 1000 for beat in beats):
            break
        time.sleep(_ROUND_SECONDS)
    ((ends,),) = rows.fetch("SELECT expires_at FROM schedules_lease WHERE session_id = %s", [session_id])
    return int(ends) - now


def deliver(stop_before: str = "") -> None:
    """Run an owner until SIGTERM. It stops itself once, as by SIGSTOP, before it locks or once it has locked."""
    one = owner.Owner()
    if stop_before == "lock":
        _stop_before(transaction, "perform_each")
    elif stop_before == "admission":
        _stop_before(owner, "_admit")
    signal.signal(signal.SIGTERM, lambda *_: one.stop())
    one.run()


def _stop_before(module: Any, name: str) -> None:
    function = getattr(module, name)
    first = iter([True])

    def stopping(*arguments: Any) -> Any:
        if next(first, False):
            sys.stdout.write("stopped\n")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGSTOP)
        return function(*arguments)

    setattr(module, name, stopping)


def create_within(seconds: float, session_id: str) -> dict[str, Any]:
    """Make a reminder, waiting for a lock no longer than that; the answer, and the seconds that it took."""
    settings.LOCK_SECONDS = seconds
    if connection.vendor == "postgresql":
        settings.DATABASES["default"]["OPTIONS"]["options"] = f"-c lock_timeout={round(seconds * 1000)}"
    began = time.monotonic()
    answer = tools.create(session_id, {"prompt": "Look.", "after_seconds": 1})
    return {"code": answer.code, "seconds": time.monotonic() - began}


def tally() -> dict[str, Any]:
    """Compare every session's log with its reminders: how many were made and queued, and each thing that is wrong."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for session_id in rebuild.all_sessions():
        header = log.header(session_id)
        assert header is not None
        problems += [f"{session_id}: {problem}" for problem in _examine(header, counts)]
    return {"created": counts["created"], "queued": counts["queued"], "problems": problems}


def _examine(header: log.Header, counts: Counter[str]) -> list[str]:
    with transaction.barrier():
        problems = rebuild.check(header.id)
        told = list(log.stream(header))
        now = clock.sample()
        armed = rows.fetch("SELECT armed_at FROM schedules_sessionstate WHERE session_id = %s", [header.id])[0][0]
    created: Counter[str] = Counter()
    occurrences: Counter[tuple[str, str]] = Counter()
    queued: Counter[str] = Counter()
    dispatched: Counter[str] = Counter()
    followups: Counter[str] = Counter()
    for event in told:
        data: Any = event.data
        if event.type == events.FOLLOWUP_QUEUED:
            followups[data["followupId"]] += 1
            for reminder in data["reminders"]:
                queued[reminder["id"]] += 1
                occurrences[reminder["id"], reminder["occurrenceAt"]] += 1
        elif event.type == events.SCHEDULE_CHANGE:
            if data["operation"] == "create":
                created[data["schedule"]["id"]] += 1
            elif data["operation"] == "dispatch":
                dispatched[data["id"]] += 1
    counts["created"] += created.total()
    counts["queued"] += queued.total()
    if [event.seq for event in told] != list(range(len(told))):
        problems.append("its events are not contiguous")
    if queued != dispatched:
        problems.append(f"queued {queued - dispatched} more, dispatched {dispatched - queued} more")
    for what, counter in (("created", created), ("queued", occurrences), ("queued", followups)):
        problems += [f"{what} {count} times: {name}" for name, count in counter.items() if count > 1]
    if armed is not None and armed <= now:
        problems.append(f"what was due at {instants.render(armed)} is still to be queued")
    return problems + _list_problems(header)


def _list_problems(header: log.Header) -> list[str]:
    try:
        answer: Any = tools.list_(header.id, {}).value
    except Refusal:
        return []  # cold: nobody may list it
    folded = fold.replay_text(log.own_rows(header.id, header.seed_length), header.seed_length)
    kept = ("state", "deliveryMode")
    listed = [{name: value for name, value in view.items() if name not in kept} for view in answer]
    return [] if listed == [records.to_json(entry.record) for entry in folded.active] else ["its list is not its fold"]


JOBS: dict[str, Callable[..., Any]] = {
    job.__name__: job
    for job in (
        *(prepare, remind, take, calls, host, note, claim, told, lease_left),
        *(deliver, create_within, die_everywhere, tally, start_agent, answer_agents),
    )
}


def main(job: str, arguments: str) -> None:
    """Do one job when told to."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    signal.sigwait([signal.SIGUSR1])
    with contextlib.ExitStack() as stack:
        if ahead := os.environ.get("WORKER_CLOCK"):
            file = Path(ahead)
            stack.enter_context(clock.set_to(lambda: time.time_ns() // 1_000_000 + int(file.read_text())))
        value = JOBS[job](*json.loads(arguments))
    sys.stdout.write(json.dumps(value) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
