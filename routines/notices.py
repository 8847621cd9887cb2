"""Tells an identity that a routine of theirs failed, by mail or by a signed webhook."""

import json
import logging
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.core.validators import validate_email

from routines import identities
from routines.domain import manifest
from schedules import outbound, patience, webhooks
from schedules.domain import instants

logger = logging.getLogger(__name__)

#: How long one notice may take, in seconds.
SECONDS = 10
_MAILTO = "mailto:"
_NO_MAIL = "django.core.mail.backends.dummy.EmailBackend"
# Of a summary or an error, in characters: a notice says that something happened, the run says what.
_MOST = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What is told of a run.

    routine_id: the routine's id.
    run_id: the run's id; the notice's own follows from it, so that one told twice is known as one.
    status: how the run ended.
    summary: its summary, if it has one.
    error: its error, if it has one.
    scheduled_for: the slot, in epoch milliseconds.
    """

    routine_id: str
    run_id: str
    status: str
    summary: str | None
    error: str | None
    scheduled_for: int


def send(to: manifest.Identity, notice: Notice, now: int) -> str | None:
    """Tell ``to`` within `SECONDS`. None once the mail server or the webhook took it; else why not, in plain words.

    Never raises, and tries once. The words hold neither a secret nor more of a webhook's URL than its host.
    """
    try:
        return _send(to, notice, now)
    except Exception:
        # A notice that fails must not fail the run that it is about, whatever happened.
        logger.exception("a notice of run %s could not be sent", notice.run_id)
        return "The notice could not be sent: the log says more."


def _send(to: manifest.Identity, notice: Notice, now: int) -> str | None:
    if to.name is None:
        return "The identity has no name that WAKEFUL_IDENTITIES could know: give it a ref."
    granted = identities.grant(to)
    if granted is None:
        return f"WAKEFUL_IDENTITIES does not know {to.name}: add it there, with where a notice goes as notify."
    if not granted.notify:
        return f"WAKEFUL_IDENTITIES does not say where a notice to {to.name} goes: set its notify."
    if granted.notify.lower().startswith(_MAILTO):
        return _mail(granted.notify[len(_MAILTO) :], notice)
    return _post(granted.notify, granted.secret, notice, now)


def _mail(address: str, notice: Notice) -> str | None:
    address = unquote(address)
    try:
        validate_email(address)
    except ValidationError:
        return "The notify of the identity must be mailto: and one address, as in mailto:ops@example.org."
    if settings.EMAIL_BACKEND == _NO_MAIL:
        return "No mail goes out: set EMAIL_URL, as in smtp+tls://USER:PASSWORD@HOST:587."
    message = partial(
        send_mail,
        f"Routine {notice.routine_id} {notice.status}",
        _text(notice),
        settings.DEFAULT_FROM_EMAIL,
        [address],
    )
    try:
        patience.within(SECONDS, message)
    except TimeoutError:
        return f"The mail server did not answer within {SECONDS} seconds."
    except OSError:
        # What smtplib raises is one, too. It may hold what the server said of the account.
        return "The mail server did not take the notice: check EMAIL_URL and DEFAULT_FROM_EMAIL."
    return None


def _text(notice: Notice) -> str:
    parts = [
        f"Routine: {notice.routine_id}",
        f"Run: {notice.run_id}",
        f"Scheduled for: {instants.render(notice.scheduled_for)}",
        f"Status: {notice.status}",
    ]
    parts += [f"\n{_told(text)}" for text in (notice.summary, notice.error) if text]
    return "\n".join(parts)


def _post(url: str, secret: str | None, notice: Notice, now: int) -> str | None:
    if not secret:
        return "The identity has no secret to sign with, and nothing is sent unsigned: set its secret (whsec_...)."
    body = json.dumps(
        {
            "type": f"routine.{notice.status}",
            "timestamp": instants.render(now),
            "data": {
                "routineId": notice.routine_id,
                "runId": notice.run_id,
                "status": notice.status,
                "summary": _told(notice.summary),
                "error": _told(notice.error),
                "scheduledFor": instants.render(notice.scheduled_for),
            },
        }
    ).encode("ascii")
    try:
        signed = webhooks.sign(secret, f"notice_{notice.run_id}", body, now)
    except ValueError as problem:
        return f"The identity's secret cannot sign. {problem}"
    try:
        reply = outbound.post(url, body, {"Content-Type": "application/json", **signed}, seconds=SECONDS)
    except outbound.Unsent as problem:
        return str(problem)
    if reply.good:
        return None
    host = outbound.read_url(url).raw_host.decode()
    if 300 <= reply.status < 400:
        return f"{host} sends on to another address ({reply.status}), which is not followed: set that one as notify."
    return f"{host} did not take the notice: it answered {reply.status}."


def _told(text: str | None) -> str | None:
    """As much of a text as a notice holds, without the lone surrogates that no receiver could read."""
    if text is None:
        return None
    shown = text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
    return shown.encode("utf-8", "replace").decode()
