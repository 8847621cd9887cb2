"""A process that is killed at every single step that it takes with its database, one step later each time."""

import json
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import connection

from schedules import clock, live, tools, turns
from schedules.idempotency import Once
from schedules.owner import Owner
from schedules.sessions import events, log

# By then everything that a scene has made is due, and its short leases have ended.
_LATER_MS = 3_600_000
_LONG, _SHORT = 86_400, 5


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Work that a process may die in.

    stage: makes what the work is done on; what the other two need to know.
    play: does the work, and does the rest of it where another process began; called an hour later.
    told: the log that each session must have in the end, whatever happened.
    """

    stage: Callable[[], list[list[str]]]
    play: Callable[[list[list[str]]], None]
    told: list[list[str]]


def die_everywhere(name: str) -> dict[str, Any]:
    """Play a scene until it ends, killed at its first step, then at its second, and so on; how many kills it took."""
    scene = SCENES[name]
    staged = [_apart(scene.stage)]
    kills = 0
    while not _apart(partial(_play, scene, staged[-1], die_at=kills)):
        # What another process does next is all the mending that there is.
        _apart(partial(_play, scene, staged[-1]))
        staged.append(_apart(scene.stage))
        kills += 1
    problems = _apart(lambda: [problem for sessions in staged for problem in _compare(scene, sessions)])
    return {"kills": kills, "problems": problems}


def _play(scene: Scene, sessions: list[list[str]], *, die_at: int | None = None) -> bool:
    later = clock.sample() + _LATER_MS
    with ExitStack() as stack:
        stack.enter_context(clock.set_to(lambda: later))
        if die_at is not None:
            _die_at(die_at, stack)
        scene.play(sessions)
    return True


def _die_at(step: int, stack: ExitStack) -> None:
    """Kill this process before the statement or commit of that number, or right after that commit."""
    left = step

    def reach() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def statement(execute: Callable[..., Any], *arguments: Any) -> Any:
        reach()
        return execute(*arguments)

    connection.ensure_connection()
    commit = connection._commit  # type: ignore[attr-defined]

    def committing() -> None:
        reach()
        commit()
        reach()

    connection._commit = committing  # type: ignore[attr-defined]
    stack.enter_context(connection.execute_wrapper(statement))


def _apart(job: Callable[[], Any]) -> Any:
    """Do a job in a process of its own, so that this one never has a connection; None where it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            value = json.dumps(job()).encode()
            connection.close()
            os.write(writing, value)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), "a process failed; its standard error says why"
    return json.loads(said) if code == 0 else None


def _compare(scene: Scene, sessions: list[list[str]]) -> list[str]:
    problems = []
    for (session_id, _), wanted in zip(sessions, scene.told, strict=True):
        header = log.header(session_id)
        assert header is not None
        told = [event.type for event in log.stream(header)]
        if told != wanted:
            problems.append(f"{session_id} tells {told}")
    return problems


def _open(seconds: int, *rules: dict[str, Any]) -> list[str]:
    user, _ = User.objects.get_or_create(username="ada")
    header = log.Header(id=log.new_id(), owner_id=user.pk, created_at=clock.sample())
    lease = live.create(header, live.Opening(holder="host", seconds=seconds))
    for rule in rules:
        assert tools.create(header.id, {"prompt": "Look.", **rule}).code is None
    return [header.id, str(lease["leaseId"])]


_QUEUED = [events.FOLLOWUP_QUEUED, events.SCHEDULE_CHANGE]
_BEGUN = [events.TURN_START, events.USER_MESSAGE]
_MADE = [events.SESSION_OPENED, events.SCHEDULE_CHANGE]


def _stage_delivery() -> list[list[str]]:
    vanished = _open(_SHORT)
    turns.begin(*_pair(vanished), turns.message("Hello."))
    repeating = ({"every_seconds": 300}, {"every_seconds": 600})
    return [_open(_LONG, {"after_seconds": 60}), _open(_LONG, *repeating), vanished]


def _play_delivery(sessions: list[list[str]]) -> None:
    owner = Owner()
    owner.drive_all()
    owner.leave()


def _stage_calls() -> list[list[str]]:
    return [_open(_LONG)]


def _play_calls(sessions: list[list[str]]) -> None:
    session_id, lease = _pair(sessions[0])
    made: Any = tools.create(session_id, {"prompt": "Look.", "after_seconds": 60}, once=_once("create"))
    assert made.value["id"] == "schedule-1", made
    begun: Any = turns.begin(session_id, lease, turns.message("Hello."), once=_once("begin"))
    assert begun["turn"] == 1, begun
    turns.end(session_id, 1, lease, "completed", "Done.", once=_once("end"))
    gone: Any = tools.delete(session_id, {"id": "schedule-1"}, once=_once("delete"))
    assert gone.value == {"id": "schedule-1", "deleted": True}, gone


def _once(call: str) -> Once:
    return Once(call=call, key="key", body={})


def _pair(session: list[str]) -> tuple[str, str]:
    session_id, lease = session
    return session_id, lease


SCENES = {
    "delivery": Scene(
        stage=_stage_delivery,
        play=_play_delivery,
        told=[
            [*_MADE, *_QUEUED],
            [*_MADE, events.SCHEDULE_CHANGE, *_QUEUED, events.SCHEDULE_CHANGE],
            [events.SESSION_OPENED, *_BEGUN, events.TURN_END, events.SESSION_CLOSED],
        ],
    ),
    "calls": Scene(
        stage=_stage_calls,
        play=_play_calls,
        told=[[*_MADE, *_BEGUN, events.ASSISTANT_MESSAGE, events.TURN_END, events.SCHEDULE_CHANGE]],
    ),
}
