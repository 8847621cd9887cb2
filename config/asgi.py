"""The ASGI application: the event loop waits for clients, events and probes; threads of Django do the rest."""

import os
from typing import Any
from urllib.parse import quote_from_bytes

from a2wsgi import WSGIMiddleware
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
wsgi: Any = get_wsgi_application()

from config.health import Probes  # noqa: E402  Django is set up by the line above
from schedules import wake  # noqa: E402
from schedules.api.asgi import Application, Receive, Scope, Send  # noqa: E402
from schedules.api.bodies import Bodies  # noqa: E402
from schedules.api.longpoll import LongPolls  # noqa: E402
from schedules.api.stream import Streams  # noqa: E402

# Python runs one of them at a time, so more would only wait. Each keeps a database connection of its own.
WORKERS = 10

_ASCII = bytes(range(33, 127)).decode()
_NUL = rb"\000"

#: Wakes the long polls and streams of this process; closed, it ends them.
hub = wake.Hub()

# Without a bound of the queue a worker is done when its answer is made, however slowly the client reads it.
_plain: Any = WSGIMiddleware(wsgi, workers=WORKERS, send_queue_size=0)
_http: Application = Probes(Bodies(Streams(LongPolls(_plain, hub), hub)))


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
        "headers": [pair for pair in scope["headers"] if not _misleads(*pair)],
        # a2wsgi breaks at bytes that are not ASCII.
        "query_string": quote_from_bytes(scope["query_string"], safe=_ASCII).encode(),
    }


def _misleads(name: bytes, value: bytes) -> bool:
    # WSGI writes "-" and "_" alike, so an underscore could pose as another header. A quoted cookie can spell U+0000,
    # with which PostgreSQL refuses to look for a browser's session.
    return b"_" in name or (name == b"cookie" and _NUL in value)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            hub.close()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
