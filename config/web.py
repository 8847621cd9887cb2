"""uvicorn under Wakeful's own command: the socket is taken first, and signals are the command's to handle."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from django.conf import settings
from django.core.management.base import CommandError

from config import asgi

# Long polls end at once, and bodies on their way have a shorter limit of their own. A plain call may
# wait twice: on SQLite for its turn to write and then for the file, on PostgreSQL for a connection and then for a row.
_GRACEFUL_SECONDS = 2 * settings.LOCK_SECONDS + 5
_BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises CommandError, in words for the operator."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise CommandError(f"{host} is no address to listen on: {error}.") from None
    try:
        # Connections of a server that has just stopped must not keep the port.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
    except OSError as error:
        found.close()
        raise CommandError(
            f"Cannot listen on {host} port {port}: {error.strerror}. "
            "Stop what uses it, or choose another with --port or WAKEFUL_PORT."
        ) from None
    return found


class Server(uvicorn.Server):
    """The web server. It ends after ``stop``, when the calls under way are answered."""

    def __init__(self, listener: socket.socket) -> None:
        super().__init__(
            uvicorn.Config(
                asgi.application,
                backlog=_BACKLOG,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACEFUL_SECONDS,
            )
        )
        self._listener = listener
        self._on_start: Callable[[], None] | None = None

    def serve_until_stopped(self, on_start: Callable[[], None]) -> None:
        """Answer requests until :meth:`stop`; call ``on_start`` when the first can be answered."""
        self._on_start = on_start
        self.run(sockets=[self._listener])

    def stop(self) -> None:
        """Take no more connections, end those who wait, answer what is under way. Safe in a signal handler."""
        self.should_exit = True
        asgi.hub.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_start is not None:
            self._on_start()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn's own handler raises the signal again after the end, so that nothing could run after it.
        yield
