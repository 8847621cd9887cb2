"""What the tests of agents share: adapters of a few lines of Python, calls of `agent_start`, looks at a log."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from routines.tools.agent import agent_start
from routines.tools.registry import Call, Result
from schedules import clock, tools, transaction
from schedules.locked import Unit
from schedules.sessions import events, log


def python(code: str, *arguments: str, **more: Any) -> dict[str, Any]:
    """An adapter that runs this program."""
    return {"command": [sys.executable, "-c", code, *arguments], **more}


ECHO = python("import sys; print(sys.argv[1])", "{prompt}")


def start(
    user_id: int,
    *,
    adapter: str = "echo",
    prompt: str = "Good morning.",
    workspace: str | None = None,
    cancelled: threading.Event | None = None,
    **inputs: Any,
) -> Result:
    """Call `agent_start` as a routine does."""
    call = Call(
        now=clock.sample(),
        seconds=60,
        user_id=user_id,
        origin="routine:tidy",
        run_id="run-1",
        depth=2,
        workspace=workspace,
        cancelled=cancelled or threading.Event(),
        invoke=lambda name, given: Result(ok=False, summary="This call calls no other."),
    )
    given = {"adapter": adapter, "prompt": prompt, **inputs}
    assert agent_start.problem(given) is None
    return agent_start.run(call, given)


@contextmanager
def when_a_turn_begins(do: Callable[[str], object]) -> Iterator[None]:
    """Do something with the session's id right after each commit that began a turn, before the adapter runs."""

    def listener(units: Sequence[Unit]) -> None:
        for unit in units:
            if any(event.type == events.TURN_START for event in unit.appended):
                do(unit.session_id)

    transaction.listeners.append(listener)
    try:
        yield
    finally:
        transaction.listeners.remove(listener)


def remind(session_id: str, after_seconds: int = 60) -> None:
    """Make a reminder, as an agent does by its token."""
    made = tools.create(session_id, {"prompt": "Look again.", "after_seconds": after_seconds})
    assert made.code is None, made


def start_with_reminder(user_id: int, **given: Any) -> str:
    """The session of an agent that made a reminder in its first turn."""
    with when_a_turn_begins(remind):
        result = start(user_id, **given)
    assert isinstance(result.value, dict)
    return str(result.value["sessionId"])


def read(session_id: str) -> list[Any]:
    """Every event of a session."""
    header = log.header(session_id)
    assert header is not None
    return log.read(header, limit=1000)


def told(session_id: str) -> list[str]:
    """What happened, an event a line: its type, and what tells it from others of the type."""
    lines = []
    for event in read(session_id):
        tells = [event.data[name] for name in ("reason", "outcome", "source", "attempt") if name in event.data]
        lines.append(" ".join([event.type, *map(str, tells)]))
    return lines
