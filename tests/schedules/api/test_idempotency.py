"""``Idempotency-Key``: the same key with the same body gives the first answer again, and writes nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from schedules.models import IdempotentAnswer
from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, host, refusal, stored

Api = Callable[[User], Client]
AtOnce = Callable[..., list[Any]]
Call = Callable[..., Any]


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    return host(api(user))


def keyed(key: str = "k") -> dict[str, str]:
    return {"HTTP_IDEMPOTENCY_KEY": key}


def create(one: Host, key: str = "k", **arguments: Any) -> Any:
    return one.tool("create", {"prompt": "look", "after_seconds": 60, **arguments}, **keyed(key))


def delete(one: Host, key: str = "k") -> Any:
    return one.tool("delete", {"id": "schedule-1"}, **keyed(key))


def begin(one: Host, key: str = "k") -> Any:
    return one.say("hello", **keyed(key))


def claim(one: Host, key: str = "k") -> Any:
    return one.hold("/turns", **keyed(key))


def end(one: Host, key: str = "k") -> Any:
    return one.end(1, **keyed(key))


def nothing(one: Host) -> None:
    pass


CALLS: dict[str, tuple[Callable[[Host], Any], Call]] = {
    "create": (nothing, create),
    "delete": (lambda one: one.tool("create", {"prompt": "x", "after_seconds": 9}), delete),
    "begin": (nothing, begin),
    "claim": (lambda one: one.queue(), claim),
    "end": (lambda one: one.say(), end),
}
every_call = pytest.mark.parametrize(("before", "call"), CALLS.values(), ids=list(CALLS))


@every_call
def test_the_first_answer_comes_again_and_nothing_is_written(
    one: Host, clock: HandClock, before: Callable[[Host], Any], call: Call
) -> None:
    before(one)
    first = call(one)
    assert first.status_code < 300
    written = one.log(), stored()
    clock.advance(seconds=1)
    again = call(one)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert (one.log(), stored()) == written


@every_call
def test_the_first_answer_comes_again_when_the_session_is_cold(
    one: Host, clock: HandClock, before: Callable[[Host], Any], call: Call
) -> None:
    before(one)
    first = call(one)
    clock.advance(seconds=60)
    written = one.log(), stored()
    assert call(one).content == first.content
    assert (one.log(), stored()) == written


@every_call
def test_two_calls_at_one_instant_write_once(
    one: Host, at_once: AtOnce, before: Callable[[Host], Any], call: Call
) -> None:
    before(one)
    length = len(one.log())
    answers = at_once(*(lambda: call(one),) * 4)
    assert {answer.status_code for answer in answers} <= {200, 201}, answers
    assert len({answer.content for answer in answers}) == 1
    assert IdempotentAnswer.objects.count() == 1
    assert len(one.log()) - length == (1 if call in (create, delete, end) else 2)


def test_two_calls_without_a_key_write_twice(one: Host, at_once: AtOnce) -> None:
    def call() -> Any:
        return one.tool("create", {"prompt": "look", "after_seconds": 60})

    answers = at_once(call, call, call)
    assert {answer.json()["id"] for answer in answers} == {"schedule-1", "schedule-2", "schedule-3"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"prompt":"look","after_seconds":60}',
        b'{"after_seconds":60.0,"prompt":"look"}',
        b' {"prompt": "l\\u006fok", "after_seconds": 6e1} ',
        b'{"prompt":"look","after_seconds":600e-1}',
    ],
)
def test_bodies_are_compared_as_json_values(one: Host, body: bytes) -> None:
    first = create(one)
    again = one.client.raw("POST", f"/sessions/{one.id}/tools/schedule_create", body, **keyed())
    assert again.content == first.content
    assert len(one.tool("list").json()) == 1


@pytest.mark.parametrize(
    "arguments", [{"after_seconds": 61}, {"prompt": "look "}, {"at": None}, {"every_seconds": 1}, {"x": 1}]
)
def test_another_body_is_a_conflict(one: Host, arguments: dict[str, Any]) -> None:
    create(one)
    before = one.log(), stored()
    assert refusal(create(one, **arguments)) == (422, "idempotency_conflict")
    assert (one.log(), stored()) == before


def test_true_is_not_one_and_text_is_no_number(one: Host) -> None:
    create(one, after_seconds=1)
    for other in (True, "1"):
        assert refusal(create(one, after_seconds=other)) == (422, "idempotency_conflict")
    assert create(one, after_seconds=1.0).status_code == 200


def test_a_key_is_of_one_session_and_one_call(one: Host) -> None:
    other = host(one.client, "other")
    assert create(one).json() == create(other).json()
    assert len(other.tool("list").json()) == 1
    assert delete(one).json()["deleted"] is True
    assert begin(one).status_code == 201
    assert end(one).status_code == 200
    assert IdempotentAnswer.objects.count() == 5


def test_a_key_of_one_turns_end_is_none_of_anothers(one: Host) -> None:
    begin(one)
    end(one)
    begin(one, "second")
    # The turn is in the address: to end another one with this key is another call.
    assert refusal(one.end(2, **keyed())) == (422, "idempotency_conflict")
    assert one.end(2, **keyed("third")).status_code == 200


def test_an_answer_that_wrote_nothing_is_not_kept(one: Host) -> None:
    assert delete(one).json()["deleted"] is False
    assert IdempotentAnswer.objects.count() == 0
    one.tool("create", {"prompt": "x", "after_seconds": 9})
    assert delete(one).json()["deleted"] is True
    assert delete(one).json()["deleted"] is True


def test_a_refused_call_may_be_sent_again_corrected(one: Host) -> None:
    assert refusal(create(one, prompt="")) == (400, "invalid_prompt")
    assert refusal(create(one, at="2027-01-01T00:00:00Z", after_seconds=None, prompt=7)) == (
        400,
        "invalid_prompt",
    )
    assert refusal(one.tool("create", {"prompt": "x", "at": "2020-01-01T00:00:00Z"}, **keyed())) == (
        400,
        "not_future",
    )
    assert refusal(claim(one)) == (409, "nothing_to_claim")
    assert refusal(end(one)) == (409, "turn_not_open")
    assert IdempotentAnswer.objects.count() == 0
    assert create(one).status_code == 200
    assert begin(one).status_code == 201
    assert refusal(one.end(1, "won", **keyed())) == (400, "invalid_outcome")
    assert end(one).status_code == 200


def test_a_call_to_a_cold_session_may_be_sent_again_when_it_is_live(one: Host) -> None:
    one.hold("/close")
    assert refusal(create(one)) == (409, "session_not_live")
    one.open()
    assert create(one).status_code == 200


def test_the_first_answer_comes_again_though_the_lease_is_stale(one: Host) -> None:
    first = begin(one)
    old = one.lease
    one.open()
    again = one.post("/turns", {"leaseId": old, "message": "hello"}, **keyed(), HTTP_WAKEFUL_LEASE=old)
    assert again.content == first.content


def test_only_the_owner_is_shown_a_kept_answer(one: Host, api: Api, stranger: User) -> None:
    create(one)
    assert refusal(create(Host(api(stranger), one.id, ""))) == (404, "not_found")


@pytest.mark.parametrize("key", ["k", "x" * 255, "a b", "!~", "550e8400-e29b-41d4-a716-446655440000", '"\\'])
def test_a_key_is_any_short_printable_text(one: Host, key: str) -> None:
    first = create(one, key)
    assert first.status_code == 200
    assert create(one, key).content == first.content
    assert create(one, key + "2" if len(key) < 255 else "y" + key[1:]).json()["id"] == "schedule-2"


@pytest.mark.parametrize("key", ["", " ", "x" * 256, "x" * 300, "é", "\u0000", "a\tb", "\x7f", " a", "a "])
def test_a_key_that_is_none_is_refused(one: Host, key: str) -> None:
    one.say()
    before = one.log(), stored()
    for answer in (create(one, key), delete(one, key), begin(one, key), end(one, key)):
        assert refusal(answer) == (400, "invalid_request")
        assert set(answer.json()["fields"]) == {"Idempotency-Key"}
    assert (one.log(), stored()) == before
