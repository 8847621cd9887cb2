"""Follow-ups over HTTP: listed, claimed, discarded; they come back from a host that vanished, three times in all."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from schedules.sessions.lossless import Json
from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, host, plant, refusal

Api = Callable[[User], Client]


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    return host(api(user))


def waiting(one: Host, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = one.get("/followups", query).json()["results"]
    return found


def claim(one: Host) -> tuple[int, int, str]:
    """The turn, the attempt and the text of the claimed follow-up."""
    answer = one.hold("/turns")
    assert answer.status_code == 201, answer.json()
    claimed = answer.json()
    assert claimed["source"] == "followup"
    return claimed["turn"], claimed["attempt"], claimed["messages"][0]["text"]


def test_waiting_follow_ups_are_listed_oldest_first(one: Host, clock: HandClock) -> None:
    one.queue("b", "first")
    clock.advance(ms=1)
    reminders: Json = [{"id": "schedule-1", "occurrenceAt": "2026-12-01T00:00:00.000Z", "prompt": "\ud800"}]
    plant(
        one.id,
        "followup/queued",
        {"followupId": "a", "kind": "one-shot", "reminders": reminders, "text": "\u0000"},
    )
    assert waiting(one) == [
        {
            "followupId": "b",
            "seq": 1,
            "queuedAt": "2026-12-01T00:00:00.000Z",
            "attempt": 1,
            "kind": "prompt",
            "reminders": [],
            "text": "first",
        },
        {
            "followupId": "a",
            "seq": 2,
            "queuedAt": "2026-12-01T00:00:00.001Z",
            "attempt": 1,
            "kind": "one-shot",
            "reminders": reminders,
            "text": "\u0000",
        },
    ]
    page = one.get("/followups", {"limit": 1}).json()
    assert [row["followupId"] for row in page["results"]] == ["b"]
    rest = one.get("/followups", {"limit": 1, "cursor": page["next"]}).json()
    assert ([row["followupId"] for row in rest["results"]], rest["next"]) == (["a"], None)


@pytest.mark.parametrize("wait", ["61", "-1", "", "soon", "1.5", "9" * 30])
def test_a_wait_is_up_to_a_minute(one: Host, wait: str) -> None:
    assert refusal(one.get("/followups", {"wait": wait})) == (400, "invalid_request")
    assert one.get("/followups", {"wait": "0"}).json() == {"results": [], "next": None}


@pytest.mark.parametrize("query", [{"wait": "x"}, {"limit": "x"}, {"cursor": "x"}])
def test_a_stranger_is_told_nothing_of_their_query(one: Host, api: Api, stranger: User, query: dict[str, str]) -> None:
    assert refusal(api(stranger).get(f"/sessions/{one.id}/followups", query)) == (404, "not_found")


def test_a_turn_without_a_message_claims_the_oldest(one: Host) -> None:
    one.queue("b", "first")
    one.queue("a", "second")
    answer = one.hold("/turns").json()
    assert answer.pop("timeContext")["provenance"] == "missing"
    assert answer == {
        "turn": 1,
        "source": "followup",
        "attempt": 1,
        "messages": [{"seq": 4, "text": "first", "followupId": "b"}],
    }
    assert [(event["type"], event["data"]) for event in one.log()[-2:]] == [
        ("turn/start", {"turn": 1, "source": "followup", "followupId": "b", "attempt": 1}),
        ("user/message", {"turn": 1, "text": "first", "followupId": "b"}),
    ]
    assert [row["followupId"] for row in waiting(one)] == ["a"]
    one.end(1)
    assert claim(one) == (2, 1, "second")


def test_a_users_turn_leaves_the_queue_alone(one: Host) -> None:
    one.queue()
    one.say()
    one.end(1)
    assert len(waiting(one)) == 1


@pytest.mark.parametrize("outcome", ["completed", "failed", "aborted"])
def test_a_turn_that_the_host_ends_is_not_repeated(one: Host, outcome: str) -> None:
    one.queue()
    claim(one)
    one.end(1, outcome)
    assert waiting(one) == []
    assert refusal(one.hold("/turns")) == (409, "nothing_to_claim")
    assert one.get().json()["exhausted"] == []


def expire(one: Host, clock: HandClock) -> None:
    clock.advance(seconds=60)
    one.open()


def take_over(one: Host, clock: HandClock) -> None:
    one.open()


def close(one: Host, clock: HandClock) -> None:
    one.hold("/close")
    one.open()


WAYS = {"lease ended": expire, "taken over": take_over, "closed": close}


@pytest.mark.parametrize("vanish", WAYS.values(), ids=list(WAYS))
def test_a_follow_up_of_a_host_that_vanished_returns_three_times_in_all(
    one: Host, clock: HandClock, vanish: Callable[[Host, HandClock], None]
) -> None:
    one.queue("f", "wake up")
    one.queue("g", "later")
    for attempt in (1, 2, 3):
        assert [(row["followupId"], row["attempt"]) for row in waiting(one)] == [("f", attempt), ("g", 1)]
        assert claim(one) == (attempt, attempt, "wake up")
        vanish(one, clock)
    assert [(row["followupId"], row["attempt"]) for row in waiting(one)] == [("g", 1)]
    shown = one.get().json()
    assert [(row["followupId"], row["attempt"]) for row in shown["exhausted"]] == [("f", 3)]
    assert (shown["counts"]["waiting"], shown["counts"]["exhausted"]) == (1, 1)
    assert claim(one) == (4, 1, "later")
    # It follows from the turns' ends alone: nothing was queued again.
    assert one.told().count("followup/queued wake up") == 1


def test_the_ways_to_vanish_add_up(one: Host, clock: HandClock) -> None:
    one.queue()
    for attempt, vanish in enumerate(WAYS.values(), start=1):
        assert claim(one)[1] == attempt
        vanish(one, clock)
    assert waiting(one) == []
    assert len(one.get().json()["exhausted"]) == 1


def test_a_host_that_ends_the_second_attempt_is_done(one: Host) -> None:
    one.queue()
    claim(one)
    one.open()
    assert claim(one) == (2, 2, "wake up")
    one.end(2, "failed")
    assert (waiting(one), one.get().json()["exhausted"]) == ([], [])


def test_a_cold_session_shows_what_waits(one: Host) -> None:
    one.queue()
    one.hold("/close")
    assert len(waiting(one)) == 1
    one.open(holder="desktop")
    assert claim(one) == (1, 1, "wake up")


def drop(one: Host, followup_id: str, body: Any = None, **headers: Any) -> Any:
    return one.client.delete(
        f"/sessions/{one.id}/followups/{followup_id}",
        {"leaseId": one.lease} if body is None else body,
        **headers,
    )


def test_a_waiting_follow_up_may_be_discarded(one: Host) -> None:
    one.queue("f")
    one.queue("g")
    answer = drop(one, "f")
    assert (answer.status_code, answer.json()) == (200, {"followupId": "f", "discarded": True})
    assert [row["followupId"] for row in waiting(one)] == ["g"]
    assert one.log()[-1]["type"] == "followup/discarded"
    assert one.log()[-1]["data"] == {"followupId": "f"}
    assert refusal(drop(one, "f")) == (404, "not_found")


def test_the_header_alone_proves_the_lease_of_a_discard(one: Host) -> None:
    one.queue("f")
    assert refusal(drop(one, "f", {})) == (400, "invalid_request")
    assert drop(one, "f", {}, HTTP_WAKEFUL_LEASE=one.lease).status_code == 200


def test_only_what_waits_is_discarded(one: Host) -> None:
    one.queue("f")
    claim(one)
    before = one.log()
    for followup_id in ("f", "none", "%00", "%ED%A0%80", "%ff", "x" * 5000, "%E2%80%A8", "."):
        assert refusal(drop(one, followup_id)) == (404, "not_found"), followup_id
    assert one.log() == before


def test_an_exhausted_follow_up_waits_no_more(one: Host) -> None:
    one.queue("f")
    for _ in range(3):
        claim(one)
        one.open()
    assert refusal(drop(one, "f")) == (404, "not_found")


def test_an_id_of_any_characters_can_be_discarded(one: Host) -> None:
    one.queue("é /?%\u0000")
    assert drop(one, "%C3%A9%20%2F%3F%25%00").status_code == 200
