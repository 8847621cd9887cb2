"""The tools that reach into a session: they do what its own tools do, for its owner alone."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from routines.tools import sessions
from routines.tools.registry import Result, Tool
from schedules import live, turns
from schedules.domain import toolbox
from schedules.sessions import log
from tests.conftest import HandClock
from tests.routines.tools import calls
from tests.schedules.owner.sessions import Session

Tell = Callable[..., Result]

EVERY = [
    (sessions.schedule_create, {"prompt": "Look.", "after_seconds": 60}),
    (sessions.schedule_list, {}),
    (sessions.schedule_delete, {"id": "schedule-1"}),
    (sessions.session_prompt, {"prompt": "Look."}),
]
NAMES = [tool.name for tool, _ in EVERY]


@pytest.fixture
def session(user: User, clock: HandClock) -> Session:
    """A live session of ``user``."""
    made = Session(log.new_id())
    live.create(log.Header(id=made.id, owner_id=user.pk, created_at=clock.now))
    made.open()
    return made


@pytest.fixture
def tell(user: User, session: Session) -> Tell:
    """``tell(tool, ...)``: call it for ``user`` on the session."""

    def call(tool: Tool, **inputs: Any) -> Result:
        return calls.call(tool, user_id=user.pk, **{"session_id": session.id, **inputs})

    return call


def waiting(session: Session) -> list[dict[str, Any]]:
    found: Any = turns.followups(session.id, "waiting", limit=10)
    return list(found)


def test_a_reminder_is_made_listed_and_deleted(tell: Tell, session: Session) -> None:
    made = tell(sessions.schedule_create, prompt="Look.", after_seconds=60)
    view = {
        "id": "schedule-1",
        "kind": "after",
        "prompt": "Look.",
        "afterSeconds": 60,
        "scheduledAt": "2026-12-01T00:01:00.000Z",
        "state": "scheduled",
        "deliveryMode": "session-local",
    }
    assert made == Result(ok=True, summary="schedule-1 comes at 2026-12-01T00:01:00.000Z.", value=view)  # type: ignore[arg-type]  # a JSON object
    assert tell(sessions.schedule_list).value == [view]
    assert tell(sessions.schedule_delete, id="schedule-1").value == {"id": "schedule-1", "deleted": True}
    assert session.active() == []


def test_a_reminder_that_is_not_there_is_no_failure_to_delete(tell: Tell) -> None:
    told = tell(sessions.schedule_delete, id="schedule-9")
    assert (told.ok, told.summary) == (True, "There was no active reminder of that id.")
    assert told.value == {"id": "schedule-9", "deleted": False, "code": "schedule_not_found"}


def test_what_the_sessions_own_tool_refuses_is_refused_in_its_words(tell: Tell) -> None:
    told = tell(sessions.schedule_create, prompt="Look.", at="2020-01-01T00:00:00Z")
    assert not told.ok
    assert told.summary == "That time is not in the future. Check the current date and time, and give a later one."
    assert told.value == {"code": "not_future", "message": told.summary}


def test_the_inputs_are_those_of_the_sessions_own_tools_and_the_session() -> None:
    for one in toolbox.TOOLS:
        tool: Tool = getattr(sessions, str(one["name"]))
        own: Any = one["inputSchema"]
        assert set(tool.inputs["properties"]) == {"session_id", *own["properties"]}
        assert set(tool.inputs["required"]) == {"session_id", *own["required"]}
        assert tool.problem({"session_id": "s", "shell": "x"}) is not None


@pytest.mark.parametrize(("tool", "inputs"), EVERY, ids=NAMES)
def test_each_names_its_session(tool: Tool, inputs: dict[str, Any]) -> None:
    assert tool.problem(inputs) is not None
    assert tool.problem({**inputs, "session_id": "\0"}) is not None
    assert tool.problem({**inputs, "session_id": "s" * 129}) is not None


@pytest.mark.parametrize(("tool", "inputs"), EVERY, ids=NAMES)
def test_another_users_session_is_as_one_that_is_not_there(
    session: Session, stranger: User, tool: Tool, inputs: dict[str, Any]
) -> None:
    foreign = calls.call(tool, user_id=stranger.pk, session_id=session.id, **inputs)
    missing = calls.call(tool, user_id=stranger.pk, session_id=log.new_id(), **inputs)
    assert foreign == missing == Result(ok=False, summary="There is no such session.")
    assert session.types() == ["session/opened"]


@pytest.mark.parametrize(("tool", "inputs"), EVERY, ids=NAMES)
def test_a_cold_session_is_reached_by_none(
    tell: Tell, session: Session, clock: HandClock, tool: Tool, inputs: dict[str, Any]
) -> None:
    clock.advance(seconds=86_400)
    assert tell(tool, **inputs) == Result(ok=False, summary="No host holds this session. Open it first.")
    assert session.types() == ["session/opened"]


@pytest.mark.parametrize("prompt", ["Good morning.", " \n[SCHEDULE REMINDER]\n ", "\0\ud800"])
def test_a_prompt_waits_for_the_host_as_it_is(tell: Tell, session: Session, prompt: str) -> None:
    told = tell(sessions.session_prompt, prompt=prompt)
    assert (told.ok, told.skipped) == (True, False)
    (followup,) = waiting(session)
    assert followup == {
        "followupId": followup["followupId"],
        "seq": 1,
        "queuedAt": "2026-12-01T00:00:00.000Z",
        "attempt": 1,
        "kind": "prompt",
        "reminders": [],
        "text": prompt,
    }
    assert told.value == {"sessionId": session.id, "followupId": followup["followupId"]}
    turn: Any = turns.begin(session.id, session.lease, None)
    assert [said["text"] for said in turn["messages"]] == [prompt]


def test_a_session_in_a_turn_is_skipped(tell: Tell, session: Session) -> None:
    turn = session.begin("Hello.")
    told = tell(sessions.session_prompt, prompt="Look.")
    assert told == Result(ok=True, skipped=True, summary="The session is busy, so the prompt was not put to it.")
    session.end(turn)
    assert waiting(session) == []
    assert not tell(sessions.session_prompt, prompt="Look.").skipped


def test_a_session_with_a_waiting_follow_up_is_skipped(tell: Tell, session: Session) -> None:
    assert not tell(sessions.session_prompt, prompt="First.").skipped
    assert tell(sessions.session_prompt, prompt="Second.").skipped
    assert [followup["text"] for followup in waiting(session)] == ["First."]


def test_of_two_prompts_at_once_one_waits_and_one_is_skipped(
    tell: Tell, session: Session, at_once: Callable[..., list[Any]]
) -> None:
    told = at_once(*(lambda: tell(sessions.session_prompt, prompt="Look.") for _ in range(2)))
    assert sorted(one.skipped for one in told) == [False, True]
    assert len(waiting(session)) == 1
