"""A TCP proxy before PostgreSQL that counts statements and cuts the connection at one of them.

It understands just enough of the protocol for that: where a message ends, which one holds a statement, and when the
server has finished with it.
"""

import contextlib
import select
import socket
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

#: The three moments of a cut. ``before``: the server never gets the statement. ``after``: it has carried it out, and
#: its answer is lost. ``held``: the client is cut off while the statement is under way; ``release`` lets it arrive.
Moment = Literal["before", "after", "held"]

_ENCRYPTION_REQUESTS = (80877103, 80877104)
_SYNC = b"S\x00\x00\x00\x04"
_TICK = 0.02
_READ = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where to cut: at the statement ``number``, counted from 1 since the cut was planned."""

    number: int
    moment: Moment


class Proxy:
    """Listens on a port of its own while the block runs; transparent until a cut is planned."""

    def __init__(self, host: str, port: int) -> None:
        self._statements: list[str] = []
        self._server = (host, port)
        self._cut: Cut | None = None
        self._release = threading.Event()
        self._closing = False
        self._refusing = False
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_TICK)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def watch(self, cut: Cut | None = None) -> None:
        """Count statements from here on; with ``cut``, break the connection that sends the one it names."""
        with self._lock:
            self._statements = []
            self._cut = cut
            self._release.clear()

    @property
    def statements(self) -> list[str]:
        """What was sent since ``watch``, by whichever connection."""
        with self._lock:
            return list(self._statements)

    @property
    def has_cut(self) -> bool:
        """Whether the planned cut has happened."""
        return self._cut is None

    def release(self) -> None:
        """Let the held statement reach the server."""
        self._release.set()

    def refuse(self, refusing: bool) -> None:
        """Cut everybody off and take nobody any more, as a server that is down; or be there again."""
        self._refusing = refusing

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            if self._refusing:
                client.close()
                continue
            thread = threading.Thread(target=self._serve, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        # Either side may go at any time: that is what all this is about.
        with client, contextlib.suppress(OSError), socket.create_connection(self._server) as server:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Conversation(self, client, server).run()

    def _gone(self) -> bool:
        return self._closing or self._refusing

    def _moment(self, statement: str) -> Moment | None:
        """Count a statement; how to cut at it, if it is the one."""
        with self._lock:
            self._statements.append(statement)
            if self._cut is None or len(self._statements) != self._cut.number:
                return None
            moment, self._cut = self._cut.moment, None
            return moment


class _Conversation:
    """One connection, through the proxy."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._sent, self._answered = b"", b""
        self._started = False
        self._parsed = ""
        self._swallows = False

    def run(self) -> None:
        """Carry messages to and fro until either side, or a cut, ends it."""
        while not self._proxy._gone():
            ready, _, _ = select.select([self._client, self._server], [], [], _TICK)
            if self._client in ready:
                data = self._client.recv(_READ)
                self._sent += data
                if not data or not self._carry():
                    return
            if self._server in ready:
                data = self._server.recv(_READ)
                if not data:
                    return
                if not self._swallows:
                    self._client.sendall(data)
                elif self._finished(data):
                    return

    def _carry(self) -> bool:
        """Hand on each whole message of the client; False where the connection is cut instead."""
        while message := self._next():
            moment = None
            if (statement := self._statement(message)) is not None:
                moment = self._proxy._moment(statement)
            if moment == "before":
                return False
            if moment == "held":
                self._deliver_late(message)
                return False
            self._swallows = self._swallows or moment == "after"
            self._server.sendall(message)
        return True

    def _next(self) -> bytes | None:
        """The client's next whole message; None until there is one."""
        head = 1 if self._started else 0
        while len(self._sent) >= head + 4:
            length = head + int.from_bytes(self._sent[head : head + 4])
            if len(self._sent) < length:
                return None
            message, self._sent = self._sent[:length], self._sent[length:]
            if self._started:
                return message
            if int.from_bytes(message[4:8]) not in _ENCRYPTION_REQUESTS:
                self._started = True
                return message
            self._client.sendall(b"N")
        return None

    def _statement(self, message: bytes) -> str | None:
        """The text of the statement that a message has the server carry out."""
        if message[:1] == b"P":
            self._parsed = message[5:].split(b"\0")[1].decode()
        if message[:1] == b"Q":
            return message[5:-1].decode()
        return self._parsed if message[:1] == b"E" else None

    def _deliver_late(self, message: bytes) -> None:
        self._client.close()
        while not self._proxy._release.wait(_TICK):
            if self._proxy._gone():
                return
        self._server.sendall(message if message[:1] == b"Q" else message + _SYNC)
        while (data := self._server.recv(_READ)) and not self._finished(data):
            pass

    def _finished(self, data: bytes) -> bool:
        """Whether the server has finished with the statement: it is ready for the next."""
        self._answered += data
        while len(self._answered) >= 5:
            length = 1 + int.from_bytes(self._answered[1:5])
            if len(self._answered) < length:
                return False
            if self._answered[:1] == b"Z":
                return True
            self._answered = self._answered[length:]
        return False
