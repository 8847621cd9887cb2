"""The ASGI application: long polls wait in the event loop, all else is Django's WSGI application in threads."""

import os
from typing import Any
from urllib.parse import quote_from_bytes

from a2wsgi import WSGIMiddleware
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
wsgi = get_wsgi_application()

from schedules import wake  # noqa: E402  Django is set up by the line above
from schedules.api.json import ChunkedBodies  # noqa: E402
from schedules.api.longpoll import Application, LongPolls, Receive, Scope, Send  # noqa: E402

# Python runs one of them at a time, so more would only wait. Each keeps a database connection of its own.
WORKERS = 10

_ASCII = bytes(range(33, 127)).decode()

#: Wakes the long polls of this process; closed, it ends them.
hub = wake.Hub()

_bodies: Any = ChunkedBodies(wsgi)
_plain: Any = WSGIMiddleware(_bodies, workers=WORKERS)
_http: Application = LongPolls(_plain, hub)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """What the server calls for each request, and once for its own start and stop."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    else:
        await _http(_tidied(scope), receive, send)


def _tidied(scope: Scope) -> Scope:
    """The request in a form that survives the way through WSGI."""
    if scope["type"] != "http":
        return scope
    return {
        **scope,
        # WSGI writes "-" and "_" alike, so an underscore could pose as another header.
        "headers": [(name, value) for name, value in scope["headers"] if b"_" not in name],
        # a2wsgi breaks at bytes that are not ASCII.
        "query_string": quote_from_bytes(scope["query_string"], safe=_ASCII).encode(),
    }


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            hub.close()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
