"""A database that breaks off under a call: the answer is ``persistence_uncertain``, and never a guess."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import InterfaceError, InternalError, OperationalError, connection

from schedules import live, transaction
from schedules.locked import Unit
from schedules.sessions import log, lossless
from schedules.sessions.errors import PersistenceUncertain
from tests.conftest import HandClock


@pytest.fixture
def session(user: User, clock: HandClock) -> str:
    """A session's id."""
    made = log.Header(id=log.new_id(), owner_id=user.pk, created_at=clock.now)
    live.create(made)
    return made.id


def note(unit: Unit) -> lossless.Json:
    unit.append("host:note", 1)
    return None


def length(session_id: str) -> int:
    header = log.header(session_id)
    assert header is not None
    return log.last_seq(header) + 1


@pytest.mark.parametrize("problem", [OperationalError, InterfaceError, InternalError])
@pytest.mark.parametrize("statement", ["FROM schedules_session ", "INSERT INTO schedules_sessionevent"])
def test_a_statement_that_gets_no_answer_is_uncertain(session: str, problem: type[Exception], statement: str) -> None:
    def fail(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if statement in sql:
            raise problem("connection already closed")
        return execute(sql, *rest)

    with connection.execute_wrapper(fail), pytest.raises(PersistenceUncertain) as uncertain:
        transaction.perform(session, note)

    assert type(uncertain.value.__cause__) is problem
    assert length(session) == 0


@pytest.mark.parametrize("problem", [OperationalError, InterfaceError, InternalError])
def test_a_question_outside_a_transaction_that_gets_no_answer_is_uncertain(
    store: None, problem: type[Exception]
) -> None:
    with pytest.raises(PersistenceUncertain), transaction.asking():
        raise problem("connection already closed")


def test_what_is_no_loss_of_the_database_passes_as_it_is(session: str) -> None:
    def broken(unit: Unit) -> lossless.Json:
        raise ValueError("a mistake of ours")

    with pytest.raises(ValueError, match="a mistake of ours"):
        transaction.perform(session, broken)


@pytest.mark.engine("postgresql")
def test_a_connection_that_closes_under_a_call_is_uncertain(session: str) -> None:
    def closing(unit: Unit) -> lossless.Json:
        connection.connection.close()
        return note(unit)

    with pytest.raises(PersistenceUncertain):
        transaction.perform(session, closing)
    connection.close()

    assert length(session) == 0
    transaction.perform(session, note)
    assert length(session) == 1


@pytest.mark.engine("postgresql")
def test_a_cursor_that_closes_under_a_statement_is_uncertain(session: str) -> None:
    def close(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        context["cursor"].cursor.close()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(close), pytest.raises(PersistenceUncertain) as uncertain:
        transaction.perform(session, note)

    assert isinstance(uncertain.value.__cause__, InterfaceError)
    assert length(session) == 0


@pytest.mark.engine("postgresql")
def test_a_server_that_ends_the_connection_under_a_call_is_uncertain(session: str) -> None:
    def ended(unit: Unit) -> lossless.Json:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return note(unit)

    with pytest.raises(PersistenceUncertain):
        transaction.perform(session, ended)
    connection.close()

    assert length(session) == 0


def test_a_listener_that_fails_does_not_touch_a_commit_that_stands(
    session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    def broken(units: Sequence[Unit]) -> None:
        raise TypeError("a hint that went wrong")

    def listening(units: Sequence[Unit]) -> None:
        heard.extend(unit.session_id for unit in units)

    monkeypatch.setattr(transaction, "listeners", [broken, listening])
    transaction.perform(session, note)

    assert length(session) == 1
    assert heard == [session]


@pytest.mark.engine("postgresql")
def test_a_database_that_takes_no_writes_is_uncertain_not_broken(session: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        with pytest.raises(PersistenceUncertain):
            transaction.perform(session, note)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")
    assert length(session) == 0
