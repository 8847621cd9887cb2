"""A real web server of this machine, which takes what is posted to it and answers as a test likes."""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

#: The certificate of `hook.example`, which vouches for itself, and its key: of no use anywhere but here.
CERTIFICATE = Path(__file__).with_name("hook.example.pem")


@dataclass(frozen=True)
class Received:
    """A request that arrived, with its headers' names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """The server while it runs. ``done`` is set when the test ends: an answer that never ends waits for it."""

    port: int
    received: list[Received] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str = "/hook", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


Answer = Callable[[BaseHTTPRequestHandler, Receiver], None]


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    """An answer as it should be; `_` in a header's name stands for `-`."""

    def answer(request: BaseHTTPRequestHandler, receiver: Receiver) -> None:
        request.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def raw(sent: bytes) -> Answer:
    """Exactly these bytes, and then the end of the connection."""
    return lambda request, receiver: write(request, sent)


def drip(first: bytes, drop: bytes = b"x") -> Answer:
    """Some bytes at once, then a drop every now and then until the test ends."""

    def answer(request: BaseHTTPRequestHandler, receiver: Receiver) -> None:
        write(request, first)
        while not receiver.done.wait(0.01):
            write(request, drop)

    return answer


def flood(request: BaseHTTPRequestHandler, receiver: Receiver) -> None:
    """A body without an end, as fast as it is taken."""
    write(request, b"HTTP/1.1 200 OK\r\n\r\n")
    while not receiver.done.is_set():
        write(request, b"x" * 65_536)


def write(request: BaseHTTPRequestHandler, sent: bytes) -> None:
    """Send exactly these bytes; raises OSError once nobody takes them."""
    request.wfile.write(sent)
    request.wfile.flush()


@contextlib.contextmanager
def receiver(answer: Answer, *, tls: bool = False) -> Iterator[Receiver]:
    """A server on 127.0.0.1 that answers every POST with ``answer`` while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            running.received.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.close_connection = True
            with contextlib.suppress(OSError):  # the client broke off, which is its right
                answer(self, running)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that shakes no hands, or breaks off: the test sees what the client makes of it

    server = Server(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    running = Receiver(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield running
    finally:
        running.done.set()
        server.shutdown()
        server.server_close()
        thread.join()
