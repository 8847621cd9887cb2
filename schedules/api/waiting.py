"""What long polls and streams share: the plain view is asked again and again, and nothing is held in between.

Each asking is a plain request put to the application inside, so that authentication, rights, errors and rendering are
those of the plain view.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.db import DatabaseError, connection

from schedules import wake
from schedules.api.asgi import Application, Message, Receive, Scope
from schedules.projection import rows

_LEASE = b"wakeful-lease"
_SHORTEST_LEASE_SECONDS = 5
# What frames a body: the plain request is asked without one.
_FRAMING = frozenset((b"content-length", b"transfer-encoding"))


async def ask(inner: Application, scope: Scope) -> list[Message]:
    """The whole answer to a request that has no body."""
    answer: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        answer.append(message)

    await inner(scope, receive, send)
    return answer


def body(answer: list[Message]) -> bytes:
    """The body of an answer."""
    return b"".join(message.get("body", b"") for message in answer[1:])


def headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """A request's headers but for those that frame its body."""
    return [(name, value) for name, value in scope["headers"] if name not in _FRAMING]


def lease_of(scope: Scope) -> str | None:
    """The id of the lease that a request carries, which each asking renews."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == _LEASE), None)


@asynccontextmanager
async def client(receive: Receive, watcher: wake.Watcher) -> AsyncIterator["asyncio.Task[None]"]:
    """A task that is done once the client has gone, which wakes the watcher."""
    gone = asyncio.create_task(_gone(receive))
    gone.add_done_callback(lambda _: watcher.wake())
    try:
        yield gone
    finally:
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def renewal_seconds(session_id: str) -> float:
    """How often to ask again so that the lease that is carried never ends meanwhile."""
    return await asyncio.to_thread(_renewal_seconds, session_id)


def _renewal_seconds(session_id: str) -> float:
    try:
        found = rows.fetch("SELECT seconds FROM schedules_lease WHERE session_id = %s", [session_id])
    except DatabaseError:
        found = []  # the next asking tells the client
    finally:
        connection.close()
    return (found[0][0] if found else _SHORTEST_LEASE_SECONDS) / 3
