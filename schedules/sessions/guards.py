"""What makes the log immutable in the database itself: triggers, on both engines.

They refuse UPDATE, DELETE and TRUNCATE, and take an insert only with the next ``seq``. The last also stops SQLite's
``INSERT OR REPLACE``, which deletes without firing a DELETE trigger. Django's remake of a SQLite table drops its
triggers, so they are put back after every migrate.
"""

from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

SESSIONS = "schedules_session"
EVENTS = "schedules_sessionevent"

_MESSAGE = "the session log is append-only"

_SQLITE = {
    "wakeful_event_update": f"BEFORE UPDATE ON {EVENTS} BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END",
    "wakeful_event_delete": f"BEFORE DELETE ON {EVENTS} BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END",
    "wakeful_event_insert": f"""BEFORE INSERT ON {EVENTS}
        WHEN NEW.seq IS NOT COALESCE(
            (SELECT max(seq) + 1 FROM {EVENTS} WHERE session_id = NEW.session_id),
            (SELECT CASE WHEN source IS NULL THEN 0 ELSE seed_length END FROM {SESSIONS} WHERE id = NEW.session_id))
        OR (NEW.id <> -1 AND EXISTS (SELECT 1 FROM {EVENTS} WHERE id = NEW.id))
        BEGIN SELECT RAISE(ABORT, '{_MESSAGE}: seq is not the next one'); END""",
    "wakeful_session_update": f"BEFORE UPDATE ON {SESSIONS} BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END",
    "wakeful_session_delete": f"BEFORE DELETE ON {SESSIONS} BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END",
    "wakeful_session_insert": f"""BEFORE INSERT ON {SESSIONS}
        WHEN EXISTS (SELECT 1 FROM {SESSIONS} WHERE id = NEW.id)
        OR (NEW.rowid <> -1 AND EXISTS (SELECT 1 FROM {SESSIONS} WHERE rowid = NEW.rowid))
        BEGIN SELECT RAISE(ABORT, 'UNIQUE constraint failed: {SESSIONS}.id'); END""",
}

_POSTGRESQL_FUNCTIONS = f"""
CREATE OR REPLACE FUNCTION wakeful_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{_MESSAGE}' USING ERRCODE = 'integrity_constraint_violation';
END $$;
-- A repeat is refused by the unique constraint. The plan is cached from the first inserts of a connection, when the
-- table may be empty: it must use the index all the same, or a long import reads a session again for each event.
CREATE OR REPLACE FUNCTION wakeful_next_seq() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM {EVENTS} WHERE session_id = NEW.session_id AND seq = NEW.seq - 1)
        AND NEW.seq IS DISTINCT FROM
        (SELECT CASE WHEN source IS NULL THEN 0 ELSE seed_length END FROM {SESSIONS} WHERE id = NEW.session_id)
    THEN
        RAISE EXCEPTION '{_MESSAGE}: seq is not the next one' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""

_POSTGRESQL = {
    "wakeful_event_change": f"BEFORE UPDATE OR DELETE ON {EVENTS} FOR EACH ROW EXECUTE FUNCTION wakeful_refuse()",
    "wakeful_event_truncate": f"BEFORE TRUNCATE ON {EVENTS} FOR EACH STATEMENT EXECUTE FUNCTION wakeful_refuse()",
    "wakeful_event_insert": f"BEFORE INSERT ON {EVENTS} FOR EACH ROW EXECUTE FUNCTION wakeful_next_seq()",
    "wakeful_session_change": f"BEFORE UPDATE OR DELETE ON {SESSIONS} FOR EACH ROW EXECUTE FUNCTION wakeful_refuse()",
    "wakeful_session_truncate": (f"BEFORE TRUNCATE ON {SESSIONS} FOR EACH STATEMENT EXECUTE FUNCTION wakeful_refuse()"),
}


def install(connection: BaseDatabaseWrapper) -> None:
    """Put every guard in place, new or again; harmless to repeat."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for name, body in _SQLITE.items():
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
                cursor.execute(f"CREATE TRIGGER {name} {body}")
        else:
            cursor.execute(_POSTGRESQL_FUNCTIONS)
            for name, body in _POSTGRESQL.items():
                cursor.execute(f"CREATE OR REPLACE TRIGGER {name} {body}")


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """The names of guards that the database lacks; empty where the log is safe."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            wanted = list(_SQLITE)
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        else:
            wanted = list(_POSTGRESQL)
            cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'")
        present = {row[0] for row in cursor.fetchall()}
    return [name for name in wanted if name not in present]


def put_back(*, using: str, **_: Any) -> None:
    """Receiver of ``post_migrate``: a migration may have remade a table without its triggers."""
    connection = connections[using]
    if EVENTS in connection.introspection.table_names():
        install(connection)
