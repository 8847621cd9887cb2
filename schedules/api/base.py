"""What every call on a session does first: find it, check the caller's rights to it, and read the headers."""

import re

from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet

from schedules import live
from schedules.access.authentication import ForSessionTokens
from schedules.access.models import Token
from schedules.api import errors
from schedules.idempotency import Once
from schedules.sessions import log
from schedules.sessions.errors import Refusal
from schedules.sessions.lossless import Json

_LEASE = "HTTP_WAKEFUL_LEASE"
_ONCE = "HTTP_IDEMPOTENCY_KEY"
_KEY = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?")


class SessionView(ForSessionTokens, ViewSet):
    """The base of the views below ``/sessions``.

    A token reaches its user's own sessions; to it, another's do not exist. Staff by their browser session read every
    session, and act on their own alone.
    """

    def readable(self, request: Request, session_id: str) -> log.Header:
        """The session, for a call that reads. Raises Refusal."""
        header = self._header(request, session_id)
        if lease_of(request) is not None:
            self._own(request, header)
        return header

    def renew_lease(self, request: Request, header: log.Header) -> None:
        """Renew the lease that a reading call carries, once nothing else can refuse it. Raises Refusal."""
        lease_id = lease_of(request)
        if lease_id is not None:
            live.renew(header.id, lease_id)

    def writable(self, request: Request, session_id: str) -> log.Header:
        """The session, for a call that acts on it. Raises Refusal."""
        header = self._header(request, session_id)
        self._own(request, header)
        return header

    def _header(self, request: Request, session_id: str) -> log.Header:
        header = log.header(session_id)
        if header is None or (header.owner_id != request.user.pk and isinstance(request.auth, Token)):
            raise errors.NOT_FOUND.refusal()
        return header

    def _own(self, request: Request, header: log.Header) -> None:
        if header.owner_id != request.user.pk:
            raise Refusal("forbidden", "Staff may read the sessions of others, not act on them.")


def caller(request: Request) -> int:
    """The id of the user who calls. Raises NotAuthenticated for nobody."""
    user_id = request.user.pk
    if user_id is None:
        raise NotAuthenticated
    return user_id


def lease_of(request: Request) -> str | None:
    """The ``Wakeful-Lease`` header."""
    value = request.META.get(_LEASE)
    return None if value is None else str(value)


def once_of(request: Request, call: str, body: Json) -> Once | None:
    """The ``Idempotency-Key`` header, for this call with this body. Raises Refusal for one that is no key."""
    key = request.META.get(_ONCE)
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        raise Refusal(
            "invalid_request",
            "Idempotency-Key must be 1 to 255 printable ASCII characters, such as a UUID.",
            {"Idempotency-Key": "1 to 255 printable ASCII characters"},
        )
    return Once(call=call, key=key, body=body)
