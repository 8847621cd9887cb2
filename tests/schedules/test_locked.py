"""A session under its lock: what is decided is decided at the time after the wait for it."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.db import transaction as database

from schedules import clock as clocks
from schedules import live, tools, transaction
from schedules.sessions import log
from schedules.sessions.errors import Refusal
from tests.conftest import START, HandClock

LEASE_SECONDS = 60


@pytest.fixture
def session(user: User, clock: HandClock) -> tuple[str, str]:
    """A live session's id and its lease."""
    made = log.Header(id=log.new_id(), owner_id=user.pk, created_at=clock.now)
    lease = live.create(made, live.Opening(holder="host", seconds=LEASE_SECONDS))
    return made.id, str(lease["leaseId"])


def while_locked(session_id: str, call: Callable[[], Any], meanwhile: Callable[[], object]) -> Any:
    """What ``call`` answers that has to wait for the session's lock, while ``meanwhile`` happens."""
    asks = threading.Event()

    def notice(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        # On SQLite the immediate transaction is the lock.
        if sql.startswith("BEGIN") or "FOR NO KEY UPDATE" in sql:
            asks.set()
        return execute(sql, *rest)

    def run() -> Any:
        try:
            with connection.execute_wrapper(notice):
                return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as threads:
        with database.atomic():
            log.lock([session_id])
            answer = threads.submit(run)
            assert asks.wait(10)
            assert not answer.done()
            meanwhile()
        return answer.result(10)


def test_a_call_that_waited_for_the_lock_is_decided_at_the_time_after_it(
    session: tuple[str, str], clock: HandClock
) -> None:
    def call() -> Any:
        return transaction.perform(session[0], lambda unit: unit.now)

    assert while_locked(session[0], call, lambda: clock.advance(seconds=7)) == START + 7000


def test_a_reminder_is_counted_from_the_time_after_the_wait(session: tuple[str, str], clock: HandClock) -> None:
    def call() -> Any:
        return tools.create(session[0], {"prompt": "Look.", "after_seconds": 10}).value

    view = while_locked(session[0], call, lambda: clock.advance(seconds=7))

    assert view["scheduledAt"] == "2026-12-01T00:00:17.000Z"


def test_a_lease_that_ends_during_the_wait_is_lost(session: tuple[str, str], clock: HandClock) -> None:
    session_id, lease = session

    def call() -> Any:
        return transaction.perform(session_id, lambda unit: None, lease_id=lease)

    with pytest.raises(Refusal) as refused:
        while_locked(session_id, call, lambda: clock.advance(seconds=LEASE_SECONDS))
    assert refused.value.code == "lease_lost"


def test_the_clock_is_read_once_after_the_lock_and_before_what_it_judges(session: tuple[str, str]) -> None:
    told: list[str] = []

    def sample() -> int:
        told.append("clock")
        return START

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        told.append(sql)
        return execute(sql, *rest)

    with clocks.set_to(sample), connection.execute_wrapper(note):
        transaction.perform(session[0], lambda unit: None)

    (at,) = [index for index, step in enumerate(told) if step == "clock"]
    assert any("FROM schedules_session " in step for step in told[:at]), told
    assert not any("schedules_lease" in step for step in told[:at]), told
    assert any("schedules_lease" in step for step in told[at:]), told
