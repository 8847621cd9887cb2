"""What the ASGI layer is made of: the types of its calls, and an answer that needs no view."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from schedules.sessions import lossless

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


async def answer(send: Send, status: int, value: lossless.Json, *, close: bool = False) -> None:
    """Send a whole answer of JSON; with ``close`` the connection takes no further request."""
    body = lossless.dumps(value).encode("ascii")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
