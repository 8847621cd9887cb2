"""The tables of the log: the immutable header, the events, and the lease, which is the only mutable truth.

Each carries the session's id, so that all of a session lives in one place however the schema is spread.
"""

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q


class SessionIdField(models.CharField):  # type: ignore[type-arg]  # Django itself is not generic at run time
    """A session's id, compared by its bytes on every engine.

    PostgreSQL's default collation would order ids by a language and need a second index for each column that names a
    session, on the hottest tables there are.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        if connection.vendor == "postgresql":
            return f'character varying({self.max_length}) COLLATE "C"'
        return f"varchar({self.max_length})"


class Session(models.Model):
    """A session's immutable header. Its row is also the session's lock.

    ``created_at`` is in epoch milliseconds. A fork of this database names in ``source`` the session whose own events
    hold the last one it inherits; an imported fork owns its prefix and has no source.
    """

    id = SessionIdField(primary_key=True, max_length=128)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.BigIntegerField()
    parent = SessionIdField(max_length=128, null=True)
    seed_length = models.BigIntegerField(default=0)
    source = SessionIdField(max_length=128, null=True)
    origin = models.CharField(max_length=128)
    title = models.TextField(null=True)
    cwd = models.TextField(null=True)
    metadata = models.TextField(default="{}", help_text="JSON text, as the creator gave it.")
    extra = models.TextField(null=True, help_text="JSON text: what else an imported header held.")

    class Meta:
        indexes = (
            models.Index(fields=["owner", "-created_at", "-id"], name="session_of_owner"),
            models.Index(fields=["-created_at", "-id"], name="session_newest"),
        )

    def __str__(self) -> str:
        return str(self.id)


class SessionEvent(models.Model):
    """One event. The database refuses to change or delete it, and takes none but the next ``seq``."""

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="+", db_index=False)
    seq = models.BigIntegerField()
    type = models.TextField()
    time = models.BigIntegerField(help_text="Epoch milliseconds.")
    data = models.TextField(help_text="JSON text in ASCII.")
    extra = models.TextField(null=True, help_text="JSON text: other keys of an imported event's envelope.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["session", "seq"], name="event_seq"),
            # SQLite gives an unset key to a trigger as -1: no row may hold it.
            models.CheckConstraint(condition=Q(id__gt=0), name="event_id_positive"),
        )
        indexes = (
            models.Index(
                fields=["session", "-seq"],
                name="event_turns",
                condition=Q(type__in=["turn/start", "turn/end", "user/message"]),
            ),
        )

    def __str__(self) -> str:
        return f"{self.session_id} {self.seq} {self.type}"


class Lease(models.Model):
    """The hold of one host on a live session. ``lease_id`` fences: a holder that lost it can do nothing more."""

    session = models.OneToOneField(Session, primary_key=True, on_delete=models.PROTECT, related_name="+")
    lease_id = models.CharField(max_length=64)
    holder = models.CharField(max_length=200)
    seconds = models.IntegerField()
    expires_at = models.BigIntegerField(help_text="Epoch milliseconds; the session is cold from then on.")

    class Meta:
        indexes = (models.Index(fields=["expires_at"], name="lease_end"),)

    def __str__(self) -> str:
        return f"{self.session_id} {self.holder}"
