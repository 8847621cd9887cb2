"""What sessions do is told to the routines that wait for it: in the same commit, and to nobody else."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from routines.models import LifecycleEvent
from schedules import live, tools, turns
from schedules.sessions import log, lossless
from tests.conftest import START, HandClock
from tests.routines.registered import job


@pytest.fixture(autouse=True)
def _at(clock: HandClock) -> None:
    pass


def opened(user: User, *, origin: str = "api", metadata: Any = None) -> tuple[str, str]:
    """The id and the lease of a new live session."""
    header = log.Header(
        id=log.new_id(),
        owner_id=user.pk,
        created_at=START,
        origin=origin,
        cwd="/srv/work",
        metadata=lossless.dumps(metadata or {}),
    )
    return header.id, str(live.create(header, live.Opening(holder="host"))["leaseId"])


def turn(session: str, lease: str, outcome: str) -> None:
    number = turns.begin(session, lease, turns.message("hello"))["turn"]  # type: ignore[call-overload,index]
    turns.end(session, number, lease, outcome, None)  # type: ignore[arg-type]


def waits_for(*names: str) -> None:
    for name in names:
        job(f"on-{name}", schedule={"kind": "event", "on": name})


def emitted() -> list[str]:
    return list(LifecycleEvent.objects.order_by("id").values_list("name", flat=True))


def test_nothing_is_written_where_nobody_waits(user: User) -> None:
    session, lease = opened(user)
    turn(session, lease, "failed")
    tools.create(session, {"prompt": "look", "after_seconds": 5})
    tools.create(session, {})
    assert emitted() == []


def test_a_session_s_life_is_told_by_its_names(user: User) -> None:
    waits_for("conversation-start", "per-conversation", "turn-start", "per-turn", "turn-error")
    session, lease = opened(user, metadata={"team": "a"})
    turn(session, lease, "completed")
    turn(session, lease, "failed")
    live.close(session, lease)
    assert emitted() == [
        "conversation-start",
        "turn-start",
        "turn-end",
        "turn-start",
        "turn-end",
        "turn-error",
        "conversation-end",
    ]
    first = LifecycleEvent.objects.order_by("id")[0]
    assert lossless.loads(first.payload) == {
        "sessionId": session,
        "origin": "api",
        "cwd": "/srv/work",
        "metadata": {"team": "a"},
    }
    assert (first.origin, first.time, first.depth) == (f"session:{session}", START, 0)


def test_a_tool_s_call_its_result_and_its_error_are_told(user: User) -> None:
    waits_for("tool-call", "tool-result", "tool-error")
    session, _ = opened(user)
    tools.create(session, {"prompt": "look", "after_seconds": 5})
    tools.create(session, {"prompt": "look"})
    assert emitted() == ["tool-call", "tool-result", "tool-call", "tool-error"]
    payload: Any = lossless.loads(LifecycleEvent.objects.order_by("id")[3].payload)
    assert (payload["tool"], payload["sessionId"]) == ("schedule_create", session)


def test_a_session_that_a_routine_started_stands_as_deep_as_its_run(user: User) -> None:
    waits_for("turn-end")
    for origin, metadata in (
        ("routine:tidy", {"depth": 3}),
        ("api", {"depth": 3}),
        ("routine:tidy", {"depth": "3"}),
    ):
        turn(*opened(user, origin=origin, metadata=metadata), "completed")
    assert list(LifecycleEvent.objects.order_by("id").values_list("depth", flat=True)) == [3, 0, 0]


def test_a_call_that_is_undone_tells_nothing(user: User) -> None:
    waits_for("conversation-start")
    opened(user)
    taken = log.Header(id="taken", owner_id=user.pk, created_at=START)
    live.create(taken)
    before = emitted()
    with pytest.raises(Exception, match="taken"):
        live.create(taken, live.Opening(holder="host"))
    assert emitted() == before == ["conversation-start"]
