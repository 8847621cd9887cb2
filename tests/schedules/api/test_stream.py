"""A stream tells every event once, in order, whoever wrote it, and ends with its reader, its rights or the server."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections

from schedules import transaction, wake
from schedules.access import models as access
from schedules.api import stream
from schedules.api.asgi import Application, Message, Receive, Scope, Send
from tests.conftest import START, Client, HandClock
from tests.schedules.api.host import Host, host

Api = Callable[[User], Client]


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    return host(api(user), leaseSeconds=600)


async def plain(scope: Scope, receive: Receive, send: Send) -> None:
    """The plain view, asked in a thread that keeps no connection."""
    names = {name.decode(): value.decode() for name, value in scope["headers"] if name != b"host"}

    def ask() -> Any:
        try:
            return Client().get(scope["path"], headers=names)
        finally:
            connections.close_all()

    answer = await asyncio.to_thread(ask)
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers.items()]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})


class Reader:
    """One who reads a stream: what came, event by event."""

    def __init__(self, one: Host, token: str, **headers: str) -> None:
        self._asked = {"Authorization": f"Bearer {token}", **headers}
        self._path = f"/sessions/{one.id}/stream"
        self._arrived = asyncio.Condition()
        self._leaves = asyncio.Event()
        self.status = 0
        self.text = ""
        self.ended = False

    async def of(self, application: Application) -> None:
        """Read until the stream ends."""
        asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Message:
            for message in asked:
                return message
            await self._leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            async with self._arrived:
                self.status = message.get("status", self.status)
                self.text += message.get("body", b"").decode("ascii")
                self.ended = message["type"] == "http.response.body" and not message.get("more_body", False)
                self._arrived.notify_all()

        names = {name.lower().replace("_", "-").encode(): value.encode() for name, value in self._asked.items()}
        await application(
            {
                "type": "http",
                "method": "GET",
                "path": self._path,
                "query_string": b"",
                "root_path": "",
                "headers": [(b"host", b"localhost"), *names.items()],
                "http_version": "1.1",
                "scheme": "http",
                "server": ("localhost", 80),
                "client": ("127.0.0.1", 1),
            },
            receive,
            send,
        )

    async def until(self, found: Callable[[], bool]) -> None:
        """Wait until what has come satisfies this."""
        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(found), 30)

    def leave(self) -> None:
        self._leaves.set()

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that came; each stands under its own seq."""
        told = [block.splitlines() for block in self.text.split("\n\n") if block.startswith("id: ")]
        assert all(json.loads(data[6:])["seq"] == int(id_[4:]) for id_, data in told)
        return [json.loads(data[6:]) for _, data in told]


def elsewhere(act: Callable[[], object]) -> None:
    """Do something as another process would: nobody here is told."""
    heard = list(transaction.listeners)
    transaction.listeners.clear()
    try:
        act()
    finally:
        transaction.listeners[:] = heard
        connections.close_all()


def here(act: Callable[[], object]) -> None:
    try:
        act()
    finally:
        connections.close_all()


def read(user: User, one: Host, tell: Callable[[Reader, wake.Hub], Any], **headers: str) -> Reader:
    """A reader of the session's stream, after all that ``tell`` does."""
    _, token = access.issue(user.pk, START)

    async def main() -> Reader:
        hub = wake.Hub()
        reader = Reader(one, token, **headers)
        reading = asyncio.create_task(reader.of(stream.Streams(plain, hub)))
        await tell(reader, hub)
        await asyncio.wait_for(reading, 30)
        return reader

    return asyncio.run(main())


def note(one: Host, number: int) -> Callable[[], object]:
    return lambda: one.hold("/events", type="host:note", data=number)


def test_what_is_there_comes_first_and_then_what_is_written_here_or_elsewhere(user: User, one: Host) -> None:
    async def tell(reader: Reader, hub: wake.Hub) -> None:
        await reader.until(lambda: len(reader.events) == 1)
        await asyncio.to_thread(here, note(one, 1))
        await reader.until(lambda: len(reader.events) == 2)
        await asyncio.to_thread(elsewhere, note(one, 2))
        await reader.until(lambda: len(reader.events) == 3)
        reader.leave()

    reader = read(user, one, tell)
    assert reader.events == one.log()
    assert [event["data"] for event in reader.events[1:]] == [1, 2]


def test_it_goes_on_after_the_last_event_that_was_seen_and_over_many_pages(user: User, one: Host) -> None:
    for number in range(120):
        note(one, number)()

    async def tell(reader: Reader, hub: wake.Hub) -> None:
        await reader.until(lambda: len(reader.events) == 115)
        hub.close()

    reader = read(user, one, tell, Last_Event_ID="5")
    assert [event["seq"] for event in reader.events] == list(range(6, 121))
    assert reader.ended


def test_events_in_a_burst_are_each_told_once(user: User, one: Host) -> None:
    async def tell(reader: Reader, hub: wake.Hub) -> None:
        await reader.until(lambda: len(reader.events) == 1)
        acts = [asyncio.to_thread(here if number % 2 else elsewhere, note(one, number)) for number in range(30)]
        for act in acts:
            await act
        await reader.until(lambda: len(reader.events) == 31)
        reader.leave()

    assert read(user, one, tell).events == one.log()


def test_a_silent_stream_says_that_it_is_there(user: User, one: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)

    async def tell(reader: Reader, hub: wake.Hub) -> None:
        await reader.until(lambda: reader.text.count(": still here\n\n") >= 2)
        reader.leave()

    assert len(read(user, one, tell).events) == 1


def test_a_stream_that_carries_a_lease_renews_it_and_ends_in_words_when_it_is_lost(
    user: User, one: Host, clock: HandClock
) -> None:
    async def tell(reader: Reader, hub: wake.Hub) -> None:
        await reader.until(lambda: len(reader.events) == 1)
        await asyncio.to_thread(here, one.open)
        await reader.until(lambda: reader.ended)

    reader = read(user, one, tell, Wakeful_Lease=one.lease)
    refusal = reader.text.split("event: refused\ndata: ")[1]
    assert json.loads(refusal)["code"] == "lease_lost"


def test_a_token_that_is_revoked_sees_nothing_more(user: User, one: Host) -> None:
    async def tell(reader: Reader, hub: wake.Hub) -> None:
        await reader.until(lambda: len(reader.events) == 1)
        await asyncio.to_thread(here, lambda: access.Token.objects.order_by("-id")[:1].get().delete())
        await asyncio.to_thread(here, note(one, 1))
        await reader.until(lambda: reader.ended)

    reader = read(user, one, tell)
    assert len(reader.events) == 1
    assert "unauthenticated" in reader.text


def test_what_the_view_refuses_is_an_ordinary_answer(user: User, stranger: User, one: Host) -> None:
    async def tell(reader: Reader, hub: wake.Hub) -> None:
        await reader.until(lambda: reader.ended)

    reader = read(stranger, one, tell)
    assert (reader.status, json.loads(reader.text)["code"]) == (404, "not_found")


@pytest.mark.parametrize("last", ["x", "", "-2", "1.0", "1e3", "9" * 40, "\u0663"])
def test_a_last_event_id_that_is_no_seq_is_refused(one: Host, last: str) -> None:
    answer = one.get("/stream", HTTP_LAST_EVENT_ID=last)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_without_a_server_that_streams_the_events_that_are_there_are_told(one: Host) -> None:
    answer = one.get("/stream")
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.content.startswith(b'id: 0\ndata: {"seq":0,"type":"session/opened"')
