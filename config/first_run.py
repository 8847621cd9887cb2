"""What a fresh clone lacks and ``serve`` makes: the secret key, the tables, the first user.

Two processes may start at once: whatever is made is made once, and both agree on it.
"""

import contextlib
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from schedules import clock
from schedules.access import models as access

ADMIN = "admin"
# Any number will do that nobody else locks in this database.
_ADVISORY_LOCK = 0x57616B6566756C
_LOCK_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstUser:
    """The secrets of the user that was made; only their digests are kept."""

    password: str
    token: str


def keep_secret_key() -> None:
    """Have a secret key that lasts: the environment's, else the one in its file, made now where there is none."""
    if os.environ.get("SECRET_KEY"):
        return
    path: Path = settings.SECRET_KEY_FILE
    if not path.exists():
        _create(path, secrets.token_urlsafe(50))
    settings.SECRET_KEY = path.read_text().strip()


def _create(path: Path, text: str) -> None:
    """Write a new file that only we may read. Nobody ever sees it half written, and the first to write it wins."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}-")
    except OSError as error:
        raise CommandError(
            f"{path} cannot be made: {error.strerror}. Set SECRET_KEY, or make the folder writable."
        ) from None
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(name, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(name)


def require_database() -> None:
    """Raise CommandError, in words for the operator, where the database cannot be reached."""
    try:
        # A new SQLite file is put into WAL mode by its first connection, and two at once refuse each other.
        with _alone() if connection.vendor == "sqlite" else contextlib.nullcontext():
            connection.ensure_connection()
    except (DatabaseError, sqlite3.Error) as error:
        raise CommandError(
            f"The database of DATABASE_URL cannot be reached ({_where()}): {str(error).strip()}"
        ) from None


def _where() -> str:
    """The database's place, without its password."""
    found = connection.settings_dict
    if connection.vendor == "sqlite":
        return str(found["NAME"])
    return f"{found['NAME']} at {found['HOST'] or 'the local socket'}:{found['PORT'] or 5432}"


def require_migrated() -> None:
    """Raise CommandError where the database lacks tables or columns that this code needs."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CommandError("The database is not up to date. Run `manage.py migrate` first, or `manage.py serve`.")


def migrate() -> None:
    """Bring the database up to date. A new SQLite file is for its owner's eyes alone: it holds conversations."""
    if connection.vendor == "sqlite":
        with contextlib.suppress(OSError):
            os.close(os.open(str(connection.settings_dict["NAME"]), os.O_CREAT, 0o600))
    with _alone():
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)


def make_first_user() -> FirstUser | None:
    """Make a superuser and a token where there is no user at all."""
    with _alone(), transaction.atomic():
        if User.objects.exists():
            return None
        password = secrets.token_urlsafe(12)
        user = User.objects.create_superuser(ADMIN, password=password)
        _, token = access.issue(user.pk, clock.sample())
        return FirstUser(password=password, token=token)


@contextmanager
def _alone() -> Iterator[None]:
    """Keep every other process that shares the database out of such a block."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # A migration may take longer than a call's lock.
            cursor.execute("SET lock_timeout = 0")
            cursor.execute("SELECT pg_advisory_lock(%s)", [_ADVISORY_LOCK])
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_ADVISORY_LOCK])
                cursor.execute("RESET lock_timeout")
        return
    # The database's own lock would shut out its migrations. A lock of SQLite ends with its process on any system.
    beside = f"{connection.settings_dict['NAME']}-first-run"
    with closing(sqlite3.connect(beside, timeout=_LOCK_SECONDS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield
