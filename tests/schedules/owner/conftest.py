"""Live sessions for the owner to serve, and a database that refuses some of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection

from schedules import live
from schedules.owner import Drive, Owner
from schedules.sessions import log
from tests.conftest import HandClock
from tests.schedules.owner.sessions import Session

# More than any test here needs: an owner that turns in a circle fails at once, and says so.
MOST_STEPS = 300


@pytest.fixture(autouse=True)
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No owner takes more than so many steps in a test."""
    drive_once = Owner.drive_once
    steps: Counter[str] = Counter()

    def counted(owner: Owner) -> Drive:
        steps[owner.id] += 1
        assert steps[owner.id] <= MOST_STEPS, "the owner finds ever more to do and does none of it"
        return drive_once(owner)

    monkeypatch.setattr(Owner, "drive_once", counted)


@pytest.fixture
def made(user: User, clock: HandClock) -> Callable[[], Session]:
    """``made()``: a new live session."""

    def make() -> Session:
        session = Session(log.new_id())
        live.create(log.Header(id=session.id, owner_id=user.pk, created_at=clock.now))
        session.open()
        return session

    return make


@pytest.fixture
def session(made: Callable[[], Session]) -> Session:
    return made()


@pytest.fixture
def refusing(store: None) -> Iterator[Callable[[Sequence[Session]], None]]:
    """``refusing(sessions)``: the database takes no more events of these."""

    def refuse(sessions: Sequence[Session]) -> None:
        ids = ", ".join(f"'{session.id}'" for session in sessions)
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute(
                    f"CREATE TRIGGER broken BEFORE INSERT ON schedules_sessionevent WHEN NEW.session_id IN ({ids})"
                    " BEGIN SELECT RAISE(ABORT, 'broken'); END"
                )
            else:
                cursor.execute(
                    "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS"
                    " $$ BEGIN RAISE EXCEPTION 'broken'; END $$"
                )
                cursor.execute(
                    "CREATE TRIGGER broken BEFORE INSERT ON schedules_sessionevent FOR EACH ROW"
                    f" WHEN (NEW.session_id IN ({ids})) EXECUTE FUNCTION broken()"
                )

    yield refuse
    mend()


@contextmanager
def outage(where: str = "") -> Iterator[None]:
    """Every statement that holds these words fails as it does where the database is gone."""

    def fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if where in sql:
            raise OperationalError("gone")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail):
        yield


def mend() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER IF EXISTS broken")
        else:
            cursor.execute("DROP FUNCTION IF EXISTS broken() CASCADE")
