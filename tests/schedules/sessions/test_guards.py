"""The database itself keeps the log append-only, whoever asks and however."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import DatabaseError, connection, models, transaction

from schedules.models import Session, SessionEvent
from schedules.sessions import guards

EVENT = "INSERT INTO schedules_sessionevent (session_id, seq, type, time, data) VALUES ('{}', {}, 'x', 1, '{{}}')"


@pytest.fixture
def log(user: User) -> Iterator[list[tuple[object, ...]]]:
    """A session of two events. Whatever a test tries, its rows are the same at the end."""
    session = Session.objects.create(id="s", owner=user, created_at=1, origin="api", title="first")
    for seq in (0, 1):
        SessionEvent.objects.create(session=session, seq=seq, type="x", time=1, data=f"[{seq}]")
    before = rows()
    yield before
    assert rows() == before


def rows() -> list[tuple[object, ...]]:
    return [*Session.objects.order_by("id").values_list(), *SessionEvent.objects.order_by("id").values_list()]


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def refuses(sql: str) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        run(sql)


on_sqlite = pytest.mark.engine("sqlite3")
on_postgresql = pytest.mark.engine("postgresql")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE schedules_sessionevent SET data = '[]'",
        "UPDATE schedules_sessionevent SET data = data",
        "UPDATE schedules_sessionevent SET seq = seq + 10",
        "DELETE FROM schedules_sessionevent",
        "DELETE FROM schedules_sessionevent WHERE seq = 1",
        "UPDATE schedules_session SET title = 'second'",
        "UPDATE schedules_session SET owner_id = owner_id, seed_length = 5",
        "DELETE FROM schedules_session",
        "INSERT INTO schedules_sessionevent (session_id, seq, type, time, data) VALUES ('s', 1, 'x', 1, '{}')"
        " ON CONFLICT (session_id, seq) DO UPDATE SET data = '[]'",
        "INSERT INTO schedules_session (id, owner_id, created_at, seed_length, origin, metadata)"
        " SELECT id, owner_id, 2, 0, origin, '{}' FROM schedules_session WHERE true"
        " ON CONFLICT (id) DO UPDATE SET created_at = 2",
    ],
)
def test_what_is_written_is_neither_changed_nor_deleted(log: object, sql: str) -> None:
    refuses(sql)


def test_nor_by_the_orm(log: object) -> None:
    for change in (
        lambda: SessionEvent.objects.update(data="[]"),
        lambda: SessionEvent.objects.all().delete(),
        lambda: Session.objects.update(title="second"),
        lambda: SessionEvent.objects.filter(seq=0)._raw_delete("default"),
    ):
        with pytest.raises((DatabaseError, models.ProtectedError)):
            change()


@pytest.mark.parametrize("seq", [-1, 0, 1, 3, 100])
def test_only_the_next_seq_is_taken(log: object, seq: int) -> None:
    refuses(EVENT.format("s", seq))


def test_the_next_seq_is_taken(log: list[tuple[object, ...]]) -> None:
    run(EVENT.format("s", 2))
    log.append(SessionEvent.objects.values_list().get(seq=2))


def test_a_first_event_has_seq_nought_or_the_seeds_length_where_a_source_holds_the_seed(user: User) -> None:
    for name, seed_length, source, first in (
        ("plain", 0, None, 0),
        ("fork", 7, "plain", 7),
        ("imported fork", 7, None, 0),
    ):
        Session.objects.create(id=name, owner=user, created_at=1, origin="api", seed_length=seed_length, source=source)
        for wrong in {0, 1, 7, 8} - {first}:
            refuses(EVENT.format(name, wrong))
        run(EVENT.format(name, first))


def test_an_event_of_no_session_is_refused(store: None) -> None:
    refuses(EVENT.format("nobody", 0))


@on_sqlite
@pytest.mark.parametrize("verb", ["REPLACE INTO", "INSERT OR REPLACE INTO"])
def test_nothing_is_replaced_by_seq_or_by_primary_key(log: object, verb: str) -> None:
    columns = "(id, session_id, seq, type, time, data)"
    key = SessionEvent.objects.get(seq=0).pk
    refuses(f"{verb} schedules_sessionevent (session_id, seq, type, time, data) VALUES ('s', 1, 'x', 1, '[]')")
    refuses(f"{verb} schedules_sessionevent {columns} VALUES ({key}, 's', 0, 'x', 1, '[]')")
    # A row that is next in order, but takes the place of another by its primary key.
    refuses(f"{verb} schedules_sessionevent {columns} VALUES ({key}, 's', 2, 'x', 1, '[]')")
    refuses(f"{verb} schedules_sessionevent {columns} VALUES (-1, 's', 2, 'x', 1, '[]')")
    refuses(
        f"{verb} schedules_session (id, owner_id, created_at, seed_length, origin, metadata)"
        " SELECT id, owner_id, 2, 0, origin, '{}' FROM schedules_session"
    )
    refuses("UPDATE OR REPLACE schedules_sessionevent SET seq = 1 WHERE seq = 0")


@on_sqlite
def test_no_session_takes_the_place_of_another_by_its_hidden_rowid(user: User) -> None:
    Session.objects.create(id="without events", owner=user, created_at=1, origin="api")
    refuses(
        "REPLACE INTO schedules_session (rowid, id, owner_id, created_at, seed_length, origin, metadata)"
        " SELECT rowid, 'other', owner_id, 2, 0, origin, '{}' FROM schedules_session"
    )


@on_postgresql
@pytest.mark.parametrize("table", [guards.EVENTS, f"{guards.SESSIONS} CASCADE"])
def test_nothing_is_truncated(log: object, table: str) -> None:
    refuses(f"TRUNCATE {table}")


def test_every_guard_stands_after_a_migration(store: None) -> None:
    assert guards.missing(connection) == []


@pytest.mark.parametrize("table", [guards.EVENTS, guards.SESSIONS])
def test_a_dropped_guard_is_missed_and_put_back(store: None, table: str) -> None:
    name = "wakeful_event_insert" if table == guards.EVENTS else sorted(session_guards())[0]
    run(f"DROP TRIGGER {name}" + (f" ON {table}" if connection.vendor == "postgresql" else ""))
    try:
        assert guards.missing(connection) == [name]
    finally:
        guards.install(connection)
    assert guards.missing(connection) == []


def session_guards() -> list[str]:
    return ["wakeful_session_update"] if connection.vendor == "sqlite" else ["wakeful_session_change"]


@on_postgresql
def test_a_disabled_guard_is_missed_too(store: None) -> None:
    run("ALTER TABLE schedules_sessionevent DISABLE TRIGGER wakeful_event_change")
    try:
        assert guards.missing(connection) == ["wakeful_event_change"]
    finally:
        run("ALTER TABLE schedules_sessionevent ENABLE TRIGGER wakeful_event_change")


@on_sqlite
def test_a_table_remade_by_a_migration_gets_its_guards_back(log: object) -> None:
    with connection.schema_editor() as editor:
        editor._remake_table(SessionEvent)  # type: ignore[attr-defined]
        editor._remake_table(Session)  # type: ignore[attr-defined]
    assert guards.missing(connection)
    emit_post_migrate_signal(verbosity=0, interactive=False, db="default")
    assert guards.missing(connection) == []
    refuses("DELETE FROM schedules_sessionevent")


def test_migrating_again_is_harmless(log: object) -> None:
    call_command("migrate", verbosity=0)
    assert guards.missing(connection) == []
