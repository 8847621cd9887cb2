"""Turns over HTTP: begun, added to, ended; the time context; a host's own events."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from schedules import exchange
from schedules.domain import timecontext
from schedules.sessions import lossless
from tests.conftest import START, Client, HandClock
from tests.schedules.api.host import Host, host, refusal

Api = Callable[[User], Client]

ODD = "\u0000 \ud800 \udfff\ud83d \u2028 \U0001f600 \\u0000 \x85"


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    return host(api(user))


def missing(now: int = START) -> dict[str, Any]:
    return timecontext.context([], now)


def test_a_turn_begins_with_a_message(one: Host) -> None:
    answer = one.say("hello")
    assert answer.status_code == 201
    assert answer.json() == {
        "turn": 1,
        "source": "user",
        "messages": [{"seq": 2, "text": "hello"}],
        "timeContext": missing(),
    }
    assert [(event["type"], event["data"]) for event in one.log()[1:]] == [
        ("turn/start", {"turn": 1, "source": "user"}),
        ("user/message", {"turn": 1, "text": "hello"}),
    ]


def test_a_message_may_be_added_to_the_open_turn(one: Host) -> None:
    one.say("hello")
    answer = one.hold("/turns/1/messages", message="and")
    assert answer.status_code == 201
    assert answer.json()["messages"] == [{"seq": 2, "text": "hello"}, {"seq": 3, "text": "and"}]
    assert one.told()[-1] == "user/message and"


def test_a_turn_ends_with_an_outcome_and_perhaps_a_text(one: Host) -> None:
    for number, outcome in enumerate(("completed", "failed", "aborted"), start=1):
        one.say()
        answer = one.end(number, outcome, message="bye")
        assert answer.status_code == 200
        assert answer.json() == {"turn": number, "outcome": outcome, "timeContext": missing()}
        assert one.told()[-2:] == ["assistant/message bye", f"turn/end {outcome}"]
    one.say()
    one.end(4, message=None)
    assert one.told()[-2:] == ["user/message hello", "turn/end completed"]


def test_texts_are_kept_losslessly(one: Host) -> None:
    assert one.say(ODD).json()["messages"][0]["text"] == ODD
    assert one.hold("/turns/1/messages", message="").json()["messages"][1]["text"] == ""
    one.end(1, message=ODD)
    assert [event["data"].get("text") for event in one.log()[2:5]] == [ODD, "", ODD]


def test_only_one_turn_is_open_at_a_time(one: Host) -> None:
    one.queue()
    one.say()
    before = one.log()
    assert refusal(one.say()) == (409, "turn_open")
    assert refusal(one.hold("/turns")) == (409, "turn_open")
    assert one.log() == before


@pytest.mark.parametrize("number", [0, 2, "02", 999_999_999_999_999])
def test_a_turn_that_is_not_open_takes_nothing(one: Host, number: object) -> None:
    one.say()
    for answer in (
        one.hold(f"/turns/{number}/messages", message="x"),
        one.hold(f"/turns/{number}/end", outcome="completed"),
    ):
        assert refusal(answer) == (409, "turn_not_open")


def test_an_ended_turn_is_not_open(one: Host) -> None:
    one.say()
    one.end(1)
    assert refusal(one.end(1)) == (409, "turn_not_open")
    assert refusal(one.hold("/turns/1/messages", message="x")) == (409, "turn_not_open")


@pytest.mark.parametrize("number", ["x", "-1", "1.0", "9" * 20, "٣", ""])
def test_what_is_no_turns_number_is_no_address(one: Host, number: str) -> None:
    one.say()
    assert refusal(one.hold(f"/turns/{number}/end", outcome="completed")) == (404, "not_found")


@pytest.mark.parametrize("outcome", ["interrupted", "", "Completed", "completed\n", None, True, 1, [], {}])
def test_another_outcome_is_refused(one: Host, outcome: object) -> None:
    one.say()
    assert refusal(one.end(1, outcome)) == (400, "invalid_outcome")
    assert refusal(one.hold("/turns/1/end")) == (400, "invalid_outcome")
    assert one.get().json()["openTurn"]["turn"] == 1


def test_there_is_nothing_to_claim(one: Host) -> None:
    before = one.log()
    assert refusal(one.hold("/turns")) == (409, "nothing_to_claim")
    assert refusal(one.hold("/turns", message=None, clientTimeZone=None)) == (409, "nothing_to_claim")
    assert one.log() == before


@pytest.mark.parametrize(
    "zone", ["CET", "+01:00", "", "Factory", "posix/UTC", "utc", "Europe/Par\u0000is", "\ud800/x", 5, [], {}]
)
def test_a_zone_that_is_none_starts_nothing(one: Host, zone: object) -> None:
    before = one.log()
    assert refusal(one.say(clientTimeZone=zone)) == (400, "invalid_time_zone")
    assert one.log() == before
    one.say()
    assert refusal(one.hold("/turns/1/messages", message="x", clientTimeZone=zone)) == (
        400,
        "invalid_time_zone",
    )
    assert len(one.log()) == len(before) + 2


def test_a_zone_belongs_to_a_message(one: Host) -> None:
    answer = one.hold("/turns", clientTimeZone="Europe/Paris")
    assert refusal(answer) == (400, "invalid_request")
    assert set(answer.json()["fields"]) == {"clientTimeZone"}


def test_one_zone_is_the_zone_of_the_turn(one: Host, clock: HandClock) -> None:
    context = one.say(clientTimeZone="europe/PARIS").json()["timeContext"]
    assert context == timecontext.context(["Europe/Paris"], START)
    assert (context["provenance"], context["timeZone"]) == ("unique", "Europe/Paris")
    assert "Europe/Paris" in context["text"]
    assert one.log()[-1]["data"]["clientTimeZone"] == "Europe/Paris"
    # A message without a zone takes nothing away.
    clock.advance(seconds=1)
    context = one.hold("/turns/1/messages", message="x").json()["timeContext"]
    assert (context["provenance"], context["now"]) == ("unique", "2026-12-01T00:00:01.000Z")
    assert one.end(1).json()["timeContext"]["provenance"] == "unique"


def test_several_zones_are_mixed_and_none_is_missing(one: Host) -> None:
    assert one.say(clientTimeZone="UTC").json()["timeContext"]["timeZone"] == "UTC"
    mixed = one.hold("/turns/1/messages", message="x", clientTimeZone="Asia/Seoul").json()["timeContext"]
    assert (mixed["provenance"], "timeZone" in mixed) == ("mixed", False)
    one.end(1)
    # A zone is the message's alone: the next turn knows none.
    context = one.say().json()["timeContext"]
    assert (context["provenance"], "timeZone" in context) == ("missing", False)


def test_the_tools_read_no_clients_zone(one: Host) -> None:
    one.say(clientTimeZone="Europe/Paris")
    local = {"date": "2027-01-01", "time": "09:00:00"}
    assert refusal(one.tool("create", {"prompt": "x", "at": local})) == (400, "invalid_rule")


def test_the_sessions_open_turn_is_what_its_calls_answered(one: Host) -> None:
    assert one.get().json()["openTurn"] is None
    begun = one.say("hello", clientTimeZone="Asia/Seoul").json()
    assert one.get().json()["openTurn"] == begun
    added = one.hold("/turns/1/messages", message=ODD, clientTimeZone="Asia/Tokyo").json()
    assert one.get().json()["openTurn"] == added
    one.end(1)
    assert one.get().json()["openTurn"] is None
    one.queue()
    claimed = one.hold("/turns").json()
    assert (claimed["source"], claimed["attempt"]) == ("followup", 1)
    assert one.get().json()["openTurn"] == claimed


def test_a_cold_session_begins_no_turn(one: Host) -> None:
    one.hold("/close")
    assert refusal(one.say()) == (409, "lease_lost")


@pytest.mark.parametrize("kind", ["a:b", "my-host:note", "A.b/c_d:e:f", "x:" + "y" * 126])
def test_a_host_appends_events_of_its_own(one: Host, kind: str) -> None:
    data = {"z": [60, 60.0, ODD, None], "a": {ODD: 10**300}}
    answer = one.hold("/events", type=kind, data=data)
    assert answer.status_code == 201
    assert answer.json() == {"seq": 1, "type": kind, "time": START, "data": data}
    assert lossless.dumps(data) in lossless.dumps(lossless.loads(one.get("/events").content))


@pytest.mark.parametrize("data", [None, 0, "", [], False])
def test_a_hosts_data_is_any_value(one: Host, data: object) -> None:
    assert one.hold("/events", type="my-host:note", data=data).json()["data"] == data


def test_a_hosts_event_says_its_data(one: Host) -> None:
    answer = one.hold("/events", type="my-host:note")
    assert refusal(answer) == (400, "invalid_request")
    assert set(answer.json()["fields"]) == {"data"}


@pytest.mark.parametrize(
    "kind",
    [
        *("schedule/change", "turn/start", "turn/end", "followup/queued", "session/closed", "note", ":", "a:"),
        *(":a", "a b:c", "é:x", "x:" + "y" * 127, "a:b\n", "\u0000:a", "\ud800:a", "", None, 7, []),
    ],
)
def test_no_host_writes_events_of_another_kind(one: Host, kind: object) -> None:
    answer = one.hold("/events", type=kind, data={})
    assert refusal(answer) == (400, "invalid_request")
    assert set(answer.json()["fields"]) == {"type"}
    assert one.told() == ["session/opened"]


def test_a_message_is_text(one: Host) -> None:
    no_text: tuple[Any, ...] = (7, True, [], {})
    for message in no_text:
        assert refusal(one.say(message)) == (400, "invalid_request")
    one.say()
    for message in (None, *no_text):
        assert refusal(one.hold("/turns/1/messages", message=message)) == (400, "invalid_request")
        if message is not None:
            assert refusal(one.end(1, message=message)) == (400, "invalid_request")


@pytest.mark.parametrize("number", [10**15, 2**53 - 1])
def test_after_an_imported_turn_of_any_number_the_next_can_be_ended(
    user: User, api: Api, clock: HandClock, number: int
) -> None:
    header = {"type": "session", "version": 0, "id": "old", "createdAt": START, "delegationDepth": 0}
    start = {"type": "turn/start", "seq": 0, "time": START, "data": {"turn": number, "source": "user"}}
    exchange.import_log([lossless.dumps(line).encode() for line in (header, start)], owner_id=user.pk)
    old = Host(api(user), "old", "")
    old.open()
    begun = old.say()
    assert begun.json()["turn"] == number + 1
    assert old.hold(f"/turns/{number + 1}/messages", message="and").status_code == 201
    assert old.end(number + 1).json()["turn"] == number + 1
    assert refusal(old.end(10**18)) == (409, "turn_not_open")
    assert refusal(old.end(10**19)) == (404, "not_found")
