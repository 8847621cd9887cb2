"""Who calls: the owner of a bearer token, or a member of staff by the session of Django's admin."""

import re

from django.contrib.auth.models import User
from django.http import QueryDict
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from schedules.access import models

_BEARER = re.compile(r"bearer +([!-~]+)", re.IGNORECASE)


class BearerAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``; ``request.auth`` is the Token. One that opens nothing is 401."""

    def authenticate(self, request: Request) -> tuple[User, models.Token] | None:
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        match = _BEARER.fullmatch(header.strip(" "))
        if match is None:
            raise exceptions.AuthenticationFailed("Send the header as: Authorization: Bearer <token>.")
        found = models.find(match[1])
        if found is None:
            raise exceptions.AuthenticationFailed("This token opens nothing: it is unknown, or was revoked.")
        return found

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


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
