"""What every test may ask for: a store with real commits, a clock moved by hand, people and their clients."""

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, connections, transaction
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker
from rest_framework.test import APIClient

from schedules import clock as clocks
from schedules.access import models as access
from schedules.api.json import AsciiJSONRenderer
from schedules.sessions import guards

START = 1_796_083_200_000  # 2026-12-01T00:00:00.000Z

# What migrations fill, and every test may rely on.
KEPT = {"django_content_type", "auth_permission"}


class Client(APIClient):
    """A client that speaks JSON, of any string whatever."""

    default_format = "json"
    renderer_classes_list = (AsciiJSONRenderer,)

    def raw(self, method: str, path: str, body: bytes, content_type: str = "application/json", **extra: Any) -> Any:
        """Send exactly these bytes."""
        return self.generic(method, path, body, content_type, **extra)  # type: ignore[arg-type]


@dataclass
class HandClock:
    """A clock that stands still until a test moves it. ``now`` is in epoch milliseconds."""

    now: int = START

    def advance(self, *, seconds: float = 0, ms: int = 0) -> int:
        """Move on, or back; the new time."""
        self.now += round(seconds * 1000) + ms
        return self.now


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests whose statements only the other engine knows."""
    engine = settings.DATABASES["default"]["ENGINE"].rpartition(".")[2]
    others = [item for item in items if (mark := item.get_closest_marker("engine")) and mark.args != (engine,)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each process of each run has its own database; on SQLite a file, since one in memory knows no WAL."""
    default = settings.DATABASES["default"]
    if default["ENGINE"].endswith("sqlite3"):
        name = str(tmp_path_factory.mktemp("store") / "test.sqlite3")
    else:
        name = f"wakeful_test_{os.getpid()}"
    default["TEST"] = {**default.get("TEST", {}), "NAME": name}


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker, django_db_modify_db_settings: None
) -> Iterator[None]:
    """The migrated database of this process; pytest-django's own is made only for tests with its marker."""
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False)
    yield
    with django_db_blocker.unblock():
        connections.close_all()
        teardown_databases(made, verbosity=0)


@pytest.fixture
def store(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A migrated database in which every commit is real, in any thread; it is emptied after the test.

    A thread of a test closes its own connection; ``at_once`` does so.
    """
    with django_db_blocker.unblock():
        try:
            yield
        finally:
            _empty()
            connections.close_all()


def _empty() -> None:
    connection.close()  # a test may have left it broken, or inside a transaction
    tables = [model._meta.db_table for model in apps.get_models(include_auto_created=True)]
    deletes = [f'DELETE FROM "{table}"' for table in tables if table not in KEPT]
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            for (trigger,) in cursor.fetchall():
                cursor.execute(f"DROP TRIGGER {trigger}")
            for delete in deletes:
                cursor.execute(delete)
        else:
            cursor.execute(f"SET LOCAL session_replication_role = replica; {'; '.join(deletes)}")
        guards.install(connection)


@pytest.fixture
def clock() -> Iterator[HandClock]:
    """The time of everything under test; it starts at 2026-12-01T00:00:00.000Z."""
    hand = HandClock()
    with clocks.set_to(lambda: hand.now):
        yield hand


@pytest.fixture
def user(store: None) -> User:
    """The person most tests are about."""
    return User.objects.create_user("ada")


@pytest.fixture
def stranger(store: None) -> User:
    """Somebody else, to whom nothing of ``user`` may show."""
    return User.objects.create_user("mallory")


@pytest.fixture
def staff(store: None) -> User:
    """An operator: staff, without any permission of their own."""
    return User.objects.create_user("grace", is_staff=True)


@pytest.fixture
def api(store: None) -> Callable[[User], Client]:
    """``api(user)``: a client that sends a new bearer token of that user."""

    def client_of(owner: User) -> Client:
        _, secret = access.issue(owner.pk, clocks.sample())
        client = Client()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        return client

    return client_of


@pytest.fixture
def anonymous(store: None) -> Client:
    """A client that says nothing of who it is."""
    return Client()


@pytest.fixture
def at_once(store: None) -> Callable[..., list[Any]]:
    """``at_once(call, call, ...)``: each in its own thread, started together; their answers or exceptions."""

    def run(*calls: Callable[[], Any]) -> list[Any]:
        answers: list[Any] = [None] * len(calls)
        start = threading.Barrier(len(calls))

        def one(index: int, call: Callable[[], Any]) -> None:
            try:
                start.wait()
                answers[index] = call()
            except Exception as problem:  # noqa: BLE001  whatever it is, it is the answer
                answers[index] = problem
            finally:
                connections.close_all()

        threads = [threading.Thread(target=one, args=pair) for pair in enumerate(calls)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    return run


@pytest.fixture
def fresh_database(tmp_path: Path) -> Iterator[str]:
    """The ``DATABASE_URL`` of a database of its own, not migrated: for tests that start real processes."""
    default = settings.DATABASES["default"]
    if default["ENGINE"].endswith("sqlite3"):
        yield f"sqlite:///{tmp_path / 'fresh.sqlite3'}"
        return
    import psycopg

    user, password = default["USER"], default["PASSWORD"]
    server = f"postgres://{user}{f':{password}' if password else ''}@{default['HOST']}:{default['PORT'] or 5432}"
    name = f"wakeful_fresh_{secrets.token_hex(6)}"
    with closing(psycopg.connect(f"{server}/postgres", autocommit=True)) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{server}/{name}"
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
