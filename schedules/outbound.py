"""The one client by which Wakeful sends to the internet: guarded, so that nobody's URL makes it reach inwards.

A host is resolved once, every address of it is checked, and the connection goes to a checked one. Nothing is
redirected, no proxy is taken from the environment, nothing is unpacked, and no answer is read past its bound.
"""

import re
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from socket import IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY, create_connection, getaddrinfo, socket
from typing import Any, TypeAlias

import httpcore
import httpx
from django.conf import settings

from schedules import patience
from schedules.domain import addresses

#: How much of an answer's body is read, in bytes.
MOST_BODY = 64 * 1024

_AGENT = "Wakeful"
# How many of a host's addresses are tried: each gets its share of the time.
_MOST_TRIED = 4
# Names, and both kinds of addresses.
_HOST = re.compile(rb"[a-z0-9._:-]{1,253}")


class Unsent(Exception):
    """There is no answer. Its text tells an operator why, and holds nothing of the URL but the host."""


class Refused(Unsent):
    """Nothing was sent: the URL cannot be used, or leads where Wakeful may not reach. A retry changes nothing."""


class TimedOut(Unsent):
    """No answer came in time. Whether it arrived is unknown."""


class NoAnswer(Unsent):
    """The host could not be found, reached or trusted, or broke off. Whether it arrived is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a host answered.

    status: the HTTP status, a redirect's too.
    headers: by name in lower case; of several with one name the last.
    body: the first bytes, at most `MOST_BODY`; fewer than were sent where the host broke off or the time was over.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def good(self) -> bool:
        """Whether it says that the message was taken."""
        return 200 <= self.status < 300


#: Gives the addresses of a host, as texts. Raises OSError or UnicodeError where there are none.
Resolve: TypeAlias = Callable[[str, int], Sequence[str]]


def system_addresses(host: str, port: int) -> list[str]:
    """A host's addresses, as this machine resolves it."""
    return [str(found[4][0]) for found in getaddrinfo(host, port, type=SOCK_STREAM)]


@cache
def system_trust() -> ssl.SSLContext:
    """The certificates to trust: those of SSL_CERT_FILE or SSL_CERT_DIR, else the ones that come with httpx."""
    return httpx.create_ssl_context()


def read_url(url: str) -> httpx.URL:
    """An address that can be posted to. Raises Refused with words on what it must be; looks nothing up."""
    try:
        parts = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        raise Refused("The URL cannot be read: write https://HOST/PATH.") from None
    if parts.scheme not in ("https", "http") or not _HOST.fullmatch(parts.raw_host):
        raise Refused("The URL must be https://HOST/PATH or http://HOST/PATH.")
    if parts.port is not None and not 0 < parts.port < 65_536:
        raise Refused("The URL must have a port from 1 to 65535, or none.")
    if parts.userinfo:
        raise Refused("The URL must not hold a user or a password.")
    return parts


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float,
    resolve: Resolve = system_addresses,
    trust: Callable[[], ssl.SSLContext] = system_trust,
) -> Reply:
    """Post ``body`` to ``url`` and give the answer, whatever its status, within ``seconds`` in all.

    Raises Refused, TimedOut or NoAnswer. What hosts and networks that are not public may be reached,
    ``WAKEFUL_OUTBOUND_ALLOW`` says. An answer counts once its headers are there, even if its body never ends.
    """
    deadline = _Deadline(seconds)
    parts = read_url(url)
    host = _host(parts)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    sent = {"Host": parts.netloc.decode("ascii"), "User-Agent": _AGENT, **headers}
    try:
        reachable = _checked(host, _resolved(resolve, host, port, deadline))
        return _exchange(parts, body, sent, _Pinned(reachable, deadline), trust)
    except TimeoutError:
        raise TimedOut(f"{host} did not answer within {seconds:g} seconds.") from None
    except ssl.SSLCertVerificationError:
        raise NoAnswer(f"{host} has no certificate that is valid for this name and trusted here.") from None
    except ssl.SSLError:
        raise NoAnswer(f"{host} could not agree with Wakeful on an encrypted connection.") from None
    except httpcore.ProtocolError:
        raise NoAnswer(f"{host} broke off or answered with something that is no HTTP.") from None
    except OSError:
        raise NoAnswer(f"{host} could not be reached, or broke off.") from None


def _host(parts: httpx.URL) -> str:
    """The host as it is looked up: of a name in other scripts the `xn--` form."""
    return parts.raw_host.decode("ascii")


class _Deadline:
    """The end of the time for one exchange."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """How many seconds are left. Raises TimeoutError where none are."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _resolved(resolve: Resolve, host: str, port: int, deadline: _Deadline) -> Sequence[str]:
    # The system's resolver takes no time limit, but has its own: it ends by itself.
    try:
        found = patience.within(deadline.left(), lambda: resolve(host, port))
    except TimeoutError:
        raise
    except (OSError, UnicodeError):
        found = []
    if not found:
        raise NoAnswer(f"The host {host} cannot be found: check its name.")
    return found


def _checked(host: str, found: Sequence[str]) -> list[str]:
    """Each address once. Raises Refused if any of them may not be reached: which one is taken would be chance."""
    reachable: dict[str, None] = {}
    for text in found:
        address = addresses.read(text)
        if address is None or not addresses.permitted(host, address, settings.WAKEFUL_OUTBOUND_ALLOW):
            # It is not said which address: what the inner network looks like is not for whoever gave the URL.
            raise Refused(
                f"{host} leads to an address that is not public: if Wakeful may reach it, an operator adds the host "
                "or its network to WAKEFUL_OUTBOUND_ALLOW."
            )
        reachable[str(address)] = None
    return list(reachable)


def _exchange(
    parts: httpx.URL,
    body: bytes,
    headers: Mapping[str, str],
    backend: httpcore.NetworkBackend,
    trust: Callable[[], ssl.SSLContext],
) -> Reply:
    url = httpcore.URL(scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path)
    context = trust() if parts.scheme == "https" else None
    with (
        # For one exchange: the addresses of a kept connection would have been checked long before.
        httpcore.ConnectionPool(ssl_context=context, network_backend=backend) as pool,
        pool.stream("POST", url, headers=list(headers.items()), content=body) as response,
    ):
        return Reply(
            status=response.status,
            headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers},
            body=_first_bytes(response.iter_stream()),
        )


def _first_bytes(parts: Iterable[bytes]) -> bytes:
    """What came of a body. The status has been told already: that its body never ends takes nothing back."""
    body = bytearray()
    try:
        for part in parts:
            body += part
            if len(body) >= MOST_BODY:
                break
    except (OSError, httpcore.ProtocolError):
        pass
    return bytes(body[:MOST_BODY])


class _Pinned(httpcore.NetworkBackend):
    """Connects to the addresses that were checked, and to nothing else; a name is never looked up again."""

    def __init__(self, reachable: Sequence[str], deadline: _Deadline) -> None:
        self._reachable = reachable[:_MOST_TRIED]
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers. Raises OSError, as the last one did."""
        last: OSError = OSError()
        for left, address in zip(range(len(self._reachable), 0, -1), self._reachable, strict=True):
            try:
                connected = create_connection((address, port), timeout=self._deadline.left() / left)
            except OSError as problem:
                last = problem
                continue
            connected.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            return _Stream(connected, self._deadline)
        raise last


class _Stream(httpcore.NetworkStream):
    """A connection whose every step ends with the time for the whole: a peer that drips gains none."""

    def __init__(self, connected: socket, deadline: _Deadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes; none at the end."""
        self._socket.settimeout(self._deadline.left())
        return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        rest = memoryview(buffer)
        try:
            while rest:
                self._socket.settimeout(self._deadline.left())
                rest = rest[self._socket.send(rest) :]
        except TimeoutError:
            raise
        except OSError:
            # A host may answer before it has read everything: this exception lets that answer be read.
            raise httpcore.WriteError from None

    def close(self) -> None:
        """Break off."""
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The same connection, encrypted, with a peer that proved to be ``server_hostname``."""
        try:
            self._socket.settimeout(self._deadline.left())
            return _Stream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname), self._deadline)
        except BaseException:
            self.close()
            raise
