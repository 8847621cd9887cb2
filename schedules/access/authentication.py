"""Who calls: the owner of a bearer token, or a member of staff by the session of Django's admin."""

import re
from typing import ClassVar

from django.contrib.auth.models import User
from django.http import QueryDict
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from schedules.access import models

_BEARER = re.compile(r"bearer +([!-~]+)", re.IGNORECASE)


class ForSessionTokens:
    """A view that a token of one session may call: its methods named here, and no others."""

    for_session_tokens: ClassVar[frozenset[str]] = frozenset()


class BearerAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``; ``request.auth`` is the Token. One that opens nothing is 401.

    A token of one session is held to it here, where no view can forget to: another session is 404 to it, and what no
    view has opened to it is 403.
    """

    def authenticate(self, request: Request) -> tuple[User, models.Token] | None:
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        match = _BEARER.fullmatch(header.strip(" "))
        if match is None:
            raise exceptions.AuthenticationFailed("Send the header as: Authorization: Bearer <token>.")
        found = models.find(match[1])
        if found is None:
            raise exceptions.AuthenticationFailed(
                "This token opens nothing: it is unknown, was revoked or has expired."
            )
        _, token = found
        if token.session_id is not None:
            _hold_to_session(request, token.session_id)
        return found

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _hold_to_session(request: Request, session_id: str) -> None:
    view = (request.parser_context or {}).get("view")
    if getattr(view, "kwargs", {}).get("session_id", session_id) != session_id:
        raise exceptions.NotFound
    opened = view.for_session_tokens if isinstance(view, ForSessionTokens) else ()
    if getattr(view, "action", None) not in opened:
        raise exceptions.PermissionDenied("This token speaks for one session alone: it may read it and call its tools.")


class StaffSessionAuthentication(SessionAuthentication):
    """The browser session of an active member of staff; anyone else's cookie counts as nobody's.

    An unsafe method needs the CSRF token too, in its header: a body is JSON and holds none.
    """

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        user = request._request.user
        if not (isinstance(user, User) and user.is_active and user.is_staff):
            return None
        self.enforce_csrf(request)
        return user, None

    def enforce_csrf(self, request: Request) -> None:
        # Django's check would look for the token in a form, and read the body as one if its type says so.
        request._request._post = QueryDict()  # type: ignore[attr-defined]
        super().enforce_csrf(request._request)  # type: ignore[arg-type]
