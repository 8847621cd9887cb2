"""Live and cold over HTTP: opened, renewed, closed, taken over, expired."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from schedules.domain import instants
from tests.conftest import START, Client, HandClock
from tests.schedules.api.host import Host, force, host, refusal, stored

Api = Callable[[User], Client]

LAST = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    """A host that opened a session for 60 seconds."""
    return host(api(user), leaseSeconds=60)


def expires(one: Host) -> int | None:
    """When the session's lease ends, from the start of the test, in milliseconds."""
    lease = one.get().json()["lease"]
    end = None if lease is None else instants.parse(lease["expiresAt"])
    return None if end is None else end - START


def test_a_session_is_opened_for_the_default_time(one: Host, settings: Settings) -> None:
    one.hold("/close")
    settings.WAKEFUL_LEASE_SECONDS = 90
    answer = one.open()
    assert answer.status_code == 200
    assert answer.json() == {
        "leaseId": one.lease,
        "leaseSeconds": 90,
        "expiresAt": "2026-12-01T00:01:30.000Z",
    }


@pytest.mark.parametrize("seconds", [5, 86_400, 5.0])
def test_a_lease_lasts_as_long_as_asked(one: Host, seconds: float) -> None:
    assert one.open(leaseSeconds=seconds).json()["leaseSeconds"] == seconds


@pytest.mark.parametrize("seconds", [4, 86_401, 0, -5, 5.5, "60", True, [], 2**63, 10**300])
def test_a_lease_of_another_length_is_refused(one: Host, seconds: object) -> None:
    one.hold("/close")
    answer = one.post("/open", {"holder": "laptop", "leaseSeconds": seconds})
    assert refusal(answer) == (400, "invalid_request")
    assert set(answer.json()["fields"]) == {"leaseSeconds"}


def test_a_session_that_is_live_opens_to_no_other_holder(one: Host) -> None:
    before = one.log(), one.get().json()
    assert refusal(one.post("/open", {"holder": "desktop"})) == (409, "session_live")
    assert (one.log(), one.get().json()) == before


def test_the_same_holder_takes_over_and_the_old_lease_is_stale(one: Host) -> None:
    one.say()
    old = one.lease
    assert one.open().status_code == 200
    assert one.lease != old
    assert one.told()[-2:] == ["turn/end interrupted", "session/opened"]
    assert refusal(one.post("/renew", {"leaseId": old})) == (409, "lease_lost")
    assert one.hold("/renew").status_code == 200


def test_a_holder_without_a_name_cannot_be_taken_over(user: User, api: Api, clock: HandClock) -> None:
    client = api(user)
    client.post("/sessions", {"id": "s", "open": True})
    assert refusal(client.post("/sessions/s/open", {"holder": "laptop"})) == (409, "session_live")


def test_every_call_of_the_holder_renews(one: Host, clock: HandClock) -> None:
    one.queue()
    header: dict[str, Any] = {"HTTP_WAKEFUL_LEASE": one.lease}
    create = {"prompt": "look", "after_seconds": 9}
    calls: tuple[Callable[[], Any], ...] = (
        lambda: one.hold("/renew"),
        lambda: one.hold("/turns"),
        lambda: one.hold("/turns/1/messages", message="and"),
        lambda: one.hold("/turns/1/end", outcome="completed"),
        lambda: one.hold("/events", type="host:note", data=1),
        lambda: one.tool("create", create, **header),
        lambda: one.tool("list", **header),
        lambda: one.tool("delete", {"id": "schedule-1"}, **header),
        lambda: one.get(**header),
        lambda: one.get("/events", **header),
        lambda: one.get("/schedules", **header),
        lambda: one.get("/followups", **header),
        lambda: one.post("/fork", **header),
    )
    for call in calls:
        now = clock.advance(seconds=59)
        assert call().status_code < 300
        assert expires(one) == now - START + 60_000


def test_a_call_without_the_lease_renews_nothing(one: Host, clock: HandClock) -> None:
    clock.advance(seconds=30)
    for path in ("", "/events", "/schedules", "/followups"):
        one.get(path)
    one.tool("create", {"prompt": "look", "after_seconds": 9})
    one.post("/fork")
    assert expires(one) == 60_000


def test_a_refused_call_renews_nothing(one: Host, clock: HandClock) -> None:
    header: dict[str, Any] = {"HTTP_WAKEFUL_LEASE": one.lease}
    one.say()
    clock.advance(seconds=30)
    end = expires(one)
    assert end is not None
    answers = {
        "events": one.get("/events", {"after": "x"}, **header),
        "schedules": one.get("/schedules", {"cursor": "x"}, **header),
        "followups": one.get("/followups", {"wait": "x"}, **header),
        "page": one.get("/followups", {"limit": "0"}, **header),
        "inside a turn": one.post("/fork", **header),
        "no event": one.post("/fork", {"boundary": 99}, **header),
        "taken": one.post("/fork", {"id": one.id, "boundary": 0}, **header),
        "begin": one.hold("/turns", message="x", **header),
        "create": one.tool("create", {}, **header),
    }
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code < 400} == {}
    force(one.id, "schedule/change", "null")
    assert refusal(one.get("/schedules", **header)) == (409, "corrupt_schedule_log")
    assert expires(one) == end


def test_a_stale_lease_is_refused_everywhere_and_writes_nothing(one: Host) -> None:
    one.queue()
    one.say()
    stale = "stale"
    header: dict[str, Any] = {"HTTP_WAKEFUL_LEASE": stale}
    before = one.log(), one.get().json(), stored()
    create = {"prompt": "look", "after_seconds": 9}
    answers = {
        "renew": one.post("/renew", {"leaseId": stale}),
        "renew by header": one.hold("/renew", **header),
        "close": one.post("/close", {"leaseId": stale}),
        "close by header": one.hold("/close", **header),
        "begin": one.post("/turns", {"leaseId": stale, "message": "x"}),
        "begin by header": one.hold("/turns", message="x", **header),
        "claim": one.post("/turns", {"leaseId": stale}),
        "add": one.post("/turns/1/messages", {"leaseId": stale, "message": "x"}),
        "end": one.post("/turns/1/end", {"leaseId": stale, "outcome": "failed"}),
        "end by header": one.hold("/turns/1/end", outcome="failed", **header),
        "append": one.post("/events", {"leaseId": stale, "type": "host:x", "data": 1}),
        "discard": one.client.delete(f"/sessions/{one.id}/followups/followup-1", {"leaseId": stale}),
        "create": one.tool("create", create, **header),
        "list": one.tool("list", **header),
        "delete": one.tool("delete", {"id": "schedule-1"}, **header),
        "read": one.get(**header),
        "events": one.get("/events", **header),
        "schedules": one.get("/schedules", **header),
        "followups": one.get("/followups", **header),
        "fork": one.post("/fork", **header),
    }
    assert {name: refusal(answer) for name, answer in answers.items()} == dict.fromkeys(answers, (409, "lease_lost"))
    assert (one.log(), one.get().json(), stored()) == before


def test_a_host_may_open_though_it_names_the_lease_that_it_lost(one: Host) -> None:
    assert one.post("/open", {"holder": "laptop"}, HTTP_WAKEFUL_LEASE="stale").status_code == 200


def test_a_closed_session_is_cold(one: Host) -> None:
    one.say()
    assert one.hold("/close").json() == {"closed": True}
    assert one.told()[-2:] == ["turn/end interrupted", "session/closed closed"]
    assert one.get().json()["live"] is False
    assert refusal(one.hold("/renew")) == (409, "lease_lost")
    assert refusal(one.hold("/close")) == (409, "lease_lost")
    assert one.post("/open", {"holder": "desktop"}).status_code == 200


def test_a_lease_ends_at_its_very_instant(one: Host, clock: HandClock) -> None:
    one.say()
    clock.advance(seconds=59, ms=999)
    assert one.get().json()["live"] is True
    assert refusal(one.post("/open", {"holder": "desktop"})) == (409, "session_live")
    clock.advance(ms=1)
    assert (one.get().json()["live"], one.get().json()["lease"]) == (False, None)
    for answer in (one.hold("/renew"), one.hold("/turns", message="x"), one.end(1)):
        assert refusal(answer) == (409, "lease_lost")
    assert refusal(one.tool("list")) == (409, "session_not_live")
    assert one.told()[-2:] == ["turn/start user", "user/message hello"]  # nobody wrote it down yet


def test_the_next_open_writes_the_end_of_a_lease_once(one: Host, clock: HandClock) -> None:
    one.say()
    clock.advance(seconds=60)
    assert one.post("/open", {"holder": "desktop"}).status_code == 200
    assert one.told()[-3:] == ["turn/end interrupted", "session/closed lease_expired", "session/opened"]
    assert one.told().count("session/closed lease_expired") == 1


def test_the_same_holder_after_its_lease_ended_opens_anew(one: Host, clock: HandClock) -> None:
    clock.advance(seconds=60)
    assert one.open().status_code == 200
    assert one.told() == ["session/opened", "session/closed lease_expired", "session/opened"]


def test_after_a_rollback_no_lease_lasts_longer_than_one_lease_time(one: Host, clock: HandClock) -> None:
    clock.advance(seconds=-3600)
    assert expires(one) == -3600_000 + 60_000
    assert one.tool("list").status_code == 200  # a writer met the new time: the lease is cut for good
    clock.advance(seconds=60)
    assert one.get().json()["live"] is False
    assert one.post("/open", {"holder": "desktop"}).status_code == 200


def test_a_lease_that_a_rollback_left_in_the_future_bars_no_other_holder_for_long(one: Host, clock: HandClock) -> None:
    clock.advance(seconds=-3600)
    assert refusal(one.post("/open", {"holder": "desktop"})) == (409, "session_live")
    clock.advance(seconds=60)
    assert one.post("/open", {"holder": "desktop"}).status_code == 200


def test_a_lease_never_reaches_past_the_last_year(one: Host, clock: HandClock) -> None:
    one.hold("/close")
    clock.now = LAST - 10_000
    assert one.open(leaseSeconds=86_400).json()["expiresAt"] == "9999-12-31T23:59:59.999Z"
    assert one.hold("/renew").json()["expiresAt"] == "9999-12-31T23:59:59.999Z"
    assert one.say().status_code == 201
    assert one.get().json()["live"] is True


def test_a_holder_is_named(one: Host) -> None:
    one.hold("/close")
    for holder in (None, "", 7, "x" * 201, "\u0000", "\ud800"):
        assert refusal(one.post("/open", {"holder": holder})) == (400, "invalid_request"), holder
    assert one.open(holder="x" * 200).status_code == 200
    assert one.get().json()["lease"]["holder"] == "x" * 200
