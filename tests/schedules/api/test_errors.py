"""From what went wrong to an HTTP answer."""

import gc
import json
import logging
from collections.abc import Callable
from typing import get_args

import pytest
from django.contrib.auth.models import User
from django.core import exceptions as django_errors
from django.core.handlers.wsgi import WSGIRequest
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, UnreadablePostError
from django.test import RequestFactory
from django.urls import path
from rest_framework import exceptions as rest_errors
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from schedules.api import errors
from schedules.domain import errors as schedule_errors
from schedules.sessions import errors as session_errors
from schedules.sessions.errors import Refusal
from tests.conftest import Client


@api_view(["GET"])
def mine(request: Request) -> Response:
    return Response([])


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def broken(request: Request) -> Response:
    raise KeyError("SELECT secret FROM /etc/passwd")


urlpatterns = [path("mine", mine), path("broken", broken)]
handler404 = "schedules.api.errors.not_found"
pytestmark = pytest.mark.urls(__name__)


def test_every_code_has_a_status() -> None:
    assert set(errors.STATUS) >= {*get_args(session_errors.Code), *schedule_errors.CODES}


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (Refusal("lease_lost", "Open it again."), 409, "lease_lost"),
        (Refusal("idempotency_conflict", "Another body."), 422, "idempotency_conflict"),
        (Refusal("limit_reached", "Delete some."), 429, "limit_reached"),
        (session_errors.PersistenceUncertain(), 503, "persistence_uncertain"),
        (schedule_errors.NOT_FUTURE.error(), 400, "not_future"),
        (schedule_errors.CorruptLog("no such id", 3), 409, "corrupt_schedule_log"),
        (rest_errors.NotAuthenticated(), 401, "unauthenticated"),
        (rest_errors.AuthenticationFailed(), 401, "unauthenticated"),
        (rest_errors.PermissionDenied(), 403, "forbidden"),
        (django_errors.PermissionDenied(), 403, "forbidden"),
        (rest_errors.NotFound(), 404, "not_found"),
        (Http404("No Session matches the given query."), 404, "not_found"),
        (rest_errors.MethodNotAllowed("PUT"), 405, "invalid_request"),
        (rest_errors.ParseError(), 400, "invalid_request"),
        (rest_errors.Throttled(wait=1.5), 429, "rate_limited"),
        (django_errors.RequestDataTooBig(), 413, "too_large"),
        (django_errors.SuspiciousOperation(), 400, "invalid_request"),
        (UnreadablePostError(), 400, "invalid_json"),
        (OperationalError("no route to 10.0.0.7"), 503, "persistence_uncertain"),
        (InterfaceError("connection already closed"), 503, "persistence_uncertain"),
        (rest_errors.APIException(), 500, "internal_error"),
        (ValueError("SELECT 1"), 500, "internal_error"),
    ],
)
def test_each_problem_has_its_status_and_code(problem: Exception, status: int, code: str) -> None:
    answer = errors.handle(problem, {})
    assert (answer.status_code, answer.data["code"]) == (status, code)
    assert set(answer.data) == {"code", "message"}
    for inside in ("SELECT", "10.0.0.7", "matches", "closed"):
        assert inside not in answer.data["message"]


def test_fields_are_named_where_they_are_at_fault() -> None:
    answer = errors.handle(Refusal("invalid_request", "See fields.", {"limit": "Send 1."}), {})
    assert answer.data["fields"] == {"limit": "Send 1."}


def test_an_unexpected_error_is_logged_with_its_trace_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = Client().get("/broken")
    assert answer.status_code == 500
    assert answer.json() == errors.body("internal_error", errors.INTERNAL.message)
    assert [record.exc_info is not None for record in caplog.records if record.name == errors.__name__] == [True]


def test_a_refusal_is_not_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    errors.handle(Refusal("not_found", "No."), {})
    assert caplog.records == []


def test_a_stranger_is_told_how_to_say_who_they_are(anonymous: Client) -> None:
    answer = anonymous.get("/mine")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json()["code"] == "unauthenticated"


def test_a_wrong_method_is_told_which_are_allowed(anonymous: Client) -> None:
    answer = anonymous.put("/broken", {})
    assert (answer.status_code, sorted(answer["Allow"].split(", "))) == (405, ["GET", "OPTIONS"])


def test_a_throttled_caller_is_told_when_to_come_back() -> None:
    assert errors.handle(rest_errors.Throttled(wait=1.5), {})["Retry-After"] == "2"


def test_an_unknown_address_is_json(anonymous: Client) -> None:
    answer = anonymous.get("/no/such/thing")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")
    assert answer.json()["code"] == "not_found"


def request_for(address: str) -> HttpRequest:
    return RequestFactory().get(address)


def test_outside_the_admin_every_failure_is_json() -> None:
    api = request_for("/sessions")
    for answer, status, code in (
        (errors.not_found(api, Http404()), 404, "not_found"),
        (errors.permission_denied(api, django_errors.PermissionDenied()), 403, "forbidden"),
        (errors.bad_request(api, django_errors.DisallowedHost()), 400, "invalid_request"),
        (errors.bad_request(api, django_errors.RequestDataTooBig()), 413, "too_large"),
        (errors.server_error(api), 500, "internal_error"),
    ):
        assert (answer.status_code, json.loads(answer.content)["code"]) == (status, code)


def test_in_the_admin_failures_are_pages() -> None:
    admin = request_for("/admin/nowhere/")
    for answer in (
        errors.not_found(admin, Http404()),
        errors.permission_denied(admin, django_errors.PermissionDenied()),
        errors.bad_request(admin, django_errors.SuspiciousOperation()),
        errors.server_error(admin),
    ):
        assert answer["Content-Type"].startswith("text/html")


@pytest.mark.urls("config.urls")
def test_a_foreign_host_name_is_refused_in_json(anonymous: Client) -> None:
    answer = anonymous.get("/schema", HTTP_HOST="evil.example")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.urls("config.urls")
def test_a_refused_request_is_forgotten(user: User, api: Callable[[User], Client]) -> None:
    client = api(user)

    def kept_by(calls: int) -> int:
        for _ in range(calls):
            assert client.get("/sessions/none").status_code == 404
            assert client.get("/no/such/thing").status_code == 404
        gc.collect()
        return sum(isinstance(thing, WSGIRequest) for thing in gc.get_objects())

    assert kept_by(1) == kept_by(5)
