"""Live sessions for the owner to serve, and a database that refuses some of them."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from django.contrib.auth.models import User
from django.db import connection

from schedules import live
from schedules.sessions import log
from tests.conftest import HandClock
from tests.schedules.owner.sessions import Session


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


def mend() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER IF EXISTS broken")
        else:
            cursor.execute("DROP FUNCTION IF EXISTS broken() CASCADE")
