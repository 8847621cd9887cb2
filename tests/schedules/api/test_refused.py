"""Calls that nothing can be made of: each gets its 4xx and its code, and leaves every table as it was."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, Unmoved, host, refusal

Api = Callable[[User], Client]

HUGE = 10**300  # the largest that JSON may hold is about 1.8 * 10^308
NOT_TEXT: tuple[Any, ...] = (7, 1.5, True, [], {}, HUGE)
UNKEPT = ("\u0000", "a\u0000b", "\ud800", "x\udfff")
NOT_KEPT_TEXT = (*NOT_TEXT, *UNKEPT)
NOT_WHOLE: tuple[Any, ...] = ("5", 5.5, True, [], {}, 2**53, -(2**53), HUGE, 1e300, "\u0000")
NOT_SWITCH: tuple[Any, ...] = ("true", "", 0, 1, [], {})
NOT_OBJECT: tuple[Any, ...] = ("", 7, True, [], [{}], "\ud800")
NOT_LEASE = (None, "", "x" * 129, *NOT_KEPT_TEXT)
NOT_ID = ("", "x" * 129, "a/b", "é", *NOT_KEPT_TEXT)
NOT_INSTANT = (
    "",
    "now",
    "2026-12-01",
    "2026-12-01T00:00:00",
    "2026-W01-1",
    "20260101T000000Z",
    "2026-02-30T00:00:00Z",
    "2026-12-01T00:00:00Z\n",
    "٢٠٢٦-12-01T00:00:00Z",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    *NOT_KEPT_TEXT,
)
NOT_ZONE = ("", "CET", "UTC\n", *NOT_KEPT_TEXT)

LEASE = "the lease"  # stands for the leaseId of the session


@dataclass(frozen=True)
class Call:
    """A call with a body: one that succeeds, and for each field what it may not be, by the code that it gets."""

    path: str
    body: dict[str, Any]
    wrong: dict[str, dict[str, tuple[Any, ...]]]
    method: str = "POST"
    before: Callable[[Host], Any] = field(default=lambda one: None)


def request(*values: Any) -> dict[str, tuple[Any, ...]]:
    return {"invalid_request": values}


RULE = {"invalid_rule": ("", "soon", *NOT_TEXT[:-1], HUGE, *UNKEPT)}
NOT_SECONDS: dict[str, tuple[Any, ...]] = {"invalid_rule": ("5", 5.5, True, [], {}, 2**53, HUGE, 1e300, "\u0000")}
CALLS = (
    Call(
        "/sessions",
        {},
        {
            "id": request(*NOT_ID),
            "title": request("x" * 501, *NOT_KEPT_TEXT),
            "cwd": request("x" * 4097, *NOT_KEPT_TEXT),
            "metadata": request(*NOT_OBJECT),
            "open": request(*NOT_SWITCH),
            "holder": request("", "x" * 201, *NOT_KEPT_TEXT),
            "leaseSeconds": request(4, 86_401, *NOT_WHOLE),
        },
    ),
    Call(
        "/sessions/s-1/open",
        {"holder": "laptop"},
        {
            "holder": request(None, "", "x" * 201, *NOT_KEPT_TEXT),
            "leaseSeconds": request(4, 86_401, *NOT_WHOLE),
        },
    ),
    Call("/sessions/s-1/renew", {"leaseId": LEASE}, {"leaseId": request(*NOT_LEASE)}),
    Call("/sessions/s-1/close", {"leaseId": LEASE}, {"leaseId": request(*NOT_LEASE)}),
    Call("/sessions/s-1/fork", {}, {"boundary": request(-1, *NOT_WHOLE), "id": request(*NOT_ID)}),
    Call(
        "/sessions/s-1/turns",
        {"leaseId": LEASE, "message": "x"},
        {
            "leaseId": request(*NOT_LEASE),
            "message": request(*NOT_TEXT),
            "clientTimeZone": {"invalid_time_zone": NOT_ZONE},
        },
    ),
    Call(
        "/sessions/s-1/turns/1/messages",
        {"leaseId": LEASE, "message": "x"},
        {
            "leaseId": request(*NOT_LEASE),
            "message": request(None, *NOT_TEXT),
            "clientTimeZone": {"invalid_time_zone": NOT_ZONE},
        },
        before=Host.say,
    ),
    Call(
        "/sessions/s-1/turns/1/end",
        {"leaseId": LEASE, "outcome": "completed"},
        {
            "leaseId": request(*NOT_LEASE),
            "outcome": {"invalid_outcome": (None, "", "interrupted", *NOT_KEPT_TEXT)},
            "message": request(*NOT_TEXT),
        },
        before=Host.say,
    ),
    Call(
        "/sessions/s-1/events",
        {"leaseId": LEASE, "type": "host:note", "data": 1},
        {
            "leaseId": request(*NOT_LEASE),
            "type": request(None, "", "note", "turn/end", "x:" + "y" * 127, *NOT_KEPT_TEXT),
        },
    ),
    Call(
        "/sessions/s-1/followups/followup-1",
        {"leaseId": LEASE},
        {"leaseId": request(*NOT_LEASE)},
        method="DELETE",
    ),
    Call(
        "/sessions/s-1/tools/schedule_create",
        {"prompt": "x", "after_seconds": 9},
        {
            "prompt": {"invalid_prompt": (None, "", "\ufeff", "\ud800", "x\udfff", *NOT_TEXT)},
            "after_seconds": {
                "invalid_selector": (None,),
                "invalid_rule": (0, *NOT_SECONDS["invalid_rule"]),
                "time_out_of_range": (2**53 - 1,),
            },
        },
    ),
    Call(
        "/sessions/s-1/tools/schedule_create",
        {"prompt": "x", "every_seconds": 300},
        {"every_seconds": NOT_SECONDS | {"frequency_too_high": (299, -(2**53 - 1))}},
    ),
    Call("/sessions/s-1/tools/schedule_create", {"prompt": "x", "at": "2027-01-01T00:00:00Z"}, {"at": RULE}),
    Call("/routines/validate", {"text": "x"}, {"text": request(None, *NOT_TEXT)}),
    Call(
        "/routines/preview",
        {"schedule": {"kind": "manual"}},
        {
            "schedule": {"routine_invalid": (None, "", "manual", {"kind": "\u0000"}, *NOT_TEXT, *UNKEPT)},
            "after": request(*NOT_INSTANT),
            "anchor": request(*NOT_INSTANT),
            "count": request(0, 101, *NOT_WHOLE),
        },
    ),
    Call("/sessions/s-1/tools/schedule_list", {}, {}),
    Call(
        "/sessions/s-1/tools/schedule_delete",
        {"id": "schedule-1"},
        {"id": {"invalid_rule": (None, "", " a", *NOT_TEXT)}},
    ),
)
every_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.path} {len(call.wrong)}")


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    one = host(api(user), "s-1")
    one.queue()
    one.tool("create", {"prompt": "look", "after_seconds": 600})
    return one


def filled(call: Call, one: Host, **more: Any) -> dict[str, Any]:
    body = {name: one.lease if value == LEASE else value for name, value in call.body.items()}
    return body | more


def send(one: Host, call: Call, body: Any) -> Any:
    return one.client.delete(call.path, body) if call.method == "DELETE" else one.client.post(call.path, body)


@every_call
def test_a_field_of_another_type_is_refused(one: Host, call: Call) -> None:
    call.before(one)
    unmoved = Unmoved(one)
    for name, by_code in call.wrong.items():
        for code, values in by_code.items():
            for value in values:
                answer = send(one, call, filled(call, one, **{name: value}))
                assert unmoved.refuse(answer, (name, value)) == (400, code), (name, value)
                if code == "invalid_request":
                    assert set(answer.json()["fields"]) == {name}
    assert send(one, call, filled(call, one)).status_code < 300


@every_call
def test_an_unknown_field_is_refused(one: Host, call: Call) -> None:
    call.before(one)
    unmoved = Unmoved(one)
    code = "invalid_selector" if "/tools/" in call.path else "invalid_request"
    for name in ("note", "", "LeaseId", "\u0000", "\ud800", "x" * 5000, "__proto__"):
        for value in (None, 1):
            answer = send(one, call, filled(call, one, **{name: value}))
            assert unmoved.refuse(answer, name) == (400, code)
            assert len(answer.content) < 3000


NOT_JSON = (
    b"{",
    b"nul",
    b"{'a':1}",
    b'{"a":1,}',
    b"{} {}",
    b" ",
    b"\x00",
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}",
    b'{"a":"\xed\xa0\x80"}',
    b'{"a":"\\ud8"}',
    b'{"a":"\n"}',
    b'{"a":01}',
    b'{"a":NaN}',
    b'{"a":-Infinity}',
    b'{"a":1e400}',
    b'{"a":-1e400}',
    b'{"a":1' + b"0" * 400 + b"}",
    b'{"a":1' + b"0" * 5000 + b"}",
    b'{"a":1,"a":1}',
    b'{"a":{"b":1,"b":1}}',
    b'{"a":' + b"[" * 64 + b"]" * 64 + b"}",
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 100_000,
    b"[" * 100_000,
)


@every_call
def test_what_is_no_strict_json_is_refused(one: Host, call: Call) -> None:
    call.before(one)
    unmoved = Unmoved(one)
    for body in NOT_JSON:
        for content_type in ("application/json", "application/x-www-form-urlencoded"):
            answer = one.client.raw(call.method, call.path, body, content_type)
            assert refusal(answer) == (400, "invalid_json"), body[:40]
    assert unmoved.refuse(answer, "all of it") == (400, "invalid_json")


@every_call
def test_a_body_over_a_mebibyte_is_refused(one: Host, call: Call) -> None:
    unmoved = Unmoved(one)
    for body in (b'{"a":"' + b"x" * 2**21 + b'"}', b" " * (2**20 + 1)):
        answer = one.client.raw(call.method, call.path, body)
        assert unmoved.refuse(answer, len(body)) == (413, "too_large")
    # What is said of the length is enough.
    answer = one.client.raw(call.method, call.path, b"{}", CONTENT_LENGTH=str(50 * 2**20))
    assert unmoved.refuse(answer, "declared") == (413, "too_large")


@every_call
def test_a_body_that_is_no_object_is_refused(one: Host, call: Call) -> None:
    call.before(one)
    unmoved = Unmoved(one)
    code = "invalid_selector" if "/tools/" in call.path else "invalid_request"
    for body in (b"[]", b"null", b"7", b'"x"', b"true", b"[{}]", b"1.5", b'"\\u0000"'):
        answer = one.client.raw(call.method, call.path, body)
        assert unmoved.refuse(answer, body) == (400, code)


def test_values_nested_just_deep_enough_are_kept(one: Host) -> None:
    deep: Any = 1
    for _ in range(63):
        deep = [deep]
    assert one.hold("/events", type="host:deep", data=deep).json()["data"] == deep
    answer = one.hold("/events", type="host:deep", data=[deep])
    assert refusal(answer) == (400, "invalid_json")
