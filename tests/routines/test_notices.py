"""Notices of failed routines: who is told, by mail or webhook, and what is said where nobody can be."""

import contextlib
import json
import socket
from typing import Any

import pytest
from django.core import mail
from pytest_django import Settings

from routines import notices
from routines.domain.manifest import Identity
from schedules import webhooks
from tests.conftest import START
from tests.receiver import Received, Receiver, receiver, status

OPS = Identity(form="bot://ops")
SECRET = webhooks.new_secret()
NOTICE = notices.Notice(
    routine_id="@acme/nightly",
    run_id="0192",
    status="failed",
    summary="git exited with 1",
    error="fatal: not a repository",
    scheduled_for=START,
)


@pytest.fixture
def known(settings: Settings) -> Any:
    """``known(notify=..., secret=...)``: what the settings say of `bot://ops`."""
    settings.WAKEFUL_OUTBOUND_ALLOW = ["127.0.0.1"]

    def say(**grant: object) -> None:
        settings.WAKEFUL_IDENTITIES = {"bot://ops": {"tools": [], **grant}}

    return say


def send(to: Identity = OPS, notice: notices.Notice = NOTICE) -> str | None:
    return notices.send(to, notice, START + 5_000)


# By webhook.


def told(server: Receiver) -> Any:
    """The message that the server took, if its signature is right."""
    (sent,) = server.received
    assert webhooks.verify(SECRET, sent.headers, sent.body, START + 5_000) == "notice_0192"
    return json.loads(sent.body)


def test_a_webhook_is_told_of_the_run_in_a_signed_message(known: Any) -> None:
    with receiver(status(204)) as server:
        known(notify=server.url(), secret=SECRET)
        assert send() is None
    assert told(server) == {
        "type": "routine.failed",
        "timestamp": "2026-12-01T00:00:05.000Z",
        "data": {
            "routineId": "@acme/nightly",
            "runId": "0192",
            "status": "failed",
            "summary": "git exited with 1",
            "error": "fatal: not a repository",
            "scheduledFor": "2026-12-01T00:00:00.000Z",
        },
    }
    assert server.received[0].headers["content-type"] == "application/json"


def test_an_identity_s_object_is_known_by_its_ref(known: Any) -> None:
    with receiver(status(200)) as server:
        known(notify=server.url(), secret=SECRET)
        assert send(Identity(form={"ref": "bot://ops"})) is None
    assert told(server)["type"] == "routine.failed"


def test_long_texts_are_cut_and_lone_surrogates_replaced(known: Any) -> None:
    notice = notices.Notice(
        routine_id="r1", run_id="0192", status="failed", summary=None, error="\ud800" + "é" * 5_000, scheduled_for=START
    )
    with receiver(status(200)) as server:
        known(notify=server.url(), secret=SECRET)
        assert send(notice=notice) is None
    data = told(server)["data"]
    assert (data["summary"], data["error"]) == (None, "?" + "é" * 3_998 + "…")


@pytest.mark.parametrize("secret", [None, ""])
def test_nothing_is_sent_unsigned(known: Any, secret: str | None) -> None:
    with receiver(status(200)) as server:
        known(notify=server.url(), secret=secret)
        assert "nothing is sent unsigned" in (send() or "")
    assert server.received == []


def test_a_secret_that_cannot_sign_is_told_of_and_not_shown(known: Any) -> None:
    with receiver(status(200)) as server:
        known(notify=server.url(), secret="hunter2")
        words = send() or ""
    assert "A secret is whsec_" in words
    assert "hunter2" not in words
    assert server.received == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (500, "127.0.0.1 did not take the notice: it answered 500."),
        (410, "127.0.0.1 did not take the notice: it answered 410."),
        (302, "127.0.0.1 sends on to another address (302), which is not followed: set that one as notify."),
    ],
)
def test_an_answer_that_is_no_success_is_told(known: Any, code: int, words: str) -> None:
    with receiver(status(code, Location="/elsewhere")) as server:
        known(notify=server.url("/hidden?token=hidden"), secret=SECRET)
        assert send() == words
    assert [type(sent) for sent in server.received] == [Received]


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hidden@hook.example/hidden",
        "ftp://hook.example/hidden",
        "http://10.1.2.3/hidden",
        "http://127.0.0.1:1/hidden",
        "hidden",
    ],
)
def test_what_stands_against_a_webhook_s_url_is_told_without_showing_it(known: Any, url: str) -> None:
    known(notify=url, secret=SECRET)
    words = send()
    assert words
    assert "hidden" not in words


# By mail.


def test_a_mail_tells_of_the_run(known: Any, settings: Settings) -> None:
    settings.DEFAULT_FROM_EMAIL = "wakeful@example.org"
    known(notify="MAILTO:ops%2Bnight@example.org")
    assert send() is None
    (sent,) = mail.outbox
    assert (sent.subject, sent.from_email, sent.to) == (
        "Routine @acme/nightly failed",
        "wakeful@example.org",
        ["ops+night@example.org"],
    )
    assert sent.body == (
        "Routine: @acme/nightly\nRun: 0192\nScheduled for: 2026-12-01T00:00:00.000Z\nStatus: failed\n"
        "\ngit exited with 1\n\nfatal: not a repository"
    )


@pytest.mark.parametrize(
    "address",
    [
        "",
        "nobody",
        "a@example.org,b@example.org",
        "a@example.org?cc=b@example.org",
        "a@example.org%0ABcc:b@example.org",
    ],
)
def test_a_mail_goes_to_one_address(known: Any, address: str) -> None:
    known(notify=f"mailto:{address}")
    assert "mailto: and one address" in (send() or "")
    assert mail.outbox == []


def test_without_a_mail_server_nobody_is_said_to_be_told(known: Any, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    known(notify="mailto:ops@example.org")
    assert send() == "No mail goes out: set EMAIL_URL, as in smtp+tls://USER:PASSWORD@HOST:587."


def through(settings: Settings, server: socket.socket) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = server.getsockname()


def test_a_mail_server_that_is_not_there_is_told_of(known: Any, settings: Settings) -> None:
    known(notify="mailto:ops@example.org")
    with socket.create_server(("127.0.0.1", 0)) as server:
        through(settings, server)
    assert (send() or "").startswith("The mail server did not take the notice")


def test_a_mail_server_that_says_nothing_is_not_waited_for(
    known: Any, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "SECONDS", 0.2)
    settings.EMAIL_TIMEOUT = None
    known(notify="mailto:ops@example.org")
    with socket.create_server(("127.0.0.1", 0)) as server:
        through(settings, server)
        assert send() == "The mail server did not answer within 0.2 seconds."
        # What was left alone ends with its connection.
        with contextlib.closing(server.accept()[0]):
            pass


# Nobody to tell.


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("bot://other", "WAKEFUL_IDENTITIES does not know bot://other"),
        ("bot://ops", "does not say where a notice to bot://ops goes: set its notify"),
        ({"inline": {"name": "Ada", "email": "ada@example.org"}}, "give it a ref"),
        ({"file": "who.yaml"}, "give it a ref"),
    ],
)
def test_an_identity_that_cannot_be_told_is_explained(known: Any, form: Any, words: str) -> None:
    known()
    assert words in (send(Identity(form=form)) or "")
    assert mail.outbox == []


def test_settings_in_disorder_raise_nothing(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    settings.WAKEFUL_IDENTITIES = {"bot://ops": "nonsense"}
    assert send() == "The notice could not be sent: the log says more."
    assert "a notice of run 0192 could not be sent" in caplog.text
