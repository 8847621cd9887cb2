"""From what went wrong to an HTTP answer: the one place that knows status codes.

Every answer is ``{"code", "message"}``, with ``fields`` where single fields are at fault. No message shows an
exception, SQL or a path; those go to the log.
"""

import logging
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import exceptions as django_errors
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.views import defaults
from rest_framework import exceptions as rest_errors
from rest_framework.response import Response

from schedules import transaction
from schedules.api import json
from schedules.domain.errors import ScheduleError
from schedules.sessions import lossless
from schedules.sessions.errors import Code, PersistenceUncertain, Refusal

logger = logging.getLogger(__name__)

STATUS = {
    "invalid_json": 400,
    "invalid_request": 400,
    "invalid_outcome": 400,
    "invalid_selector": 400,
    "invalid_prompt": 400,
    "invalid_rule": 400,
    "invalid_time_zone": 400,
    "not_future": 400,
    "time_out_of_range": 400,
    "frequency_too_high": 400,
    "routine_invalid": 400,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "session_exists": 409,
    "session_live": 409,
    "session_not_live": 409,
    "lease_lost": 409,
    "turn_open": 409,
    "turn_not_open": 409,
    "nothing_to_claim": 409,
    "corrupt_schedule_log": 409,
    "too_large": 413,
    "idempotency_conflict": 422,
    "limit_reached": 429,
    "rate_limited": 429,
    "internal_error": 500,
    "persistence_uncertain": 503,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One thing that is refused in many places.

    code: the public code it has.
    message: what the caller is told, word for word.
    """

    code: Code
    message: str

    def refusal(self) -> Refusal:
        """A fresh exception: one that is raised again and again holds on to all requests that it ever went through."""
        return Refusal(self.code, self.message)


NOT_FOUND = Situation(code="not_found", message="There is nothing here, or it is not yours.")
FORBIDDEN = Situation(code="forbidden", message="You may not do this: it needs a permission that you lack.")
BAD_REQUEST = Situation(code="invalid_request", message="The server does not take this request as it stands.")
UNKNOWN_HOST = Situation(
    code="invalid_request", message="The server does not answer to this host name; see ALLOWED_HOSTS."
)
CUT_SHORT = Situation(code="invalid_json", message="The body broke off before its end; send it again.")
CODING = Situation(
    code="invalid_request", message="The only Transfer-Encoding taken is chunked; send the body without any other."
)
TOO_SLOW = Situation(code="invalid_request", message="The body did not come in time; send it again, at once.")
_UNANSWERED_PAGE = "<!doctype html><title>Unavailable</title><h1>The database does not answer</h1><p>Try again later."
INTERNAL = Situation(
    code="internal_error",
    message="Something went wrong inside the server. Try again later; its log says what it was.",
)


def body(code: str, message: str, fields: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON body of an error."""
    return {"code": code, "message": message} | ({"fields": dict(fields)} if fields else {})


def handle(exc: Exception, context: Mapping[str, Any]) -> Response:
    """REST framework's exception handler: an answer for whatever a view raised."""
    if isinstance(exc, ScheduleError):
        return Response(body(exc.code, exc.message), status=STATUS[exc.code])
    refusal = _refusal(exc)
    status = STATUS[refusal.code]
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(exc, rest_errors.MethodNotAllowed):
        status = exc.status_code  # REST framework itself adds the Allow header to every answer
    if wait := getattr(exc, "wait", None):  # REST framework's Throttled
        headers["Retry-After"] = str(math.ceil(wait))
    # An outage was logged where it was met.
    if status >= 500 and not isinstance(exc, PersistenceUncertain):
        request = context.get("request")
        # A path may hold line breaks, and so pose as lines of the log.
        logger.error("%s %r", *((request.method, request.path) if request else ("?", "?")), exc_info=exc)
    answer = Response(body(refusal.code, refusal.message, refusal.fields), status=status, headers=headers)
    return logged(answer)


def logged(answer: Response) -> Response:
    """The same answer, about which Django logs nothing: whoever met the failure has, and knew the cause."""
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def _refusal(exc: Exception) -> Refusal:
    if isinstance(exc, transaction.UNANSWERED):
        return PersistenceUncertain()
    match exc:
        case Refusal():
            return exc
        case Http404() | rest_errors.NotFound():
            return NOT_FOUND.refusal()
        case django_errors.PermissionDenied():
            return FORBIDDEN.refusal()
        case django_errors.RequestDataTooBig():
            return json.too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        case django_errors.DisallowedHost():
            return UNKNOWN_HOST.refusal()
        case django_errors.SuspiciousOperation() | django_errors.BadRequest():
            return BAD_REQUEST.refusal()
        case UnreadablePostError():
            return CUT_SHORT.refusal()
        case rest_errors.APIException():
            return _from_rest_framework(exc)
    return INTERNAL.refusal()


def _from_rest_framework(exc: rest_errors.APIException) -> Refusal:
    match exc:
        case rest_errors.NotAuthenticated():
            return Refusal("unauthenticated", "Send a token in the header: Authorization: Bearer <token>.")
        case rest_errors.AuthenticationFailed():
            return Refusal("unauthenticated", str(exc.detail))
        case rest_errors.PermissionDenied():
            own_words = exc.detail != rest_errors.PermissionDenied.default_detail
            return Refusal("forbidden", str(exc.detail)) if own_words else FORBIDDEN.refusal()
        case rest_errors.MethodNotAllowed():
            return Refusal("invalid_request", "This address does not take that method; see the Allow header.")
        case rest_errors.Throttled():
            return Refusal("rate_limited", "Too many requests; wait before you send the next one.")
    if exc.status_code >= 500:
        return INTERNAL.refusal()
    return BAD_REQUEST.refusal()


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler404`` of the project."""
    if _is_admin(request):
        return defaults.page_not_found(request, exception)
    return _plain(NOT_FOUND.refusal())


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler403`` of the project."""
    if _is_admin(request):
        return defaults.permission_denied(request, exception)
    return _plain(FORBIDDEN.refusal())


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler400`` of the project: what Django refuses before or outside a view of the API."""
    if _is_admin(request):
        return defaults.bad_request(request, exception)
    return _plain(_refusal(exception))


def server_error(request: HttpRequest) -> HttpResponse:
    """``handler500`` of the project; Django has logged the trace. 503 where it is the database that is gone."""
    unanswered = isinstance(sys.exception(), transaction.UNANSWERED)
    if _is_admin(request):
        return HttpResponse(_UNANSWERED_PAGE, status=503) if unanswered else defaults.server_error(request)
    return _plain(PersistenceUncertain() if unanswered else INTERNAL.refusal())


def _is_admin(request: HttpRequest) -> bool:
    return request.path_info.startswith("/admin/")


def _plain(refusal: Refusal) -> HttpResponse:
    text = lossless.dumps(body(refusal.code, refusal.message, refusal.fields))
    return HttpResponse(text, content_type="application/json", status=STATUS[refusal.code])
