"""The API's description: valid, whole, and true of whatever the API answers."""

from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.urls import resolve
from drf_spectacular.validation import validate_schema
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from config.wsgi import application
from schedules.access import models as access
from tests.conftest import START, Client, HandClock
from tests.schedules.api import test_matrix
from tests.schedules.api.host import Host, host

Api = Callable[[User], Client]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = {True: 6, False: 3}  # an invented session mostly is none, and its calls all end alike
UNREADY = {"/readyz"}  # 503 is what it says where no owner runs


@pytest.fixture
def description(anonymous: Client) -> dict[str, Any]:
    answer = anonymous.get("/schema")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def operations(description: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), path): operation
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    }


def addressed(path: str) -> str:
    """The pattern of the URL configuration that takes a described path."""
    route: str = resolve(path.format(session_id="s-1", number="1", followup_id="followup-1")).route
    return route


def test_it_is_valid_openapi_3_1(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1")
    validate_schema(description)  # type: ignore[no-untyped-call]


def test_every_schema_in_it_is_valid(description: dict[str, Any]) -> None:
    found = 0
    for operation in operations(description).values():
        contents = [*operation["responses"].values(), operation.get("requestBody", {})]
        schemas = [media["schema"] for one in contents for media in one.get("content", {}).values()]
        schemas += [parameter["schema"] for parameter in operation.get("parameters", [])]
        for schema in schemas:
            Draft202012Validator.check_schema(schema)
            found += 1
    assert found > 100


def test_it_holds_every_address(description: dict[str, Any]) -> None:
    described = {(method, addressed(path)) for method, path in operations(description)}
    expected = {
        (route.method, addressed(route.path)) for route in test_matrix.ROUTES if route.path not in ("/schema", "/docs")
    }
    assert described == expected


def test_every_operation_has_a_name_of_its_own(description: dict[str, Any]) -> None:
    names = [operation["operationId"] for operation in operations(description).values()]
    assert len(set(names)) == len(names)


def test_tools_are_described_as_in_their_catalogue(description: dict[str, Any], user: User, api: Api) -> None:
    for tool in api(user).get("/tools").json()["results"]:
        operation = description["paths"]["/sessions/{session_id}/tools/" + tool["name"]]["post"]
        assert operation["requestBody"]["content"] == {"application/json": {"schema": tool["inputSchema"]}}
        assert operation["responses"]["200"]["content"] == {"application/json": {"schema": tool["outputSchema"]}}


def test_every_call_but_the_open_ones_asks_who_calls(description: dict[str, Any]) -> None:
    is_open = {route.path for route in test_matrix.ROUTES if route.kind == "open"}
    for (_, path), operation in operations(description).items():
        asked = operation.get("security", [])
        assert ({} in asked or not asked) == (path in is_open), path


class Served:
    """A session that lives whatever the calls before did to it, and its token."""

    def __init__(self, one: Host, secret: str) -> None:
        self.one = one
        self.secret = secret
        self.followups = 0
        self.turn = 0
        self.succeeded: set[str] = set()

    def ready(self, path: str) -> None:
        """Give a call what it needs to succeed: a lease, a turn or none, a follow-up."""
        if not path.startswith("/sessions/"):
            return
        self.one.open(leaseSeconds=86_400)
        if "{number}" in path:
            self.one.say()
            self.turn = self.one.get().json()["openTurn"]["turn"]
        if path.endswith(("/turns", "{followup_id}")):
            self.followups += 1
            self.one.queue(f"followup-{self.followups}")

    def call(self, case: Any, *, real: bool) -> None:
        """Send the call, and prove that the answer is as described."""
        path = case.operation.path
        if real:
            self.ready(path)
            given: dict[str, Any] = {"session_id": self.one.id, "followup_id": f"followup-{self.followups}"}
            given |= {"number": self.turn} if "{number}" in path else {}
            case.path_parameters = {name: given[name] for name in case.path_parameters or {}}
            if isinstance(case.body, dict) and "leaseId" in case.body:
                case.body["leaseId"] = self.one.lease
            case.headers.pop("Wakeful-Lease", None)
            if case.method == "DELETE":  # whose body no description made by drf-spectacular can hold
                case.headers["Wakeful-Lease"] = self.one.lease
        answer = case.call_and_validate(headers={"Authorization": f"Bearer {self.secret}"}, checks=CHECKS)
        if answer.status_code < 300:
            self.succeeded.add(case.operation.label)


@pytest.fixture
def served(user: User, api: Api, clock: HandClock) -> Served:
    _, secret = access.issue(user.pk, START)
    return Served(host(api(user), "s-1"), secret)


def explore(operation: Any, served: Served, mode: GenerationMode, *, real: bool) -> None:
    @settings(
        max_examples=EXAMPLES[real],
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        served.call(case, real=real)

    if mode is GenerationMode.NEGATIVE and not list(operation.iter_parameters()) and not operation.body:
        return  # nothing that could be wrong
    run()


def fine(operation: Any) -> Any:
    """A call that succeeds; what the description allows rarely fits together well enough."""
    (route,) = [
        route
        for route in test_matrix.ROUTES
        if (route.method, addressed(route.path)) == (operation.method.upper(), addressed(operation.path))
    ]
    case: Any = operation.Case(
        path_parameters=dict.fromkeys(parameter.name for parameter in operation.path_parameters),
        body=dict(route.body) if operation.body else schemathesis.core.NOT_SET,
        media_type="application/json" if operation.body else None,
    )
    return case


@pytest.mark.parametrize("real", [True, False], ids=["of the session", "of any session"])
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_as_described(served: Served, mode: GenerationMode, real: bool) -> None:
    described = schemathesis.openapi.from_wsgi("/schema", application)
    tried = set()
    for found in described.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if operation.path not in UNREADY:
            if real and mode is GenerationMode.POSITIVE:
                served.call(fine(operation), real=True)
            explore(operation, served, mode, real=real)
            tried.add(operation.label)
    assert len(tried) == len(test_matrix.ROUTES) - len(UNREADY | {"/schema", "/docs"})
    if real and mode is GenerationMode.POSITIVE:
        assert served.succeeded == tried  # the answers that matter most were among those proven
