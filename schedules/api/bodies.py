"""Bodies taken in by the event loop: no worker thread ever waits for a client to send."""

import asyncio

from django.conf import settings

from schedules.api import asgi, errors
from schedules.api.asgi import Application, Message, Receive, Scope, Send

#: How long a client may take to send a body, in seconds.
SECONDS = 10.0

_LENGTH = b"content-length"
_CODING = b"transfer-encoding"


class Bodies:
    """ASGI: hands each request to ``inner`` with its body complete and its length told.

    It takes in one byte over the limit at most, enough for the parser to refuse the body after the caller has proved
    who they are, and nothing of a body that declares itself longer. One that does not come in time is 408.
    """

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        codings = [value.strip().lower() for name, value in scope["headers"] if name == _CODING]
        if codings not in ([], [b"chunked"]):
            await _refuse(send, 400, errors.CODING)
            return
        body: bytes | None = b""
        if _declared(scope) <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            try:
                async with asyncio.timeout(SECONDS):
                    body = await _collected(receive, settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
            except TimeoutError:
                await _refuse(send, 408, errors.TOO_SLOW)
                return
        if body is not None:
            # Django takes a body without a length for empty.
            await self._inner(_measured(scope, len(body)) if codings else scope, _replayed(body, receive), send)


def _declared(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == _LENGTH and value.isdigit():
            return int(value[:20])
    return 0


def _measured(scope: Scope, length: int) -> Scope:
    headers = [pair for pair in scope["headers"] if pair[0] not in (_LENGTH, _CODING)]
    return {**scope, "headers": [*headers, (_LENGTH, str(length).encode())]}


async def _collected(receive: Receive, most: int) -> bytes | None:
    """The body up to ``most`` bytes; None where the client went away before its end."""
    body = bytearray()
    while len(body) < most:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body[:most])


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body in one message; after it, what else there is to hear of the client."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        if first:
            return first.pop()
        return await receive()

    return replay


async def _refuse(send: Send, status: int, situation: errors.Situation) -> None:
    await asgi.answer(send, status, errors.body(situation.code, situation.message), close=True)
