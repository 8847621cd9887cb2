"""The guarded client, against a real server that behaves and ones that do not."""

import socket
import ssl
import threading
from collections.abc import Callable, Sequence

import pytest
from pytest_django import Settings

from schedules import outbound
from tests.receiver import CERTIFICATE, Answer, drip, flood, raw, receiver, status

OK = status(200, b"fine")
# Longer than any test takes: what ends before did not end for its sake.
LONG = 60


@pytest.fixture(autouse=True)
def this_machine_is_allowed(settings: Settings) -> None:
    settings.WAKEFUL_OUTBOUND_ALLOW = ["127.0.0.1"]


def at(*found: str) -> outbound.Resolve:
    """A resolver that finds these addresses, whatever it is asked for."""
    return lambda host, port: found


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(CERTIFICATE))


def post(
    url: str,
    seconds: float = LONG,
    resolve: outbound.Resolve = outbound.system_addresses,
    trust: Callable[[], ssl.SSLContext] = outbound.system_trust,
) -> outbound.Reply:
    return outbound.post(url, b"{}", {}, seconds=seconds, resolve=resolve, trust=trust)


# What is sent, and what is answered.


def test_what_is_posted_arrives_as_it_is_and_the_answer_is_given() -> None:
    with receiver(status(202, b"taken", Retry_After="7")) as server:
        reply = outbound.post(server.url("/a%20b?c=d#e"), b"\x00body", {"X-One": "1"}, seconds=LONG)
    assert (reply.status, reply.good, reply.body, reply.headers["retry-after"]) == (202, True, b"taken", "7")
    (sent,) = server.received
    assert (sent.path, sent.body) == ("/a%20b?c=d", b"\x00body")
    assert sent.headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "Wakeful",
        "x-one": "1",
        "content-length": "5",
    }


@pytest.mark.parametrize("code", [400, 404, 410, 429, 500, 503])
def test_an_answer_of_failure_is_an_answer(code: int) -> None:
    with receiver(status(code, b"no")) as server:
        reply = post(server.url())
    assert (reply.status, reply.good, reply.body) == (code, False, b"no")


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(code: int) -> None:
    with receiver(OK) as other, receiver(status(code, Location=other.url("/elsewhere"))) as server:
        reply = post(server.url())
    assert (reply.status, reply.good) == (code, False)
    assert (len(server.received), other.received) == (1, [])


def test_no_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(OK) as proxy, receiver(OK) as server:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))
        assert post(server.url()).good
    assert (proxy.received, len(server.received)) == ([], 1)


def test_a_compressed_answer_is_not_unpacked() -> None:
    with receiver(status(200, b"no gzip at all", Content_Encoding="gzip")) as server:
        assert post(server.url()).body == b"no gzip at all"


# Time and size.


def test_a_huge_body_is_read_to_its_bound_and_no_further() -> None:
    with receiver(flood) as server:
        reply = post(server.url())
    assert (reply.status, reply.body) == (200, b"x" * outbound.MOST_BODY)


def test_a_body_that_drips_is_cut_when_the_time_is_over() -> None:
    with receiver(drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")) as server:
        reply = post(server.url(), seconds=0.5)
    assert reply.good
    assert set(reply.body) <= set(b"x")


@pytest.mark.parametrize(
    "answer",
    [
        drip(b""),
        drip(b"HTTP/1.1 200 OK\r\nX-Long: "),
        drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        drip(b"", b""),
    ],
    ids=["drops before the status", "a header without an end", "always about to answer", "silence"],
)
def test_an_answer_that_never_comes_ends_with_the_time_however_much_drips(answer: Answer) -> None:
    with receiver(answer) as server, pytest.raises(outbound.TimedOut, match=r"127\.0\.0\.1 did not answer within 0\.3"):
        post(server.url(), seconds=0.3)


def test_a_look_up_that_never_ends_ends_with_the_time() -> None:
    with receiver(OK) as server:

        def stuck(host: str, port: int) -> Sequence[str]:
            server.done.wait()
            return ["127.0.0.1"]

        with pytest.raises(outbound.TimedOut):
            post(server.url(), seconds=0.2, resolve=stuck)
    assert server.received == []


def test_a_handshake_that_never_ends_ends_with_the_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(outbound.TimedOut):
        post(f"https://127.0.0.1:{mute.getsockname()[1]}", seconds=0.2)


# Hosts that break off.


@pytest.mark.parametrize(
    "sent",
    [b"", b"HTTP/1.1 200", b"SSH-2.0-server\r\n", b"HTTP/1.1 200 OK\r\nno header\r\n\r\n", b"x" * 200_000],
    ids=["nothing", "half a status", "another protocol", "no header", "a line without an end"],
)
def test_a_host_that_says_nothing_sensible_gives_no_answer(sent: bytes) -> None:
    with receiver(raw(sent)) as server, pytest.raises(outbound.NoAnswer, match=r"127\.0\.0\.1 (broke off|could not)"):
        post(server.url())


def test_a_host_that_breaks_off_within_its_answer_s_body_has_answered() -> None:
    with receiver(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")) as server:
        reply = post(server.url())
    assert (reply.status, reply.body) == (200, b"half")


def test_a_port_where_nobody_listens_gives_no_answer() -> None:
    with receiver(OK) as server:
        url = server.url()
    with pytest.raises(outbound.NoAnswer, match="could not be reached"):
        post(url)


def nowhere(host: str, port: int) -> Sequence[str]:
    raise OSError("Name or service not known")


def unspeakable(host: str, port: int) -> Sequence[str]:
    raise UnicodeError("label too long")


@pytest.mark.parametrize("resolve", [nowhere, unspeakable, at()])
def test_a_host_that_is_not_found_gives_no_answer(resolve: outbound.Resolve) -> None:
    with pytest.raises(outbound.NoAnswer, match=r"The host hook\.example cannot be found"):
        post("http://hook.example", resolve=resolve)


# Where a URL may lead.


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hook.example",
        "//hook.example/x",
        "ftp://hook.example/x",
        "file:///etc/passwd",
        "gopher://hook.example",
        "unix:///run/socket",
        "http://",
        "http:///x",
        "http://[::1",
        "http://hook.example:99999/",
        "http://hook example/",
        "http://hook.example/\n",
        "http://hook.example/\ud800",
        "http://300.1.1.1/",
        "http://0177.0.0.1/",
        f"http://{'a' * 300}/",
        "http://user@hook.example/",
        "http://user:secret@hook.example/",
        "http://hook.example:80@127.0.0.1/",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_and_looked_up_nowhere(url: str) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    with pytest.raises(outbound.Refused, match=r"^The URL ") as refused:
        post(url, resolve=resolve)
    assert asked == []
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "127.1",
        "127.0.0.2",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::1]",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
    ],
)
def test_no_spelling_of_an_inner_address_leads_there(settings: Settings, host: str) -> None:
    settings.WAKEFUL_OUTBOUND_ALLOW = []
    with receiver(OK) as server, pytest.raises(outbound.Refused, match=r"not public.*WAKEFUL_OUTBOUND_ALLOW"):
        post(server.url(host=host))
    assert server.received == []


@pytest.mark.parametrize("found", [["10.0.0.5"], ["1.1.1.1", "10.0.0.5"], ["10.0.0.5", "1.1.1.1"], ["fe80::1%eth0"]])
def test_a_name_that_leads_inwards_is_refused_even_if_it_leads_outwards_too(found: list[str]) -> None:
    with pytest.raises(outbound.Refused, match=r"hook\.example leads to an address that is not public") as refused:
        post("http://hook.example", resolve=at(*found))
    assert "10.0.0.5" not in str(refused.value)


def test_a_name_is_looked_up_once_and_what_was_checked_is_what_is_reached(settings: Settings) -> None:
    # A rebinding name: first where it may lead, then inwards. The second answer is never asked for.
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])
    with receiver(OK) as server:
        assert post(server.url(host="hook.example"), resolve=lambda host, port: next(answers)).good
    assert server.received[0].headers["host"] == f"hook.example:{server.port}"
    assert next(answers) == ["127.0.0.2"]


def test_the_next_address_is_tried_where_one_does_not_answer(settings: Settings) -> None:
    settings.WAKEFUL_OUTBOUND_ALLOW = ["hook.example"]
    with receiver(OK) as server:
        assert post(server.url(host="hook.example"), resolve=at("127.0.0.2", "::1", "127.0.0.1")).good


@pytest.mark.parametrize(("allowed", "good"), [("hook.example", True), ("other.example", False), ("127.0.0.0/8", True)])
def test_the_settings_allow_hosts_and_networks(settings: Settings, allowed: str, good: bool) -> None:
    settings.WAKEFUL_OUTBOUND_ALLOW = [allowed]
    with receiver(OK) as server:
        try:
            sent = post(server.url(host="HOOK.example"), resolve=at("127.0.0.1")).good
        except outbound.Refused:
            sent = False
    assert (sent, len(server.received)) == (good, int(good))


def test_a_name_in_another_script_is_looked_up_in_its_plain_form() -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(f"{host} {port}")
        return []

    for url in ("https://bücher.example/x", "http://xn--bcher-kva.example"):
        with pytest.raises(outbound.NoAnswer, match=r"xn--bcher-kva\.example"):
            post(url, resolve=resolve)
    assert asked == ["xn--bcher-kva.example 443", "xn--bcher-kva.example 80"]


# TLS.


def test_over_tls_the_host_proves_the_name_in_the_url_and_not_the_address() -> None:
    with receiver(OK, tls=True) as server:
        reply = post(server.url(host="hook.example", scheme="https"), resolve=at("127.0.0.1"), trust=trusting)
    assert (reply.status, reply.body) == (200, b"fine")
    assert server.received[0].headers["host"] == f"hook.example:{server.port}"


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1"])
def test_a_host_with_another_s_certificate_is_told_nothing(host: str) -> None:
    with (
        receiver(OK, tls=True) as server,
        pytest.raises(outbound.NoAnswer, match="no certificate that is valid for this name"),
    ):
        post(server.url(host=host, scheme="https"), resolve=at("127.0.0.1"), trust=trusting)
    assert server.received == []


def test_a_certificate_that_nobody_vouches_for_is_not_trusted() -> None:
    with receiver(OK, tls=True) as server, pytest.raises(outbound.NoAnswer, match="no certificate"):
        post(server.url(host="hook.example", scheme="https"), resolve=at("127.0.0.1"))
    assert server.received == []


def test_a_host_that_speaks_no_tls_gives_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def answer() -> None:
            connection, _ = plain.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(outbound.NoAnswer, match="encrypted"):
            post(f"https://127.0.0.1:{plain.getsockname()[1]}")
        thread.join()
