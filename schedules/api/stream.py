"""Streams: ``GET /sessions/{id}/stream`` as Server-Sent Events (WHATWG HTML, section 9.2) that go on.

The plain view answers with the events that are there, from ``Last-Event-ID`` on, and ends; here it is asked again, from
the last one sent, whenever the log has grown. So none is sent twice and none is missed, whatever wrote it.
"""

import asyncio
import re

from schedules import wake
from schedules.api import describe, paging, waiting
from schedules.api.asgi import Application, Message, Receive, Scope, Send

#: How long a stream is silent at most, in seconds: proxies cut what they take for dead.
HEARTBEAT_SECONDS = 15

LAST = b"last-event-id"
_PATH = re.compile(rf"/sessions/({describe.SESSION_ID})/stream")
_ID = re.compile(rb"^id: ([0-9]+)$", re.MULTILINE)
_HEARTBEAT = b": still here\n\n"


class Streams:
    """ASGI: keeps streams going by asking ``inner``, and hands it every other request as it is."""

    def __init__(self, inner: Application, hub: wake.Hub) -> None:
        self._inner = inner
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session_id = _session(scope)
        if session_id is None:
            await self._inner(scope, receive, send)
            return
        async with self._hub.watch(session_id, wake.anything) as watcher, waiting.client(receive, watcher) as gone:
            await self._go_on(session_id, scope, send, watcher, gone)

    async def _go_on(
        self, session_id: str, scope: Scope, send: Send, watcher: wake.Watcher, gone: "asyncio.Task[None]"
    ) -> None:
        headers = waiting.headers(scope)
        answer = await waiting.ask(self._inner, {**scope, "headers": headers})
        if answer[0]["status"] != 200:
            for message in answer:
                await send(message)
            return
        await send(_start(answer[0]))
        longest = float(HEARTBEAT_SECONDS)
        if waiting.lease_of(scope) is not None:
            longest = min(longest, await waiting.renewal_seconds(session_id))
        silent = True
        while not gone.done():
            told = waiting.body(answer)
            if told or silent:
                await send({"type": "http.response.body", "body": told or _HEARTBEAT, "more_body": True})
            if self._hub.closing:
                break
            found = _ID.findall(told)
            if found:
                headers = [pair for pair in headers if pair[0] != LAST] + [(LAST, found[-1])]
            # A full page has more behind it. What is written while a page is read wakes the watcher all the same.
            silent = len(found) < paging.DEFAULT_LIMIT and not await watcher.changed(longest)
            if gone.done():
                return
            answer = await waiting.ask(self._inner, {**scope, "headers": headers})
            if answer[0]["status"] != 200:
                # Too late for a status: the reader is told in the stream's own words, and then it ends.
                refusal = b"event: refused\ndata: " + waiting.body(answer) + b"\n\n"
                await send({"type": "http.response.body", "body": refusal, "more_body": True})
                break
        await send({"type": "http.response.body", "body": b""})


def _session(scope: Scope) -> str | None:
    if scope["type"] != "http" or scope["method"] != "GET":
        return None
    path = _PATH.fullmatch(scope["path"].removeprefix(scope.get("root_path", "")))
    return None if path is None else path[1]


def _start(message: Message) -> Message:
    """The head of the first answer, for a body whose length nobody knows."""
    return {**message, "headers": [pair for pair in message["headers"] if pair[0].lower() != b"content-length"]}
