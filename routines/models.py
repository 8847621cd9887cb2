"""What the registrar knows, the jobs that wait, their runs, and what came of them.

Instants are epoch milliseconds. Rows name each other by id without foreign keys: history outlives what it tells of.
"""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from schedules.sessions.models import SessionIdField


class Registrar(models.Model):
    """The one row that tells what the last reconcile saw. Its ``version`` is claimed by whoever changes the jobs."""

    id = models.SmallIntegerField(primary_key=True)
    version = models.BigIntegerField(default=0)
    reconciled_at = models.BigIntegerField(null=True)
    problems = models.TextField(default="[]", help_text="JSON text: the errors of the last reconcile.")

    def __str__(self) -> str:
        return f"version {self.version}"


class Routine(models.Model):
    """A routine that some file declares, and what the registrar made of it."""

    REGISTERED, STALE, SKIPPED, ERROR = "registered", "stale", "skipped", "error"
    STATES: ClassVar = (
        (REGISTERED, "registered"),
        (STALE, "stale: its file for now is no routine"),
        (SKIPPED, "skipped"),
        (ERROR, "error"),
    )

    id = models.CharField(primary_key=True, max_length=80)
    path = models.TextField()
    workspace = models.TextField()
    state = models.CharField(max_length=10, choices=STATES)
    code = models.CharField(max_length=32, null=True, help_text="The code of what stands against it.")
    reason = models.TextField(null=True, help_text="The same in words.")
    document = models.TextField(help_text="JSON text of the manifest, defaults filled in.")
    changed_at = models.BigIntegerField()

    class Meta:
        permissions = (
            ("reconcile_routines", "Can have the routines' files read anew"),
            ("trigger_routine", "Can fire a routine"),
            ("pause_routine", "Can pause a routine"),
            ("resume_routine", "Can resume a routine"),
            ("emit_event", "Can post events"),
        )

    def __str__(self) -> str:
        return str(self.id)


class Job(models.Model):
    """What fires: a registered routine, or a cron job made over the API, which is kept as a routine too.

    ``cursor``: every slot up to it is dealt with. ``next_slot`` is the first one after it and ``fire_at`` the same with
    its jitter; both are null for a job that no time fires.
    """

    id = models.CharField(primary_key=True, max_length=36)
    source = models.CharField(max_length=90, unique=True, help_text="routine:<id> or cron:<job id>.")
    label = models.TextField()
    routine_id = models.CharField(max_length=80, unique=True, help_text="Of a cron job: the job's own id.")
    path = models.TextField(null=True)
    workspace = models.TextField(null=True)
    document = models.TextField(help_text="JSON text of the manifest, defaults filled in.")
    content = models.CharField(max_length=64, help_text="Digest of the manifest.")
    schedule = models.CharField(max_length=64, help_text="Digest of its schedule.")
    kind = models.CharField(max_length=8)
    event = models.TextField(null=True, help_text="The one name of the event that it waits for.")
    once = models.BooleanField(default=False, help_text="A cron job that ends with its first slot.")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Who made a cron job.",
    )
    stale = models.BooleanField(default=False)
    anchor = models.BigIntegerField()
    cursor = models.BigIntegerField()
    next_slot = models.BigIntegerField(null=True)
    fire_at = models.BigIntegerField(null=True)
    last_slot = models.BigIntegerField(null=True, help_text="The last slot that has a run.")
    failures = models.IntegerField(default=0, help_text="How many runs failed since the last good one.")
    paused_at = models.BigIntegerField(null=True)
    paused_by = models.TextField(null=True, help_text="A user, or null where its health did it.")
    paused_reason = models.TextField(null=True)
    burst_at = models.BigIntegerField(default=0, help_text="Since when its events are counted.")
    burst = models.IntegerField(default=0, help_text="How many events fired it since.")

    class Meta:
        indexes = (
            models.Index(
                fields=["fire_at", "id"], name="job_due", condition=Q(fire_at__isnull=False, paused_at__isnull=True)
            ),
            models.Index(fields=["event"], name="job_event", condition=Q(event__isnull=False)),
        )
        permissions = (("manage_cron", "Can list, make, run and delete cron jobs"),)

    def __str__(self) -> str:
        return str(self.source)


class Run(models.Model):
    """One firing. A slot has one run at most; ``lane`` lets one scheduled run of a job be worked at a time.

    While it waits for an attempt ``due_at`` says when that may begin; while one is worked ``worker`` holds it until
    ``lease_until``. Both are null once it has ended.
    """

    RUNNING, COMPLETED, FAILED, SKIPPED, INTERRUPTED = "running", "completed", "failed", "skipped", "interrupted"
    STATUSES: ClassVar = tuple((word, word) for word in (RUNNING, COMPLETED, FAILED, SKIPPED, INTERRUPTED))

    id = models.CharField(primary_key=True, max_length=36)
    source = models.CharField(max_length=90)
    routine_id = models.CharField(max_length=80)
    trigger = models.CharField(max_length=8)
    slot = models.BigIntegerField(null=True)
    scheduled_for = models.BigIntegerField()
    status = models.CharField(max_length=11, choices=STATUSES)
    attempt = models.IntegerField(default=0, help_text="How many attempts have begun.")
    due_at = models.BigIntegerField(null=True)
    lane = models.CharField(max_length=90, null=True)
    worker = models.CharField(max_length=128, null=True)
    lease_until = models.BigIntegerField(null=True)
    started_at = models.BigIntegerField(null=True)
    ended_at = models.BigIntegerField(null=True)
    summary = models.TextField(null=True)
    error = models.TextField(null=True)
    depth = models.IntegerField(default=0)
    fired_by = models.TextField(null=True, help_text="The user who asked for it.")
    document = models.TextField(null=True, help_text="JSON text of what it fires; dropped when it has ended.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["source", "slot"], name="run_slot", condition=Q(slot__isnull=False)),
            models.UniqueConstraint(
                fields=["lane"], name="run_lane", condition=Q(lane__isnull=False, worker__isnull=False)
            ),
        )
        indexes = (
            models.Index(fields=["due_at", "id"], name="run_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=["lease_until"], name="run_lease", condition=Q(lease_until__isnull=False)),
            models.Index(fields=["source", "status"], name="run_open", condition=Q(status="running")),
            models.Index(fields=["routine_id", "-id"], name="run_history"),
            models.Index(fields=["status", "-id"], name="run_status"),
        )

    def __str__(self) -> str:
        return f"{self.source} {self.id}"


class WorkItem(models.Model):
    """What a routine that failed for good left for a person."""

    id = models.CharField(primary_key=True, max_length=36)
    routine_id = models.CharField(max_length=80)
    run_id = models.CharField(max_length=36, unique=True)
    title = models.TextField()
    detail = models.TextField()
    opened_at = models.BigIntegerField()
    closed_at = models.BigIntegerField(null=True)
    closed_by = models.TextField(null=True)

    class Meta:
        indexes = (models.Index(fields=["closed_at", "-id"], name="work_item_open"),)
        permissions = (("manage_work_items", "Can list and close work items"),)

    def __str__(self) -> str:
        return str(self.title)


class LifecycleEvent(models.Model):
    """An event of the bus (AIP-37), written with what it tells of; a scheduler fires what waits for it."""

    name = models.TextField(help_text="The one name of an event that has several.")
    payload = models.TextField(help_text="JSON text.")
    time = models.BigIntegerField()
    depth = models.IntegerField(default=0, help_text="How many routines stand between it and its first cause.")
    origin = models.TextField(help_text="Who emitted it: session:<id>, routine:<id> or user:<name>.")
    handled_at = models.BigIntegerField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["id"], name="event_unhandled", condition=Q(handled_at__isnull=True)),
            models.Index(fields=["handled_at"], name="event_handled", condition=Q(handled_at__isnull=False)),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.name}"


class AuditRecord(models.Model):
    """Who did what: every pause, resume, trigger and close, and every cron job made, run or deleted."""

    time = models.BigIntegerField()
    actor = models.TextField()
    action = models.CharField(max_length=16)
    subject = models.TextField()
    detail = models.TextField(null=True)

    class Meta:
        indexes = (models.Index(fields=["subject", "-id"], name="audit_subject"),)

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.subject}"


class AgentSession(models.Model):
    """A session that `agent_start` opened and that stays open while reminders wait in it.

    While its adapter runs ``worker`` holds it until ``lease_until``: from then on the worker is taken for dead, and
    another process opens the session anew. Between turns nobody holds it, and ``session_lease`` opens the next one.
    """

    session_id = SessionIdField(primary_key=True, max_length=128)
    run_id = models.CharField(max_length=36)
    user_id = models.BigIntegerField(help_text="Who owns the session.")
    task = models.TextField(help_text="JSON text: the adapter, and what else it is told.")
    worker = models.CharField(max_length=128, null=True)
    lease_until = models.BigIntegerField(default=0)
    session_lease = models.CharField(max_length=64, null=True, help_text="The session's own leaseId.")
    ends_at = models.BigIntegerField(help_text="It is closed from then on, whatever waits in it.")

    def __str__(self) -> str:
        return str(self.session_id)
