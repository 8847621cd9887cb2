"""Who may call what: every address, every method, every kind of caller, in one table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from schedules.access import models
from tests.conftest import START, Client, HandClock
from tests.schedules.api.host import Host, host

Api = Callable[[User], Client]

SESSION = "s-1"
CALLERS = (
    "nobody",
    "revoked token",
    "member's browser",
    "stranger's token",
    "staff's token",
    "staff's browser",
    "staff's browser, no CSRF token",
    "token of another session",
    "token of the session",
    "owner's token",
)
METHODS = ("get", "post", "put", "patch", "delete")
UNAUTHENTICATED = (401, "unauthenticated")
FORBIDDEN = (403, "forbidden")
NOT_FOUND = (404, "not_found")


@dataclass(frozen=True)
class Route:
    """One call: its method and address, a body that the owner's call succeeds with, and what it takes before.

    kind: ``open`` to all, ``own`` things of any caller, ``reads`` or ``acts`` on a session, or a ``page`` of the admin.
    by_session: whether a token of the session alone may call it.
    """

    method: str
    path: str
    kind: str
    ok: int = 200
    body: dict[str, Any] = field(default_factory=dict)
    in_turn: bool = False
    by_session: bool = False

    @property
    def unsafe(self) -> bool:
        return self.method != "GET"

    def expected(self, caller: str) -> tuple[int, str | None]:
        """The status, and the code where it is an error."""
        fine = (self.ok, None)
        if self.kind == "open":
            return fine
        if self.kind == "page":
            # A person without the right to the admin is shown where to log in.
            return fine if caller.startswith("staff's browser") else (302, None)
        if caller in ("nobody", "revoked token", "member's browser"):
            return UNAUTHENTICATED
        if self.unsafe and caller == "staff's browser, no CSRF token":
            return FORBIDDEN
        if caller == "token of another session" and self.kind != "own":
            return NOT_FOUND
        if caller.startswith("token of"):
            return fine if self.by_session else FORBIDDEN
        if self.kind == "own" or caller == "owner's token":
            return fine
        if caller.endswith("token") and "browser" not in caller:
            return NOT_FOUND
        return fine if self.kind == "reads" else FORBIDDEN


LEASE = "the lease"  # stands for the leaseId of the session
S = f"/sessions/{SESSION}"
ROUTES = (
    Route("GET", "/healthz", "open"),
    Route("GET", "/readyz", "open", 503),  # no owner runs here
    Route("GET", "/schema", "open"),
    Route("GET", "/docs", "open"),
    Route("GET", "/tools", "own", by_session=True),
    Route("GET", "/event-types", "own", by_session=True),
    Route("POST", "/routines/validate", "own", body={"text": "---\nid: x\n---\n"}),
    Route("POST", "/routines/preview", "own", body={"schedule": {"kind": "interval", "every": "5m"}}),
    Route("GET", "/sessions", "own", by_session=True),
    Route("POST", "/sessions", "own", 201),
    Route("GET", S, "reads", by_session=True),
    Route("POST", f"{S}/open", "acts", body={"holder": "laptop"}),
    Route("POST", f"{S}/renew", "acts", body={"leaseId": LEASE}),
    Route("POST", f"{S}/close", "acts", body={"leaseId": LEASE}),
    Route("POST", f"{S}/fork", "acts", 201),
    Route("GET", f"{S}/events", "reads", by_session=True),
    Route("GET", f"{S}/stream", "reads", by_session=True),
    Route("POST", f"{S}/events", "acts", 201, body={"leaseId": LEASE, "type": "my-host:note", "data": None}),
    Route("GET", f"{S}/schedules", "reads", by_session=True),
    Route("POST", f"{S}/turns", "acts", 201, body={"leaseId": LEASE}),
    Route("POST", f"{S}/turns/1/messages", "acts", 201, {"leaseId": LEASE, "message": "and"}, in_turn=True),
    Route("POST", f"{S}/turns/1/end", "acts", 200, {"leaseId": LEASE, "outcome": "failed"}, in_turn=True),
    Route("GET", f"{S}/followups", "reads", by_session=True),
    Route("DELETE", f"{S}/followups/followup-1", "acts", body={"leaseId": LEASE}),
    Route("POST", f"{S}/tools/schedule_create", "acts", body={"prompt": "look", "after_seconds": 9}, by_session=True),
    Route("POST", f"{S}/tools/schedule_list", "acts", by_session=True),
    Route("POST", f"{S}/tools/schedule_delete", "acts", body={"id": "schedule-1"}, by_session=True),
)
PAGES = (Route("GET", "/admin/", "page"), Route("GET", "/admin", "page", 302))


def addresses(patterns: Sequence[URLPattern | URLResolver], before: str = "") -> Iterator[tuple[str, str]]:
    """Every (method, pattern) of the URL configuration; the admin's own addresses are the admin's affair."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from [("GET", route)] if route == "admin/" else addresses(pattern.url_patterns, route)
            continue
        view = pattern.callback
        # A viewset knows its methods by address; other views by what their class has.
        actions = getattr(view, "actions", None)
        of_class = getattr(view, "cls", None) or getattr(view, "view_class", None)
        methods = [m for m in METHODS if (m in actions if actions else hasattr(of_class, m))]
        if route == "admin":
            methods = ["get"]  # a redirect, for every method
        assert methods, f"{route}: a view of no kind that this test knows"
        yield from ((method.upper(), route) for method in methods)


def test_the_table_names_every_address_and_method() -> None:
    tabled = {(route.method, resolve(route.path).route) for route in (*ROUTES, *PAGES)}
    tabled.remove(("GET", "admin/"))
    assert {("GET", "admin/"), *tabled} == set(addresses(get_resolver().url_patterns))


@pytest.fixture
def served(user: User, api: Api, clock: HandClock) -> Host:
    """An open session of the owner, with a waiting follow-up."""
    served = host(api(user), SESSION)
    served.queue()
    return served


@pytest.fixture
def clients(served: Host, user: User, stranger: User, staff: User, api: Api) -> dict[str, Client]:
    """A client of each kind of caller, by name."""
    token, secret = models.issue(user.pk, START)
    models.Token.objects.filter(pk=token.pk).update(revoked_at=START)
    revoked = Client()
    revoked.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    member, browser, careless = (Client(enforce_csrf_checks=True) for _ in range(3))
    member.force_login(stranger)
    for client in (browser, careless):
        client.force_login(staff)
    for client in (browser, member):
        client.cookies["csrftoken"] = "x" * 32
        client.credentials(HTTP_X_CSRFTOKEN="x" * 32)
    other = host(served.client, "s-2").id
    bound = (_bound(user, session_id) for session_id in (other, SESSION))
    found = (Client(), revoked, member, api(stranger), api(staff), browser, careless, *bound, served.client)
    return dict(zip(CALLERS, found, strict=True))


def _bound(user: User, session_id: str) -> Client:
    _, secret = models.issue(user.pk, START, session_id=session_id)
    client = Client()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def ask(client: Client, route: Route, served: Host, path: str | None = None) -> Any:
    body = {name: served.lease if value == LEASE else value for name, value in route.body.items()}
    call = getattr(client, route.method.lower())
    return call(path or route.path, body) if route.unsafe else call(path or route.path)


@pytest.mark.parametrize("route", [*ROUTES, *PAGES], ids=lambda route: f"{route.method} {route.path}")
def test_each_caller_gets_what_is_theirs(route: Route, served: Host, clients: dict[str, Client]) -> None:
    if route.in_turn:
        served.say()
    seen: dict[str, tuple[int, str | None]] = {}
    for caller, client in clients.items():
        answer = ask(client, route, served)
        refused = answer.status_code >= 400 and route.kind != "open"
        seen[caller] = (answer.status_code, answer.json()["code"] if refused else None)
    assert seen == {caller: route.expected(caller) for caller in CALLERS}


def test_a_session_of_another_looks_like_none(
    served: Host, clients: dict[str, Client], api: Api, stranger: User
) -> None:
    host(api(stranger), "theirs")
    for caller, session_id in (
        ("stranger's token", SESSION),
        ("token of another session", SESSION),
        ("owner's token", "theirs"),
    ):
        for route in ROUTES:
            if route.path.startswith(S):
                answers = [
                    ask(clients[caller], route, served, route.path.replace(SESSION, other))
                    for other in (session_id, "no-such-session")
                ]
                assert [answer.status_code for answer in answers] == [404, 404], (route, caller)
                assert answers[0].content == answers[1].content


def test_a_refused_caller_changes_nothing(served: Host, clients: dict[str, Client]) -> None:
    before = served.log(), served.get().json()
    for route in ROUTES:
        if route.kind == "acts":
            for caller in CALLERS[:-1]:
                if caller == "token of the session" and route.by_session:
                    continue
                ask(clients[caller], route, served)
    assert (served.log(), served.get().json()) == before


def test_a_token_lists_its_own_sessions_and_a_staff_browser_all(
    served: Host, clients: dict[str, Client], api: Api, stranger: User
) -> None:
    host(api(stranger), "theirs")
    lists = {
        caller: [row["id"] for row in clients[caller].get("/sessions").json()["results"]]
        for caller in ("owner's token", "token of the session", "stranger's token", "staff's token", "staff's browser")
    }
    assert lists == {
        "owner's token": ["s-2", SESSION],
        "token of the session": [SESSION],
        "stranger's token": ["theirs"],
        "staff's token": [],
        "staff's browser": ["theirs", "s-2", SESSION],
    }


def test_a_member_of_staff_acts_on_a_session_of_their_own_by_browser(clients: dict[str, Client]) -> None:
    browser = clients["staff's browser"]
    made = browser.post("/sessions", {"id": "ops", "open": True})
    assert made.status_code == 201
    closed = browser.post("/sessions/ops/close", {"leaseId": made.json()["leaseId"]})
    assert closed.json() == {"closed": True}


def test_a_staff_browser_renews_no_lease_of_another(served: Host, clients: dict[str, Client]) -> None:
    answer = clients["staff's browser"].get(S, HTTP_WAKEFUL_LEASE=served.lease)
    assert (answer.status_code, answer.json()["code"]) == FORBIDDEN


def test_a_method_that_an_address_lacks_is_named_so(served: Host, clients: dict[str, Client]) -> None:
    for route in ROUTES:
        if route.path == "/docs":
            continue  # a page for people, who send no PATCH
        answer = clients["owner's token"].patch(route.path, {})
        assert (answer.status_code, answer.json()["code"]) == (405, "invalid_request"), route
        assert route.method in answer["Allow"]


def test_options_and_head_are_answered(served: Host, clients: dict[str, Client]) -> None:
    owner = clients["owner's token"]
    for route in ROUTES:
        assert owner.options(route.path).status_code == (405 if route.path == "/docs" else 200), route.path
        if not route.unsafe:
            assert owner.head(route.path).status_code == route.ok, route.path
