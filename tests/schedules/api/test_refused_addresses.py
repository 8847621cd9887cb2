"""Addresses, queries and headers that nothing can be made of: each gets its 4xx, and leaves every table as it was."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, Unmoved, host, refusal
from tests.schedules.api.test_refused import CALLS, Call, filled, send

Api = Callable[[User], Client]


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    one = host(api(user), "s-1")
    one.queue()
    one.tool("create", {"prompt": "look", "after_seconds": 600})
    return one


ODD_PARTS = ("%00", "s-1%00", "%ED%A0%80", "%FF", "s-1%0A", "%C3%A9", "s%201", "x" * 129, "%2e%2e%2f", "s-1/", "")


def test_an_address_of_odd_characters_is_none(one: Host) -> None:
    unmoved = Unmoved(one)
    for part in ODD_PARTS:
        for call in [call for call in CALLS if "s-1" in call.path]:
            answer = send(one, Call(call.path.replace("s-1", part), {}, {}, call.method), filled(call, one))
            assert refusal(answer) == (404, "not_found"), (part, call.path)
        for path in ("", "/events", "/schedules", "/followups"):
            if part or path:
                answer = one.client.get(f"/sessions/{part}{path}")
                assert refusal(answer) == (404, "not_found"), (part, path)
    for part in ODD_PARTS[:-2]:
        for address in (f"/{part}", f"/sessions/s-1/{part}", f"/sessions/s-1/tools/{part}"):
            assert refusal(one.client.get(address)) == (404, "not_found"), address
    assert unmoved.refuse(one.client.get("/%00"), "all of them") == (404, "not_found")


ODD_QUERY = ("%00", "1%00", "%ED%A0%80", "%FF", "1" + "0" * 400, "NaN", "1e400", "1.0", "%2B1", "%D9%A1", "", "[]")


def test_a_query_of_odd_characters_is_refused(one: Host) -> None:
    unmoved = Unmoved(one)
    for path, names in (
        ("/sessions", ("limit", "cursor", "live", "overdue")),
        ("/sessions/s-1/events", ("limit", "after")),
        ("/sessions/s-1/schedules", ("limit", "cursor")),
        ("/sessions/s-1/followups", ("limit", "cursor", "wait")),
    ):
        for text in ODD_QUERY:
            for name in names:
                answer = one.client.get(f"{path}?{name}={text}")
                assert refusal(answer) == (400, "invalid_request"), (path, name, text)
                assert set(answer.json()["fields"]) == {name}
            assert one.client.get(f"{path}?{text}={text}&origin={text}").status_code == 200
    assert unmoved.refuse(one.client.get("/sessions?limit=x"), "all of them") == (400, "invalid_request")


def test_a_header_of_odd_characters_is_refused(one: Host, anonymous: Client) -> None:
    unmoved = Unmoved(one)
    for text in ("", "\u0000", "é", "x" * 5000, "\udcff", f"{one.lease} "):
        for answer in (
            one.get(HTTP_WAKEFUL_LEASE=text),
            one.tool("create", {"prompt": "x", "after_seconds": 9}, HTTP_WAKEFUL_LEASE=text),
            one.post("/fork", HTTP_WAKEFUL_LEASE=text),
        ):
            assert unmoved.refuse(answer, text) == (409, "lease_lost")
        answer = anonymous.get("/sessions/s-1", HTTP_AUTHORIZATION=f"Bearer {text}")
        assert refusal(answer) == (401, "unauthenticated")
