"""PostgreSQL behind a proxy that can cut a connection, and hosts that call through it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.db import close_old_connections, connection, connections

from schedules import clock
from schedules.access import models as access
from tests.acceptance.proxy import Proxy
from tests.conftest import Client
from tests.schedules.api.host import Host, host


class ServedClient(Client):
    """A client whose calls begin and end with the database as a served request's do, and to whom a 500 is an answer."""

    def __init__(self, user: User) -> None:
        super().__init__(raise_request_exception=False)
        _, secret = access.issue(user.pk, clock.sample())
        self.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

    def generic(self, *request: Any, **extra: Any) -> Any:
        close_old_connections()
        try:
            return super().generic(*request, **extra)
        finally:
            close_old_connections()


@pytest.fixture
def served(user: User) -> ServedClient:
    """A client of ``user``, as near to a real server as one can come in this process."""
    return ServedClient(user)


@pytest.fixture
def made(served: ServedClient) -> Callable[[], Host]:
    """``made()``: a host with a new live session."""
    numbers = iter(range(1_000_000))
    return lambda: host(served, f"s-{next(numbers)}", leaseSeconds=86_400)


@pytest.fixture
def proxy(store: None) -> Iterator[Proxy]:
    """Between this process and its PostgreSQL."""
    real = connection.settings_dict
    connections.close_all()
    with (
        Proxy(real["HOST"], int(real["PORT"] or 5432)) as running,
        mock.patch.dict(real, HOST="127.0.0.1", PORT=running.port),
    ):
        yield running
        connections.close_all()


@pytest.fixture
def direct(store: None) -> Iterator[Callable[[str], Any]]:
    """``direct(statement)``: the first value that the database answers on a connection past all proxies."""
    import psycopg

    real = connection.settings_dict
    place = {"host": real["HOST"], "port": real["PORT"] or 5432, "user": real["USER"], "password": real["PASSWORD"]}
    with closing(psycopg.connect(dbname=real["NAME"], **place, autocommit=True)) as opened:

        def ask(statement: str) -> Any:
            row = opened.execute(statement).fetchone()
            return None if row is None else row[0]

        yield ask
