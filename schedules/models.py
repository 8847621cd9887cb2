"""Cached projections of the log, the answers kept for idempotency keys, and the owners' heartbeat.

Every projection can be thrown away and rebuilt from the log (`rebuild_projections`). No foreign key binds them: they
are written in bulk on the hottest path, always in the transaction that holds their session's lock.
"""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from schedules.access.models import Token
from schedules.sessions.models import Lease, Session, SessionEvent

__all__ = [
    "Followup",
    "IdempotentAnswer",
    "Lease",
    "OwnerHeartbeat",
    "Reminder",
    "Session",
    "SessionEvent",
    "SessionQuota",
    "SessionState",
    "Token",
]


class SessionState(models.Model):
    """One row per session: where its fold stands.

    ``next_due`` is the earliest target of its active reminders. ``armed_at`` is the same while the session is leased,
    not corrupt and fully idle, else null: the owner reads nothing but this index to know what to do. All instants are
    epoch milliseconds.
    """

    session = models.OneToOneField(
        Session, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="state"
    )
    folded_through = models.BigIntegerField(help_text="The seq of the last event folded into this row.")
    created = models.BigIntegerField(default=0, help_text="How many reminder ids were ever created.")
    active = models.BigIntegerField(default=0)
    next_due = models.BigIntegerField(null=True)
    armed_at = models.BigIntegerField(null=True)
    turn = models.BigIntegerField(null=True, help_text="The open turn's number.")
    turn_seq = models.BigIntegerField(null=True, help_text="The seq of the open turn's start.")
    last_turn = models.BigIntegerField(default=0)
    claimed = models.TextField(null=True, help_text="JSON text of the id of the follow-up that the open turn answers.")
    waiting = models.BigIntegerField(default=0)
    exhausted = models.BigIntegerField(default=0)
    corrupt_seq = models.BigIntegerField(null=True, help_text="The first event at which the log does not fold.")

    class Meta:
        indexes = (
            models.Index(fields=["armed_at", "session"], name="state_armed", condition=Q(armed_at__isnull=False)),
            models.Index(fields=["next_due"], name="state_due", condition=Q(next_due__isnull=False)),
        )

    def __str__(self) -> str:
        return str(self.session_id)


class Reminder(models.Model):
    """One reminder id ever created in a session. Once it ended, only the id stays, so that it is never used again."""

    session = models.ForeignKey(
        Session, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    key = models.CharField(max_length=210, help_text="The id, in the index-safe form of its JSON text.")
    seq = models.BigIntegerField(null=True, help_text="The seq of the event that created it.")
    kind = models.CharField(max_length=5, null=True)
    record = models.TextField(null=True, help_text="JSON text of the record as it stands.")
    due_at = models.BigIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "key"], name="reminder_key"),)
        indexes = (
            models.Index(fields=["session", "due_at"], name="reminder_active", condition=Q(due_at__isnull=False)),
        )

    def __str__(self) -> str:
        return f"{self.session_id} {self.key}"


class Followup(models.Model):
    """One follow-up that waits, is being answered, or was given up after its last attempt. Its text is its event's."""

    WAITING, CLAIMED, EXHAUSTED = "waiting", "claimed", "exhausted"
    STATES: ClassVar = ((WAITING, "waiting"), (CLAIMED, "claimed"), (EXHAUSTED, "exhausted"))

    session = models.ForeignKey(
        Session, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    key = models.CharField(max_length=210, help_text="The follow-up's id, in index-safe form.")
    followup_id = models.TextField(help_text="JSON text of the follow-up's id.")
    seq = models.BigIntegerField(help_text="The seq of its followup/queued event.")
    attempt = models.IntegerField()
    state = models.CharField(max_length=9, choices=STATES)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "key"], name="followup_key"),)
        indexes = (models.Index(fields=["session", "state", "seq"], name="followup_queue"),)

    def __str__(self) -> str:
        return f"{self.session_id} {self.key}"


class IdempotentAnswer(models.Model):
    """The first answer to an ``Idempotency-Key``, kept in the transaction that it tells of."""

    session = models.ForeignKey(
        Session, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    call = models.CharField(max_length=32)
    key = models.CharField(max_length=210)
    body = models.CharField(max_length=64, help_text="SHA-256 of the body as a JSON value.")
    answer = models.TextField(help_text="JSON text of the answer.")
    created_at = models.BigIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "call", "key"], name="answer_key"),)
        indexes = (models.Index(fields=["created_at"], name="answer_age"),)

    def __str__(self) -> str:
        return f"{self.session_id} {self.call} {self.key}"


class SessionQuota(models.Model):
    """How many sessions a user has made: the cap is claimed by a counted update, never by counting rows."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+")
    sessions = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.user_id}: {self.sessions}"


class OwnerHeartbeat(models.Model):
    """One row per running owner, beaten while it lives. ``lag_ms`` is how late it found its earliest due work."""

    id = models.CharField(primary_key=True, max_length=128, help_text="Host, process and start: one per process.")
    started_at = models.BigIntegerField()
    beat_at = models.BigIntegerField()
    lag_ms = models.BigIntegerField(default=0)
    admitted = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)

    class Meta:
        indexes = (models.Index(fields=["beat_at"], name="owner_beat"),)

    def __str__(self) -> str:
        return self.id
