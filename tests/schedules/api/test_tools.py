"""The three tools over HTTP: each code with its status, the order of the checks, the values."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from pytest_django import Settings

from schedules.domain import errors
from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, force, host, refusal, stored

Api = Callable[[User], Client]

PAST = "2026-12-01T00:00:00.000Z"  # the test's now
SOON = "2026-12-01T00:00:00.001Z"


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    return host(api(user), leaseSeconds=3600)


def create(one: Host, prompt: Any = "look", **rule: Any) -> Any:
    return one.tool("create", {"prompt": prompt, **(rule or {"after_seconds": 600})})


def local(date: Any = "2027-03-28", time: Any = "09:00:00", time_zone: Any = "Europe/Paris") -> dict[str, Any]:
    return {"date": date, "time": time, "time_zone": time_zone}


# What each argument may not be.
PROMPTS: tuple[Any, ...] = (None, 7, [], "", " \n\ufeff\u2028", "\ud800", "x\udfff")
AFTER: tuple[Any, ...] = (0, -1, -0.0, 1.5, True, False, "60", [], {}, 2**53, 10**300, 1e300)
EVERY: tuple[Any, ...] = (300.5, True, "300", [], {}, 2**53, -(2**53), 1e300)
TOO_OFTEN: tuple[Any, ...] = (299, 0, -0.0, -1, 1 - 2**53)
AT: tuple[Any, ...] = (7, True, [], 1.5)
DATES: tuple[Any, ...] = (None, 7, "2027-02-29", "2027-1-1", "\ud800", "٢٠٢٧-01-01")
ZONES: tuple[Any, ...] = (None, 7, [], "", "CET", "+01:00", "Factory", "right/UTC", "\u0000", "\ud800")
LISTS: tuple[Any, ...] = ([], "", 7, {"id": 1}, {"x": None})
DELETES: tuple[Any, ...] = ([], "schedule-1", {"id": "a", "x": None})
IDS: tuple[Any, ...] = (None, 7, [], "", " ", " a", "a\ufeff")


def test_each_rule_makes_a_view(one: Host) -> None:
    common = {"prompt": "look", "state": "scheduled", "deliveryMode": "session-local"}
    after = create(one, " look\ufeff", after_seconds=600.0)
    assert after.status_code == 200
    assert after.json() == common | {
        "id": "schedule-1",
        "kind": "after",
        "afterSeconds": 600,
        "scheduledAt": "2026-12-01T00:10:00.000Z",
    }
    assert create(one, at="2026-12-01T02:00:00.5+01:00").json() == common | {
        "id": "schedule-2",
        "kind": "at",
        "scheduledAt": "2026-12-01T01:00:00.500Z",
    }
    assert create(one, at=local(time_zone="europe/paris")).json() == common | {
        "id": "schedule-3",
        "kind": "at",
        "scheduledAt": "2027-03-28T07:00:00.000Z",
    }
    every = create(one, every_seconds=300).json()
    assert every == common | {
        "id": "schedule-4",
        "kind": "every",
        "everySeconds": 300,
        "scheduledAt": "2026-12-01T00:05:00.000Z",
    }
    assert [view["id"] for view in one.tool("list").json()] == [f"schedule-{n}" for n in range(1, 5)]


def test_a_reminder_is_overdue_from_its_instant_on(one: Host, clock: HandClock) -> None:
    create(one, after_seconds=1)
    clock.advance(ms=999)
    assert one.tool("list").json()[0]["state"] == "scheduled"
    clock.advance(ms=1)
    assert one.tool("list").json()[0]["state"] == "overdue"
    assert one.get("/schedules").json()["results"] == one.tool("list").json()


def test_a_deleted_reminder_is_gone_and_its_id_is_not_used_again(one: Host) -> None:
    create(one)
    gone = one.tool("delete", {"id": "schedule-1"})
    assert (gone.status_code, gone.json()) == (200, {"id": "schedule-1", "deleted": True})
    again = one.tool("delete", {"id": "schedule-1"})
    assert again.status_code == 200
    assert again.json() == {"id": "schedule-1", "deleted": False, "code": "schedule_not_found"}
    assert one.tool("list").json() == []
    assert create(one).json()["id"] == "schedule-2"


@pytest.mark.parametrize("schedule_id", ["nope", "\u0000", "\ud800", "x" * 5000, "a b", "\x85", "\x1c"])
def test_deleting_an_unknown_id_is_an_answer(one: Host, schedule_id: str) -> None:
    answer = one.tool("delete", {"id": schedule_id})
    assert answer.status_code == 200
    assert answer.json() == {"id": schedule_id, "deleted": False, "code": "schedule_not_found"}


@pytest.mark.parametrize(
    ("arguments", "situation"),
    [
        ([], errors.CREATE_ARGUMENTS),
        ("x", errors.CREATE_ARGUMENTS),
        (None, errors.CREATE_ARGUMENTS),
        ({"prompt": "x", "after_seconds": 9, "note": 1}, errors.CREATE_ARGUMENTS),
        ({"prompt": "x", "after_seconds": 9, "timezone": None}, errors.CREATE_ARGUMENTS),
        ({}, errors.NO_SELECTOR),
        ({"prompt": "x", "at": None, "after_seconds": None, "every_seconds": None}, errors.NO_SELECTOR),
        ({"prompt": "x", "after_seconds": 9, "every_seconds": 300}, errors.SEVERAL_SELECTORS),
        ({"prompt": "x", "after_seconds": 0, "at": False}, errors.SEVERAL_SELECTORS),
        ({"after_seconds": 9}, errors.PROMPT),
        *(({"prompt": prompt, "after_seconds": 9}, errors.PROMPT) for prompt in PROMPTS),
        *(({"prompt": "x", "after_seconds": seconds}, errors.AFTER_SECONDS) for seconds in AFTER),
        *(({"prompt": "x", "every_seconds": seconds}, errors.EVERY_SECONDS) for seconds in EVERY),
        *(({"prompt": "x", "every_seconds": seconds}, errors.FREQUENCY) for seconds in TOO_OFTEN),
        *(({"prompt": "x", "at": at}, errors.AT_TYPE) for at in AT),
        *(
            ({"prompt": "x", "at": at}, errors.AT_STRING)
            for at in ("", "tomorrow", "2027-01-01T00:00:00", "2027-02-29T00:00:00Z", "2026-W01-1")
        ),
        *(
            ({"prompt": "x", "at": at}, errors.AT_STRING)
            for at in ("2027-01-01T00:00:00Z\n", "20270101T000000Z", "２０２７-01-01T00:00:00Z", "\u0000")
        ),
        ({"prompt": "x", "at": {}}, errors.AT_KEYS),
        ({"prompt": "x", "at": {"date": "2027-01-01", "time": "09:00:00"}}, errors.AT_KEYS),
        ({"prompt": "x", "at": local() | {"offset": "Z"}}, errors.AT_KEYS),
        *(({"prompt": "x", "at": local(date=date)}, errors.AT_LOCAL) for date in DATES),
        *(({"prompt": "x", "at": local(time=t)}, errors.AT_LOCAL) for t in (None, 7, "24:00:00", "09:00")),
        ({"prompt": "x", "at": local(time="02:30:00")}, errors.GAP),
        *(({"prompt": "x", "at": local(time_zone=zone)}, errors.TIME_ZONE) for zone in ZONES),
        ({"prompt": "x", "at": PAST}, errors.NOT_FUTURE),
        ({"prompt": "x", "at": "0001-01-01T00:00:00Z"}, errors.NOT_FUTURE),
        ({"prompt": "x", "at": local("2026-12-01", "01:00:00")}, errors.NOT_FUTURE),
        ({"prompt": "x", "at": "0001-01-01T00:00:00+00:01"}, errors.OUT_OF_RANGE),
        ({"prompt": "x", "at": "9999-12-31T23:59:59.999-00:01"}, errors.OUT_OF_RANGE),
        ({"prompt": "x", "after_seconds": 2**53 - 1}, errors.OUT_OF_RANGE),
        ({"prompt": "x", "every_seconds": 2**53 - 1}, errors.OUT_OF_RANGE),
    ],
    ids=repr,
)
def test_a_create_that_is_refused_says_why_in_the_same_words(
    one: Host, arguments: Any, situation: errors.Situation
) -> None:
    before = one.log(), stored()
    answer = one.client.post(f"/sessions/{one.id}/tools/schedule_create", arguments)
    if arguments is None:
        # REST framework's client sends nothing for it, which is an empty object.
        answer = one.client.raw("POST", f"/sessions/{one.id}/tools/schedule_create", b"null")
    assert answer.status_code == 400
    assert answer.json() == {"code": situation.code, "message": situation.message}
    assert (one.log(), stored()) == before


@pytest.mark.parametrize(
    ("name", "arguments", "situation"),
    [
        *(("list", arguments, errors.LIST_ARGUMENTS) for arguments in LISTS),
        *(("delete", arguments, errors.DELETE_ARGUMENTS) for arguments in DELETES),
        *(("delete", {"id": schedule_id}, errors.DELETE_ID) for schedule_id in IDS),
        ("delete", {}, errors.DELETE_ID),
    ],
    ids=repr,
)
def test_the_other_tools_refuse_too(one: Host, name: str, arguments: Any, situation: errors.Situation) -> None:
    answer = one.client.post(f"/sessions/{one.id}/tools/schedule_{name}", arguments)
    assert answer.status_code == 400
    assert answer.json() == {"code": situation.code, "message": situation.message}


def test_a_null_selector_counts_as_absent(one: Host) -> None:
    assert create(one, after_seconds=9, at=None, every_seconds=None).status_code == 200


def test_the_checks_come_in_order(one: Host, anonymous: Client, api: Api, stranger: User) -> None:
    path = f"/sessions/{one.id}/tools/schedule_create"
    broken = b'{"prompt":'
    assert refusal(anonymous.raw("POST", path, broken)) == (401, "unauthenticated")
    assert refusal(api(stranger).raw("POST", path, broken)) == (404, "not_found")
    assert refusal(one.client.raw("POST", path, broken)) == (400, "invalid_json")
    assert refusal(one.client.raw("POST", path, b" " * 2**20 + b"{}")) == (413, "too_large")
    key = {"HTTP_IDEMPOTENCY_KEY": "k"}
    assert one.tool("create", {"prompt": "x", "after_seconds": 9}, **key).status_code == 200
    # A replayed key goes before what is wrong with the arguments; another key does not.
    assert refusal(one.tool("create", {"prompt": ""}, **key)) == (422, "idempotency_conflict")
    one.hold("/close")
    assert one.tool("create", {"prompt": "x", "after_seconds": 9}, **key).status_code == 200
    # What the arguments alone show goes before whether the session is live.
    for arguments, code in (
        ({"x": 1, "prompt": "", "every_seconds": 1}, "invalid_selector"),
        ({"prompt": "", "every_seconds": 1}, "invalid_prompt"),
        ({"prompt": "x", "every_seconds": 1}, "frequency_too_high"),
        ({"prompt": "x", "at": local(date="2027-02-29", time_zone="CET")}, "invalid_rule"),
    ):
        assert refusal(one.tool("create", arguments)) == (400, code)
    # What needs the zone or the clock does not.
    for at in (local(time_zone="CET"), local(time="02:30:00"), PAST, "0001-01-01T00:00:00+01:00"):
        assert refusal(create(one, at=at)) == (409, "session_not_live")


def test_a_time_out_of_range_is_found_before_one_in_the_past(one: Host) -> None:
    assert refusal(create(one, at=local("0001-01-01", "00:00:00", "Asia/Seoul"))) == (
        400,
        "time_out_of_range",
    )


def test_a_cold_session_is_read_but_takes_no_tool(one: Host) -> None:
    create(one)
    one.hold("/close")
    before = one.log()
    for answer in (create(one), one.tool("list"), one.tool("delete", {"id": "schedule-1"})):
        assert refusal(answer) == (409, "session_not_live")
    assert [view["id"] for view in one.get("/schedules").json()["results"]] == ["schedule-1"]
    assert one.log() == before


BAD = [
    '{"version":2,"operation":"delete","id":"schedule-1"}',
    '{"version":1,"operation":"delete","id":"never-made"}',
    '{"version":1,"operation":"dispatch","id":"schedule-1","acceptedAt":"2027-01-01T00:00:00.000Z"}',
    "null",
    '"\\u0000"',
]


@pytest.mark.parametrize("data", BAD)
def test_a_corrupt_log_stops_its_session_alone(one: Host, data: str) -> None:
    create(one)
    other = host(one.client, "other")
    force(one.id, "schedule/change", data)
    before = one.log()
    for answer in (
        one.get("/schedules"),
        create(one),
        create(one, at=local(time_zone="CET")),
        one.tool("list"),
        one.tool("delete", {"id": "schedule-1"}),
        one.get("/schedules"),
    ):
        assert refusal(answer) == (409, "corrupt_schedule_log")
        assert answer.json()["message"] == errors.CORRUPT.message
    assert one.log() == before
    assert refusal(create(one, "")) == (400, "invalid_prompt")
    # Turns are none of the reminders' business, and neither are other sessions.
    assert one.say().status_code == 201
    assert create(other).status_code == 200
    one.hold("/close")
    assert refusal(one.tool("list")) == (409, "session_not_live")
    assert refusal(one.get("/schedules")) == (409, "corrupt_schedule_log")
    assert refusal(one.get("/schedules")) == (409, "corrupt_schedule_log")
    assert one.get().status_code == 200


def test_a_session_has_a_limit_of_active_reminders(one: Host, settings: Settings) -> None:
    settings.WAKEFUL_MAX_REMINDERS = 2
    for _ in range(2):
        assert create(one).status_code == 200
    assert refusal(create(one)) == (429, "limit_reached")
    assert refusal(create(one, "")) == (400, "invalid_prompt")
    one.tool("delete", {"id": "schedule-2"})
    assert create(one).json()["id"] == "schedule-3"


def test_what_breaks_inside_is_an_internal_error(one: Host, caplog: pytest.LogCaptureFixture) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE schedules_sessionstate SET claimed = 'no JSON' WHERE session_id = %s", [one.id])
    answer = create(one)
    assert (answer.status_code, answer.json()) == (
        500,
        {"code": "internal_error", "message": errors.INTERNAL.message},
    )
    assert [record.exc_info is not None for record in caplog.records if record.name == "schedules.tools"] == [True]


def test_reminders_are_shown_in_pages(one: Host) -> None:
    for _ in range(3):
        create(one)
    first = one.get("/schedules", {"limit": 2}).json()
    second = one.get("/schedules", {"limit": 2, "cursor": first["next"]}).json()
    assert [view["id"] for view in first["results"] + second["results"]] == [
        "schedule-1",
        "schedule-2",
        "schedule-3",
    ]
    assert second["next"] is None


def test_any_caller_with_rights_may_call_without_the_lease(one: Host, api: Api, user: User) -> None:
    assert create(Host(api(user), one.id, "")).status_code == 200
