"""Forks over HTTP: a child inherits its parent's events as history, and nothing of what they promise."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from schedules.models import SessionEvent
from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, host, refusal

Api = Callable[[User], Client]


@pytest.fixture
def parent(user: User, api: Api, clock: HandClock) -> Host:
    """A session with an ended turn (events 1 to 4), a reminder (5) and a waiting follow-up (6)."""
    parent = host(api(user), "parent", title="T", cwd="/w", metadata={"a": 60.0})
    parent.say("first")
    parent.end(1, message="done")
    parent.tool("create", {"prompt": "look", "after_seconds": 600})
    parent.queue()
    return parent


def fork(parent: Host, child_id: str = "child", **body: Any) -> Host:
    """A cold child."""
    answer = parent.post("/fork", {"id": child_id, **body})
    assert answer.status_code == 201, answer.json()
    return Host(client=parent.client, id=child_id, lease="")


def test_a_fork_inherits_the_whole_log_and_the_header(parent: Host, clock: HandClock) -> None:
    clock.advance(seconds=1)
    child = fork(parent)
    shown = child.get().json()
    assert child.log() == parent.log()
    assert {name: shown[name] for name in ("parentSession", "seedLength", "origin", "title", "cwd")} == {
        "parentSession": "parent",
        "seedLength": 7,
        "origin": "api",
        "title": "T",
        "cwd": "/w",
    }
    assert (shown["metadata"], shown["createdAt"]) == ({"a": 60.0}, "2026-12-01T00:00:01.000Z")
    assert SessionEvent.objects.filter(session_id="child").count() == 0


def test_a_fork_adopts_no_reminder_turn_or_follow_up(parent: Host) -> None:
    child = fork(parent)
    shown = child.get().json()
    assert (shown["live"], shown["openTurn"]) == (False, None)
    assert shown["counts"] == {"events": 7, "turns": 0, "reminders": 0, "waiting": 0, "exhausted": 0}
    assert child.get("/schedules").json()["results"] == []
    assert child.get("/followups").json()["results"] == []
    child.open()
    assert child.tool("list").json() == []
    assert child.tool("delete", {"id": "schedule-1"}).json()["deleted"] is False
    assert refusal(child.hold("/turns")) == (409, "nothing_to_claim")
    assert child.tool("create", {"prompt": "mine", "after_seconds": 9}).json()["id"] == "schedule-1"
    assert child.say("mine").json()["turn"] == 1


def test_a_child_writes_from_its_seed_on_and_leaves_its_parent_alone(parent: Host) -> None:
    child = fork(parent, boundary=4)
    before = parent.log()
    child.open()
    assert [event["seq"] for event in child.log()] == [0, 1, 2, 3, 4, 5]
    assert child.log()[:5] == before[:5]
    assert child.log()[5]["type"] == "session/opened"
    assert parent.log() == before
    assert parent.get().json()["counts"]["reminders"] == 1


def test_later_events_of_the_parent_are_no_history_of_the_child(parent: Host) -> None:
    child = fork(parent)
    parent.say("later")
    assert len(child.log()) == 7


@pytest.mark.parametrize(("boundary", "length"), [(0, 1), (4, 5), (5.0, 6), (6, 7)])
def test_a_boundary_is_any_event_outside_a_turn(parent: Host, boundary: float, length: int) -> None:
    assert len(fork(parent, boundary=boundary).log()) == length


@pytest.mark.parametrize("boundary", [1, 2, 3])
def test_a_boundary_inside_a_turn_is_refused(parent: Host, boundary: int) -> None:
    assert refusal(parent.post("/fork", {"boundary": boundary})) == (409, "turn_open")


@pytest.mark.parametrize("boundary", [-1, 7, 10**15, 2**53, 10**300, 1.5, "4", True, [], {}])
def test_a_boundary_that_is_no_event_is_refused(parent: Host, boundary: object) -> None:
    answer = parent.post("/fork", {"boundary": boundary})
    assert refusal(answer) == (400, "invalid_request")
    assert set(answer.json()["fields"]) == {"boundary"}


def test_a_session_in_a_turn_is_forked_only_before_it(parent: Host) -> None:
    parent.say("second")
    assert refusal(parent.post("/fork")) == (409, "turn_open")
    assert fork(parent, boundary=6).get().json()["seedLength"] == 7


def test_an_empty_session_has_an_empty_fork(user: User, api: Api, clock: HandClock) -> None:
    client = api(user)
    client.post("/sessions", {"id": "empty"})
    empty = Host(client, "empty", "")
    child = fork(empty)
    assert (child.get().json()["seedLength"], child.log()) == (0, [])
    assert refusal(empty.post("/fork", {"boundary": 0})) == (400, "invalid_request")
    child.open()
    assert [event["seq"] for event in child.log()] == [0]


def test_forks_of_forks_read_as_one_log(parent: Host) -> None:
    child = fork(parent)
    child.open()
    child.say("child's")
    child.end(1)
    grandchild = fork(child, "grandchild")
    grandchild.open()
    assert grandchild.log()[:7] == parent.log()
    assert grandchild.log()[:11] == child.log()[:11]
    assert [event["seq"] for event in grandchild.log()] == list(range(12))
    # In pages, across where the events are stored.
    page = grandchild.get("/events", {"after": 4, "limit": 5}).json()
    assert ([event["seq"] for event in page["results"]], page["next"]) == ([5, 6, 7, 8, 9], 9)


def test_a_boundary_may_lie_in_the_inherited_prefix(parent: Host) -> None:
    child = fork(parent)
    child.open()
    early = fork(child, "early", boundary=4)
    assert early.get().json()["parentSession"] == "child"
    assert early.log() == parent.log()[:5]
    assert refusal(child.post("/fork", {"boundary": 2})) == (409, "turn_open")
    late = fork(fork(early, "again"), "late", boundary=0)
    assert (late.get().json()["seedLength"], late.log()) == (1, parent.log()[:1])


def test_a_fork_of_a_fork_without_events_of_its_own(parent: Host) -> None:
    grandchild = fork(fork(parent), "grandchild")
    assert (grandchild.get().json()["seedLength"], grandchild.log()) == (7, parent.log())


def test_a_fork_needs_no_live_session(parent: Host) -> None:
    parent.hold("/close")
    assert len(fork(parent).log()) == 8


def test_an_unclosed_turn_of_a_lease_that_ended_is_still_open_in_the_log(parent: Host, clock: HandClock) -> None:
    parent.say("second")
    clock.advance(seconds=60)
    assert refusal(parent.post("/fork")) == (409, "turn_open")
    parent.open()  # writes that it ended
    assert parent.post("/fork").status_code == 201


def test_a_fork_counts_and_its_id_is_free(parent: Host, settings: Settings) -> None:
    assert refusal(parent.post("/fork", {"id": "parent"})) == (409, "session_exists")
    assert refusal(parent.post("/fork", {"id": "a/b"})) == (400, "invalid_request")
    settings.WAKEFUL_MAX_SESSIONS = 2
    assert parent.post("/fork").status_code == 201
    assert refusal(parent.post("/fork")) == (429, "limit_reached")


def test_a_childs_events_follow_in_the_order_of_the_parents_calls(parent: Host) -> None:
    children = [fork(parent, f"child-{n}") for n in range(3)]
    for child in children:
        child.open()
        child.tool("create", {"prompt": child.id, "after_seconds": 9})
    assert [child.tool("list").json()[0]["prompt"] for child in children] == ["child-0", "child-1", "child-2"]
    assert parent.tool("list").json()[0]["prompt"] == "look"
