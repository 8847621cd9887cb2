"""Long polls: ``GET /sessions/{id}/followups?wait=N`` asked again and again until there is something to answer.

Each asking is the plain request with ``wait=0`` put to the application inside, so that authentication, rights,
errors and rendering are those of the plain view. Between two of them the poll holds neither thread nor connection.
"""

import asyncio
import json
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from django.db import DatabaseError, connection

from schedules import wake
from schedules.api import describe, turns
from schedules.api.asgi import Application, Message, Receive, Scope, Send
from schedules.projection import rows

_PATH = re.compile(rf"/sessions/({describe.SESSION_ID})/followups")
_SECONDS = re.compile(r"[0-9]{1,16}")
# What frames a body: the plain request is asked without one.
_FRAMING = frozenset((b"content-length", b"transfer-encoding"))
_LEASE = b"wakeful-lease"
_SHORTEST_LEASE_SECONDS = 5
_LONGEST_EMPTY_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Poll:
    """A request to wait for a session's follow-ups. ``asked`` is the same request without the wait."""

    session_id: str
    seconds: int
    asked: Scope
    renews: bool


class LongPolls:
    """ASGI: answers long polls by asking ``inner``, and hands it every other request as it is."""

    def __init__(self, inner: Application, hub: wake.Hub) -> None:
        self._inner = inner
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        poll = _poll(scope)
        if poll is None:
            await self._inner(scope, receive, send)
            return
        async with self._hub.watch(poll.session_id) as watcher:
            gone = asyncio.create_task(_gone(receive))
            gone.add_done_callback(lambda _: watcher.wake())
            try:
                answer = await self._answer(poll, watcher, gone)
            finally:
                gone.cancel()
        for message in answer:
            await send(message)

    async def _answer(self, poll: _Poll, watcher: wake.Watcher, gone: asyncio.Task[None]) -> list[Message]:
        """The first answer that holds something, or the last one; none where the client has gone."""
        loop = asyncio.get_running_loop()
        end = loop.time() + poll.seconds
        longest = float(poll.seconds)
        renewing = poll.renews
        while not gone.done():
            answer = await self._ask(poll)
            left = end - loop.time()
            if left <= 0 or self._hub.closing or not _is_empty_page(answer):
                return answer
            if renewing:
                longest, renewing = await asyncio.to_thread(_renewal_seconds, poll.session_id), False
            await watcher.changed(min(left, longest))
        return []

    async def _ask(self, poll: _Poll) -> list[Message]:
        answer: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            answer.append(message)

        await self._inner(poll.asked, receive, send)
        return answer


def _poll(scope: Scope) -> _Poll | None:
    """The poll that a request asks for. None for a plain one, or one whose wait the plain view refuses."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return None
    path = _PATH.fullmatch(scope["path"].removeprefix(scope.get("root_path", "")))
    if path is None:
        return None
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    waits = [value for name, value in query if name == "wait"]
    # Of a parameter given twice, Django's views read the last.
    if not waits or not _SECONDS.fullmatch(waits[-1]) or not 0 < int(waits[-1]) <= turns.MAX_WAIT_SECONDS:
        return None
    headers = [(name, value) for name, value in scope["headers"] if name not in _FRAMING]
    return _Poll(
        session_id=path[1],
        seconds=int(waits[-1]),
        asked={**scope, "headers": headers, "query_string": scope["query_string"] + b"&wait=0"},
        renews=any(name == _LEASE for name, _ in headers),
    )


async def _gone(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _is_empty_page(answer: list[Message]) -> bool:
    if answer[0]["status"] != 200:
        return False
    body = b"".join(message.get("body", b"") for message in answer[1:])
    # An empty page is short: a long one need not be read to know that it holds something.
    return len(body) <= _LONGEST_EMPTY_PAGE and json.loads(body)["results"] == []


def _renewal_seconds(session_id: str) -> float:
    """How often a poll asks again so that the lease it carries, which each asking renews, never ends meanwhile."""
    try:
        found = rows.fetch("SELECT seconds FROM schedules_lease WHERE session_id = %s", [session_id])
    except DatabaseError:
        found = []  # the next asking tells the client
    finally:
        connection.close()
    return (found[0][0] if found else _SHORTEST_LEASE_SECONDS) / 3
