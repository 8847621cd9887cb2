"""Who calls: by token, by a staff member's browser session, or nobody."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.urls import include, path
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from schedules.access import models
from tests.conftest import START, Client, HandClock

Api = Callable[[User], Client]


@api_view(["GET", "POST", "DELETE"])
def whoami(request: Request) -> Response:
    """The caller, how they proved it, and the body."""
    token = request.auth.pk if isinstance(request.auth, models.Token) else None
    return Response({"user": request.user.get_username(), "token": token, "body": request.data})


urlpatterns = [path("whoami", whoami), path("", include("config.urls"))]
pytestmark = pytest.mark.urls(__name__)


def test_a_token_speaks_for_its_user(user: User, api: Api) -> None:
    answer = api(user).get("/whoami").json()
    token = models.Token.objects.get(user=user)
    assert answer == {"user": "ada", "token": token.pk, "body": {}}


def test_the_schemes_letter_case_does_not_matter(user: User, anonymous: Client) -> None:
    _, secret = models.issue(user.pk, START)
    assert anonymous.get("/whoami", HTTP_AUTHORIZATION=f"bEARER  {secret} ").status_code == 200


def test_a_token_needs_no_csrf_token(user: User, api: Api) -> None:
    client = api(user)
    client.handler.enforce_csrf_checks = True
    assert client.post("/whoami", {"a": 1}).json()["body"] == {"a": 1}


def test_a_token_of_one_session_opens_no_view_that_does_not_say_so(user: User, anonymous: Client) -> None:
    _, secret = models.issue(user.pk, START, session_id="s-1")
    for method in ("GET", "POST", "DELETE", "OPTIONS", "PATCH"):
        answer = anonymous.generic(method, "/whoami", HTTP_AUTHORIZATION=f"Bearer {secret}")
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_nobody_is_unauthenticated(anonymous: Client) -> None:
    answer = anonymous.get("/whoami")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json() == {
        "code": "unauthenticated",
        "message": "Send a token in the header: Authorization: Bearer <token>.",
    }


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Basic YWRhOmFkYQ==",
        "Token wkf_x",
        "wkf_x",
        "Bearer wkf_unknown",
        "Bearer \0",
        "Bearer wkf_\0",
        "Bearer é",
        "Bearer ٣",
        "Bearer \ud800",
        "Bearer " + "a" * 100_000,
    ],
)
def test_a_header_that_opens_nothing_is_unauthenticated(anonymous: Client, header: str) -> None:
    answer = anonymous.get("/whoami", HTTP_AUTHORIZATION=header)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json()["code"] == "unauthenticated"


def test_a_revoked_token_opens_nothing(user: User, api: Api, clock: HandClock) -> None:
    client = api(user)
    models.Token.objects.update(revoked_at=clock.now)
    assert client.get("/whoami").status_code == 401


def test_a_token_of_an_inactive_user_opens_nothing(user: User, api: Api) -> None:
    client = api(user)
    User.objects.update(is_active=False)
    assert client.get("/whoami").status_code == 401


def test_authentication_comes_before_the_body(anonymous: Client) -> None:
    assert anonymous.raw("POST", "/whoami", b"{").status_code == 401


@pytest.fixture
def browser(store: None) -> Client:
    """A browser, which is held to CSRF."""
    return Client(enforce_csrf_checks=True)


def test_a_staff_session_may_read(staff: User, browser: Client) -> None:
    browser.force_login(staff)
    assert browser.get("/whoami").json() == {"user": "grace", "token": None, "body": {}}


@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_staff_session_needs_a_csrf_token_to_write(
    staff: User, browser: Client, content_type: str, method: str
) -> None:
    browser.force_login(staff)
    answer = browser.raw(method, "/whoami", b"[1]", content_type)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    secret = "a" * 32
    browser.cookies["csrftoken"] = secret
    answer = browser.raw(method, "/whoami", b"[1]", content_type, HTTP_X_CSRFTOKEN=secret)
    assert (answer.status_code, answer.json()["body"]) == (200, [1])


def test_another_users_session_counts_as_nobodys(user: User, browser: Client) -> None:
    browser.force_login(user)
    assert browser.get("/whoami").status_code == 401
    assert browser.post("/whoami", {}).status_code == 401


def test_a_staff_session_that_was_made_inactive_counts_as_nobodys(staff: User, browser: Client) -> None:
    browser.force_login(staff)
    User.objects.update(is_active=False)
    assert browser.get("/whoami").status_code == 401


def test_a_token_goes_before_a_cookie(staff: User, user: User, browser: Client) -> None:
    browser.force_login(staff)
    _, secret = models.issue(user.pk, START)
    assert browser.post("/whoami", {}, HTTP_AUTHORIZATION=f"Bearer {secret}").json()["user"] == "ada"
