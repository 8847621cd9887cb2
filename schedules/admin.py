"""The operators' audit: everything that the schedules store, and nothing that changes it."""

from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import BigIntegerField, Exists, OuterRef, Q, QuerySet, Value
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from schedules import audit, clock, models
from schedules.sessions import events, lossless

_OWNERS_OFFERED = 100
_PROMPT_SHOWN = 80

admin.site.site_header = admin.site.site_title = "Wakeful"
admin.site.index_title = "What the schedules hold"
admin.site.site_url = "/docs"


@admin.display(description="session", ordering="session_id")
def session(row: Any) -> SafeString:
    """A link to the row's session; nothing is read for it."""
    address = reverse("admin:schedules_session_change", args=[quote(row.session_id)])
    return format_html('<a href="{}">{}</a>', address, row.session_id)


def _held() -> Q:
    return Q(pk__in=models.Lease.objects.filter(expires_at__gt=clock.sample()).values("session_id"))


LiveFilter = audit.choices("live", "live", {"yes": ("live", _held), "no": ("cold", lambda: ~_held())})
OriginFilter = audit.choices(
    "origin",
    "from",
    {
        "api": ("the API", lambda: Q(origin="api")),
        "routine": ("a routine", lambda: Q(origin__startswith="routine:")),
    },
)
# Only the types that Wakeful writes: a host or an imported log may bring any number of others.
TypeFilter = audit.choices("type", "kind", {name: (name, partial(Q, type=name)) for name in events.WAKEFUL_TYPES})
ReminderFilter = audit.choices(
    "state",
    "state",
    {
        "active": ("active", lambda: Q(due_at__isnull=False)),
        "overdue": ("overdue", lambda: Q(due_at__lte=clock.sample())),
        "ended": ("ended", lambda: Q(due_at__isnull=True)),
    },
)
LogFilter = audit.choices("log", "log", {"corrupt": ("corrupt", lambda: Q(corrupt_seq__isnull=False))})


class OwnerFilter(admin.SimpleListFilter):
    """The users with the most sessions: a menu of all could be endless."""

    title = "owner"
    parameter_name = "by"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        quotas = models.SessionQuota.objects.select_related("user").order_by("-sessions")
        return [(str(quota.user_id), quota.user.get_username()) for quota in quotas[:_OWNERS_OFFERED]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else queryset.filter(owner_id=value)


@admin.register(models.Session)
class SessionAdmin(audit.ReadOnlyAdmin):
    created = audit.instant("created_at", "created")
    list_display = ("id", created, "live", "owner", "origin", "title")
    list_filter = (LiveFilter, OriginFilter, OwnerFilter)
    list_select_related = ("owner",)
    search_fields = ("id__startswith", "title__icontains")
    search_help_text = "The start of an id, or a part of a title."
    ordering = ("-created_at", "-id")
    shown = (
        *("id", "owner", created, "origin", "title", "cwd", "parent", "seed_length", "source"),
        audit.document("metadata", "metadata"),
        audit.document("extra", "other keys of an imported header"),
        "rows",
    )
    _ROWS: ClassVar = (
        ("events", "sessionevent"),
        ("state", "sessionstate"),
        ("reminders", "reminder"),
        ("follow-ups", "followup"),
        ("lease", "lease"),
        ("kept answers", "idempotentanswer"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        held = models.Lease.objects.filter(session_id=OuterRef("pk"), expires_at__gt=clock.sample())
        queryset: QuerySet[Any] = super().get_queryset(request)
        live: QuerySet[Any] = queryset.annotate(is_live=Exists(held))
        return live

    @admin.display(boolean=True)
    def live(self, row: Any) -> bool:
        return bool(row.is_live)

    @admin.display(description="what belongs to it")
    def rows(self, row: models.Session) -> SafeString:
        query = urlencode({"session__id__exact": row.pk})
        return format_html_join(
            " · ",
            '<a href="{}?{}">{}</a>',
            ((reverse(f"admin:schedules_{name}_changelist"), query, label) for label, name in self._ROWS),
        )


@admin.register(models.SessionEvent)
class SessionEventAdmin(audit.ReadOnlyAdmin):
    at = audit.instant("time", "time")
    list_display = ("seq", session, "type", at)
    list_filter = (TypeFilter,)
    search_fields = ("session__id__exact",)
    search_help_text = "A session's id."
    ordering = ("session_id", "seq")
    shown = (session, "seq", "type", at, audit.document("data", "data"), audit.document("extra", "other keys"))


@admin.register(models.SessionState)
class SessionStateAdmin(audit.ReadOnlyAdmin):
    next_due = audit.instant("next_due", "next due")
    armed_at = audit.instant("armed_at", "armed for")
    list_display = ("session_id", "folded_through", "active", next_due, armed_at, "turn", "waiting", "corrupt_seq")
    list_filter = (LogFilter,)
    search_fields = ("session__id__exact",)
    ordering = ("session_id",)
    shown = (
        session,
        *("folded_through", "created", "active", next_due, armed_at, "turn", "turn_seq", "last_turn"),
        *("claimed", "waiting", "exhausted", "corrupt_seq"),
    )


@admin.register(models.Reminder)
class ReminderAdmin(audit.ReadOnlyAdmin):
    due = audit.instant("due_at", "due")
    list_display = ("key", session, "kind", due, "state", "prompt")
    list_filter = (ReminderFilter, "kind")
    search_fields = ("session__id__exact",)
    ordering = ("-id",)
    shown = (session, "key", "seq", "kind", due, "state", audit.document("record", "record"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request)
        seen: QuerySet[Any] = queryset.annotate(seen_at=Value(clock.sample(), BigIntegerField()))
        return seen

    def state(self, row: Any) -> str:
        if row.due_at is None:
            return "ended"
        return "overdue" if row.due_at <= row.seen_at else "scheduled"

    def prompt(self, row: models.Reminder) -> str:
        record = None if row.record is None else lossless.loads_trusted(row.record)
        if not isinstance(record, dict):
            return "-"
        # An imported prompt may hold what no page can: a lone surrogate.
        text = str(record["prompt"]).encode(errors="replace").decode()
        return Truncator(text).chars(_PROMPT_SHOWN)


@admin.register(models.Followup)
class FollowupAdmin(audit.ReadOnlyAdmin):
    list_display = ("key", session, "seq", "attempt", "state")
    list_filter = ("state",)
    search_fields = ("session__id__exact",)
    ordering = ("-id",)
    shown = (session, "key", "followup_id", "seq", "attempt", "state")


@admin.register(models.Lease)
class LeaseAdmin(audit.ReadOnlyAdmin):
    """Without the lease's id: who knows it holds the session."""

    end = audit.instant("expires_at", "ends")
    list_display = ("session_id", "holder", "seconds", end)
    search_fields = ("session__id__exact", "holder__startswith")
    ordering = ("expires_at",)
    shown = (session, "holder", "seconds", end)


@admin.register(models.IdempotentAnswer)
class IdempotentAnswerAdmin(audit.ReadOnlyAdmin):
    created = audit.instant("created_at", "created")
    list_display = ("key", session, "call", created)
    search_fields = ("session__id__exact",)
    ordering = ("-created_at",)
    shown = (session, "call", "key", "body", created, audit.document("answer", "answer"))


@admin.register(models.OwnerHeartbeat)
class OwnerHeartbeatAdmin(audit.ReadOnlyAdmin):
    started = audit.instant("started_at", "started")
    beat = audit.instant("beat_at", "last beat")
    list_display = ("id", started, beat, "lag_ms", "admitted", "failed")
    ordering = ("-beat_at",)
    shown = ("id", started, beat, "lag_ms", "admitted", "failed")


@admin.register(models.Token)
class TokenAdmin(audit.ReadOnlyAdmin):
    """Tokens are made and revoked by ``manage.py token``; those of one session by what started its agent."""

    created = audit.instant("created_at", "created")
    revoked = audit.instant("revoked_at", "revoked")
    expires = audit.instant("expires_at", "expires")
    list_display = ("hint", "user", "session_id", created, expires, revoked)
    list_select_related = ("user",)
    search_fields = ("hint__startswith", "user__username__exact", "session_id__exact")
    ordering = ("-id",)
    shown = ("hint", "user", "session_id", created, expires, revoked)


@admin.register(models.SessionQuota)
class SessionQuotaAdmin(audit.ReadOnlyAdmin):
    list_display = ("user", "sessions")
    list_select_related = ("user",)
    search_fields = ("user__username__exact",)
    ordering = ("-sessions",)
    shown = ("user", "sessions")
