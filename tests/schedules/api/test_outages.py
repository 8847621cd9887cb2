"""The database lost at any statement of a call: every answer says so in its own words, and the log says it once."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection

from schedules import turns
from schedules.domain import errors
from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, host, refusal

Api = Callable[[User], Client]
Told = list[logging.LogRecord]


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    return host(api(user), leaseSeconds=3600)


@contextmanager
def outage(after: int) -> Iterator[None]:
    """The database gone after so many statements."""
    left = [None] * after

    def answer(execute: Callable[..., Any], *statement: Any) -> Any:
        if not left:
            raise OperationalError("could not connect to server 10.0.0.7")
        left.pop()
        return execute(*statement)

    with connection.execute_wrapper(answer):
        yield


def lost(call: Callable[[], Any], caplog: pytest.LogCaptureFixture) -> Iterator[tuple[Any, Told]]:
    """The answers to a call that loses its database at each statement in turn, and what was logged of each."""
    for after in range(50):
        caplog.clear()
        with outage(after):
            answer = call()
        if answer.status_code < 300:
            assert after > 1, "it asks for the caller and for the session at least"
            return
        yield answer, [record for record in caplog.records if record.levelno >= logging.WARNING]
    raise AssertionError("it never succeeded")


CREATE = {"prompt": "look", "after_seconds": 9}
DELETE = {"id": "schedule-1"}


@pytest.mark.parametrize("key", [{}, {"HTTP_IDEMPOTENCY_KEY": "k"}])
@pytest.mark.parametrize(("operation", "arguments"), [("create", CREATE), ("list", {}), ("delete", DELETE)])
def test_a_tool_names_the_operation_and_the_id_that_it_was_given(
    one: Host, operation: str, arguments: dict[str, Any], key: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    one.tool("create", CREATE)
    for answer, told in lost(lambda: one.tool(operation, arguments, **key), caplog):
        body = answer.json()
        assert (answer.status_code, body["code"]) == (503, "persistence_uncertain")
        assert (body["operation"], body["message"]) == (operation, errors.UNCERTAIN.message)
        assert body.keys() - {"code", "message", "operation"} <= {"id"}
        if operation == "delete":
            assert body["id"] == "schedule-1"
        assert len(told) == 1


def test_a_call_that_is_no_tool_says_so_too(one: Host, caplog: pytest.LogCaptureFixture) -> None:
    for call in (one.get, lambda: one.hold("/renew"), lambda: one.get("/events"), lambda: one.get("/followups")):
        for answer, told in lost(call, caplog):
            assert refusal(answer) == (503, "persistence_uncertain")
            assert len(told) == 1


def test_arguments_that_nobody_can_read_name_nothing(one: Host) -> None:
    for body in (b"{", b"[]", b'{"id": " "}'):
        with outage(0):
            answer = one.client.raw("POST", f"/sessions/{one.id}/tools/schedule_delete", body)
        assert answer.json() == {
            "code": "persistence_uncertain",
            "message": errors.UNCERTAIN.message,
            "operation": "delete",
        }


def test_a_path_cannot_pose_as_lines_of_the_log(
    one: Host, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("inside")

    monkeypatch.setattr(turns, "discard", broken)
    answer = one.client.delete(f"/sessions/{one.id}/followups/a%0AERROR%20forged", {"leaseId": one.lease})
    assert refusal(answer) == (500, "internal_error")
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "forged" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert record.exc_info is not None
