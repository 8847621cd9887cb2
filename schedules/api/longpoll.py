"""Long polls: ``GET /sessions/{id}/followups?wait=N`` asked again and again until there is something to answer.

Each asking is the plain request with ``wait=0``. Between two of them the poll holds neither thread nor connection.
"""

import asyncio
import json
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from schedules import wake
from schedules.api import describe, turns, waiting
from schedules.api.asgi import Application, Message, Receive, Scope, Send

_PATH = re.compile(rf"/sessions/({describe.SESSION_ID})/followups")
_SECONDS = re.compile(r"[0-9]{1,16}")
_LONGEST_EMPTY_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Poll:
    """A request to wait for a session's follow-ups.

    asked: the same request without the wait.
    lease_id: of the lease that each asking renews, if it carries one.
    """

    session_id: str
    seconds: int
    asked: Scope
    lease_id: str | None

    def wants(self, sight: wake.Sight) -> bool:
        """Whether to ask now: something waits, or the lease that the poll carries is another's by now."""
        return sight.waiting > 0 or self.lease_id not in (None, sight.lease_id)


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
        async with self._hub.watch(poll.session_id, poll.wants) as watcher, waiting.client(receive, watcher) as gone:
            answer = await self._answer(poll, watcher, gone)
        for message in answer:
            await send(message)

    async def _answer(self, poll: _Poll, watcher: wake.Watcher, gone: asyncio.Task[None]) -> list[Message]:
        """The first answer that holds something, or the last one; none where the client has gone."""
        loop = asyncio.get_running_loop()
        end = loop.time() + poll.seconds
        longest = float(poll.seconds)
        renewing = poll.lease_id is not None
        while not gone.done():
            answer = await waiting.ask(self._inner, poll.asked)
            left = end - loop.time()
            if left <= 0 or self._hub.closing or not _is_empty_page(answer):
                return answer
            if renewing:
                longest, renewing = await waiting.renewal_seconds(poll.session_id), False
            await watcher.changed(min(left, longest))
        return []


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
    return _Poll(
        session_id=path[1],
        seconds=int(waits[-1]),
        asked={**scope, "headers": waiting.headers(scope), "query_string": scope["query_string"] + b"&wait=0"},
        lease_id=waiting.lease_of(scope),
    )


def _is_empty_page(answer: list[Message]) -> bool:
    if answer[0]["status"] != 200:
        return False
    body = waiting.body(answer)
    # An empty page is short: a long one need not be read to know that it holds something.
    return len(body) <= _LONGEST_EMPTY_PAGE and json.loads(body)["results"] == []
