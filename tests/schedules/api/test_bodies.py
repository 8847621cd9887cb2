"""Bodies are whole before anybody works on them: measured, bounded in size and in time."""

import asyncio

import pytest
from django.conf import settings

from schedules.api import bodies
from schedules.api.asgi import Message, Receive, Scope, Send, answer
from tests.asgi_calls import Call

LIMIT = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
CHUNKED = {"Transfer-Encoding": "chunked"}


class Inner:
    """The application inside: keeps what it was handed."""

    def __init__(self) -> None:
        self.handed: list[tuple[dict[bytes, bytes], Message]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.handed.append((dict(scope["headers"]), await receive()))
        await answer(send, 200, {})

    @property
    def body(self) -> bytes:
        """The one body, which came in one message."""
        ((_, message),) = self.handed
        assert (message["type"], message["more_body"]) == ("http.request", False)
        return bytes(message["body"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        ((headers, _),) = self.handed
        return headers


def put(call: Call) -> Inner:
    """Put the call to bodies around an application."""
    inner = Inner()
    asyncio.run(asyncio.wait_for(call.of(bodies.Bodies(inner)), 30))
    return inner


def test_a_body_in_parts_comes_whole_and_with_its_length() -> None:
    inner = put(Call("POST", "/", CHUNKED, [b'{"a"', b"", b":1}"]))
    assert inner.body == b'{"a":1}'
    assert inner.headers == {b"host": b"localhost", b"content-length": b"7"}


def test_a_body_that_tells_its_length_comes_as_it_is() -> None:
    inner = put(Call("POST", "/", {"Content-Length": "4"}, [b"nu", b"ll"]))
    assert (inner.body, inner.headers[b"content-length"]) == (b"null", b"4")


def test_a_request_without_a_body_has_an_empty_one() -> None:
    inner = put(Call("GET", "/"))
    assert (inner.body, inner.headers) == (b"", {b"host": b"localhost"})


@pytest.mark.parametrize("size", [LIMIT, LIMIT + 1, LIMIT * 5])
def test_a_body_is_taken_in_up_to_one_byte_over_the_limit(size: int) -> None:
    part = 2**16
    call = Call("POST", "/", CHUNKED, [b"x" * min(part, size - at) for at in range(0, size, part)])
    inner = put(call)
    assert len(inner.body) == min(size, LIMIT + 1)
    assert inner.headers[b"content-length"] == str(len(inner.body)).encode()
    assert call.taken <= LIMIT + part


@pytest.mark.parametrize("length", [str(LIMIT + 1), "9" * 5000])
def test_of_a_body_that_declares_itself_too_large_nothing_is_taken_in(length: str) -> None:
    call = Call("POST", "/", {"Content-Length": length}, [b"x" * 100])
    inner = put(call)
    assert (inner.body, inner.headers[b"content-length"], call.taken) == (b"", length.encode(), 0)


@pytest.mark.parametrize("headers", [CHUNKED, {"Content-Length": "100"}])
@pytest.mark.parametrize("parts", [[], [b"{"]])
def test_a_body_that_does_not_come_in_time_is_refused(
    headers: dict[str, str], parts: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "SECONDS", 0.01)
    call = Call("POST", "/", headers, parts, ends=False)
    assert put(call).handed == []
    assert (call.status, call.body["code"], call.answered[b"connection"]) == (408, "invalid_request", b"close")


def test_nobody_works_for_a_client_that_left_before_the_end() -> None:
    call = Call("POST", "/", CHUNKED, [b"{"], ends=False, leaves=True)
    assert put(call).handed == []
    assert call.sent == []


@pytest.mark.parametrize("coding", ["gzip, chunked", "gzip", "identity", "chunked, chunked", ""])
def test_any_other_coding_is_refused(coding: str) -> None:
    call = Call("POST", "/", {"Transfer-Encoding": coding}, [b"{}"])
    assert put(call).handed == []
    assert (call.status, call.body["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("coding", ["Chunked", " chunked "])
def test_a_codings_letter_case_does_not_matter(coding: str) -> None:
    assert put(Call("POST", "/", {"Transfer-Encoding": coding}, [b"{}"])).body == b"{}"


def test_after_its_body_a_client_can_be_heard_to_leave() -> None:
    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        heard.extend([(await receive())["type"], (await receive())["type"]])

    heard: list[str] = []
    asyncio.run(Call("POST", "/", CHUNKED, [b"{}"], leaves=True).of(bodies.Bodies(inner)))
    assert heard == ["http.request", "http.disconnect"]
