"""The database's settings, asked of a real connection: commits are durable and no wait is without a bound."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction

from schedules.projection import rows

on_sqlite = pytest.mark.engine("sqlite3")
on_postgresql = pytest.mark.engine("postgresql")


def pragma(name: str) -> Any:
    return rows.fetch(f"PRAGMA {name}", [])[0][0]


def shown(name: str) -> str:
    return str(rows.fetch(f"SHOW {name}", [])[0][0])


def in_force(name: str) -> tuple[int, str]:
    """A PostgreSQL setting in its base unit, and who set it."""
    ((value, source),) = rows.fetch("SELECT setting, source FROM pg_settings WHERE name = %s", [name])
    return int(value), source


@on_sqlite
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),  # FULL: a commit is on the disk before it is answered
        ("foreign_keys", 1),
        ("busy_timeout", settings.LOCK_SECONDS * 1000),
    ],
)
def test_sqlite_runs_as_the_settings_say(store: None, name: str, value: object) -> None:
    assert pragma(name) == value


@on_sqlite
def test_a_transaction_on_sqlite_is_the_only_writer_from_its_start(store: None) -> None:
    file = connection.settings_dict["NAME"]
    with (
        closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as other,
        transaction.atomic(),
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")


@on_sqlite
def test_a_reader_on_sqlite_does_not_wait_for_the_writer(store: None) -> None:
    file = connection.settings_dict["NAME"]
    with transaction.atomic(), closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as other:
        rows.execute("INSERT INTO schedules_ownerheartbeat VALUES ('one', 0, 0, 0, 0, 0)", [])
        assert other.execute("SELECT count(*) FROM schedules_ownerheartbeat").fetchone() == (0,)


@on_postgresql
def test_a_wait_for_a_lock_on_postgresql_ends(store: None) -> None:
    assert in_force("lock_timeout") == (settings.LOCK_SECONDS * 1000, "client")
    assert shown("lock_timeout") == f"{settings.LOCK_SECONDS}s"


@on_postgresql
def test_a_transaction_on_postgresql_that_does_nothing_ends(store: None) -> None:
    limit, source = in_force("idle_in_transaction_session_timeout")
    assert source == "client"
    assert settings.LOCK_SECONDS * 1000 < limit <= 60_000


@on_postgresql
def test_each_statement_on_postgresql_sees_what_was_committed_before_it(store: None) -> None:
    ((source,),) = rows.fetch("SELECT source FROM pg_settings WHERE name = 'default_transaction_isolation'", [])
    assert (shown("transaction_isolation"), source) == ("read committed", "client")


@on_postgresql
def test_a_commit_on_postgresql_is_as_durable_as_the_server_makes_it(store: None) -> None:
    ((source,),) = rows.fetch("SELECT source FROM pg_settings WHERE name = 'synchronous_commit'", [])
    # Whoever runs the server may choose; neither the connection nor anything that was ever run on it does.
    assert source in ("default", "configuration file", "command line"), shown("synchronous_commit")


@on_postgresql
def test_a_postgresql_server_that_is_gone_is_noticed(store: None) -> None:
    connection.ensure_connection()
    parameters = connection.connection.info.get_parameters()
    assert parameters.get("keepalives", "1") == "1"
    idle, interval, count = (int(parameters[f"keepalives_{name}"]) for name in ("idle", "interval", "count"))
    assert 0 < idle + interval * count <= 30
    assert 0 < int(parameters["tcp_user_timeout"]) <= 30_000
    assert 0 < int(parameters["connect_timeout"]) <= settings.LOCK_SECONDS
