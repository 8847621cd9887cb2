"""The audit: every list and page opens, nothing can be changed, and no input is an unexpected error."""

from urllib.parse import quote, urlencode

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote as admin_quote
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from schedules import exchange, heartbeat, idempotency, live, models, tools, turns
from schedules.access import models as access
from schedules.owner import Owner
from schedules.sessions import log, lossless
from tests.conftest import START, HandClock

pytestmark = pytest.mark.usefixtures("store")

NAMES = [
    "session",
    "sessionevent",
    "sessionstate",
    "reminder",
    "followup",
    "lease",
    "idempotentanswer",
    "ownerheartbeat",
    "token",
    "sessionquota",
]
TRICKY = ["a\0b", "'\"\\%<script>", "9" * 400, "9" * 5000, "-1", "\u2028\ud7ff"]


@pytest.fixture
def visitor(store: None) -> Client:
    """A superuser, who may see everything."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def full(user: User, clock: HandClock) -> None:
    """A row or more in every table."""
    header = log.Header(id="one:a_b", owner_id=user.pk, created_at=START, title="<b>bold</b>")
    live.create(header, live.Opening(holder="host", seconds=86_400))
    once = idempotency.Once(call="c", key="k", body={})
    tools.create("one:a_b", {"prompt": "look", "after_seconds": 1}, once=once)
    tools.create("one:a_b", {"prompt": "later", "every_seconds": 300})
    turns.append_host_event("one:a_b", models.Lease.objects.get().lease_id, "host:x", "</pre><script>\ud800\0")
    clock.advance(seconds=2)
    Owner().drive_all()
    heartbeat.Heart("host:1:a").beat(clock.now)
    access.issue(user.pk, clock.now)
    corrupt = [
        {"type": "session", "version": 0, "id": "two", "createdAt": START, "delegationDepth": 0, "x": "\0"},
        {"type": "schedule/change", "seq": 0, "time": -1, "data": None, "y": 1},
    ]
    exchange.import_log([lossless.dumps(line).encode() for line in corrupt], owner_id=user.pk)


def changelist(name: str) -> str:
    return reverse(f"admin:schedules_{name}_changelist")


def page(name: str, pk: int | str) -> str:
    return reverse(f"admin:schedules_{name}_change", args=[admin_quote(pk)])


def test_every_table_of_the_app_is_audited() -> None:
    registered = {model._meta.model_name for model in admin.site._registry if model._meta.app_label == "schedules"}
    assert registered == set(NAMES)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("name", NAMES)
def test_every_list_and_every_page_opens(visitor: Client, name: str) -> None:
    answer = visitor.get(changelist(name))
    assert answer.status_code == 200
    model = next(m for m in admin.site._registry if m._meta.model_name == name and m._meta.app_label == "schedules")
    keys = list(model._default_manager.values_list("pk", flat=True))
    assert keys
    for key in keys:
        shown = visitor.get(page(name, key))
        assert shown.status_code == 200
        assert b"<script>\\ud800" not in shown.content


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("name", NAMES)
def test_nothing_can_be_added_changed_or_deleted(visitor: Client, name: str) -> None:
    model = next(m for m in admin.site._registry if m._meta.model_name == name and m._meta.app_label == "schedules")
    key = model._default_manager.values_list("pk", flat=True)[0]
    before = list(model._default_manager.values())
    assert visitor.get(changelist(name) + "add/").status_code == 403
    assert visitor.post(page(name, key), {"title": "x"}).status_code == 403
    assert visitor.post(page(name, key).replace("change/", "delete/"), {"post": "yes"}).status_code == 403
    visitor.post(changelist(name), {"action": "delete_selected", "_selected_action": [key], "post": "yes"})
    assert list(model._default_manager.values()) == before


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("name", NAMES)
def test_tricky_input_is_never_an_unexpected_error(visitor: Client, name: str) -> None:
    for text in TRICKY:
        for address in addresses(name, text):
            assert visitor.get(address).status_code in (200, 302, 404), address


def addresses(name: str, text: str) -> list[str]:
    return [
        *(
            f"{changelist(name)}?{urlencode({key: text})}"
            for key in ("q", "p", "by", "state", "session__id__exact", "pk")
        ),
        f"{changelist(name)}?{urlencode({'pk__in': text, 'seq': text, 'attempt__gt': text})}",
        f"{changelist(name)}{quote(text, safe='')}/change/",
        page(name, text),
    ]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    ("name", "query", "count"),
    [
        ("session", "q=one", 1),
        ("session", "q=BOLD", 1),
        ("session", "q=ne:a", 0),
        ("session", "live=yes", 1),
        ("session", "live=no", 1),
        ("session", "from=api", 2),
        ("session", "from=routine", 0),
        ("sessionevent", "q=two", 1),
        ("sessionevent", "kind=schedule/change", 4),
        ("sessionevent", "session__id__exact=one:a_b", 6),
        ("reminder", "state=active", 1),
        ("reminder", "state=overdue", 0),
        ("reminder", "state=ended", 1),
        ("followup", "state__exact=waiting", 1),
        ("sessionstate", "log=corrupt", 1),
        ("lease", "q=host", 1),
    ],
)
def test_searches_and_filters_find_what_they_name(visitor: Client, name: str, query: str, count: int) -> None:
    answer = visitor.get(f"{changelist(name)}?{query}")
    assert answer.status_code == 200
    assert len(answer.context["cl"].result_list) == count


@pytest.mark.usefixtures("full")
def test_a_session_links_to_what_belongs_to_it(visitor: Client) -> None:
    shown = visitor.get(page("session", "one:a_b")).content.decode()
    for name in ("sessionevent", "sessionstate", "reminder", "followup", "lease", "idempotentanswer"):
        address = f"{changelist(name)}?session__id__exact=one%3Aa_b"
        assert f'href="{address}"' in shown
        assert len(visitor.get(address).context["cl"].result_list) >= 1


@pytest.mark.usefixtures("full")
def test_instants_are_readable_and_data_is_set_out(visitor: Client) -> None:
    event = models.SessionEvent.objects.get(session_id="one:a_b", seq=1)
    shown = visitor.get(page("sessionevent", event.pk)).content.decode()
    assert "2026-12-01T00:00:00.000Z" in shown
    assert "  &quot;operation&quot;: &quot;create&quot;" in shown


@pytest.mark.usefixtures("full")
def test_secrets_are_not_shown(visitor: Client) -> None:
    lease, token = models.Lease.objects.get(), models.Token.objects.get()
    for address in (changelist("lease"), page("lease", lease.pk), changelist("token"), page("token", token.pk)):
        shown = visitor.get(address).content.decode()
        assert lease.lease_id not in shown
        assert token.digest not in shown


def test_a_list_asks_the_same_few_queries_however_many_rows_it_has(
    visitor: Client, user: User, clock: HandClock
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            visitor.get(changelist("session"))
        assert not any("count(*)" in q["sql"].lower() and "limit" not in q["sql"].lower() for q in queries)
        return len(queries)

    live.create(log.Header(id="first", owner_id=user.pk, created_at=1))
    before = asked()
    for number in range(10):
        live.create(log.Header(id=f"s{number}", owner_id=user.pk, created_at=1), live.Opening(holder="h"))
    assert asked() == before


def test_staff_are_operators_and_see_it_without_a_further_permission(
    user: User, staff: User, visitor: Client, clock: HandClock
) -> None:
    for person, status in ((user, 302), (staff, 200)):
        client = Client()
        client.force_login(person)
        assert client.get(changelist("session")).status_code == status
