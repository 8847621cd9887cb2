"""What readers are shown: pages newest first, filters that agree with the views, one session in full."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from schedules import live, reading, tools, turns
from schedules.domain import errors
from schedules.models import Lease
from schedules.owner import Owner
from schedules.sessions import events, log
from schedules.sessions.events import Event
from tests.conftest import START, HandClock

pytestmark = pytest.mark.usefixtures("store")

Make = Callable[..., log.Header]


@pytest.fixture
def make(user: User, clock: HandClock) -> Make:
    """``make("id", ...)``: a new session of ``user``, a millisecond younger than the one before."""

    def made(session_id: str, *, owner: User = user, opened: bool = False, **given: Any) -> log.Header:
        header = log.Header(id=session_id, owner_id=owner.pk, created_at=clock.advance(ms=1), **given)
        live.create(header, live.Opening(holder="host", seconds=60) if opened else None)
        return header

    return made


def ids(found: tuple[list[dict[str, Any]], reading.Key | None]) -> list[str]:
    return [row["id"] for row in found[0]]


def remind(session_id: str, seconds: int = 600) -> None:
    answer = tools.create(session_id, {"prompt": "look", "after_seconds": seconds})
    assert answer.code is None


def view_of(header: log.Header, now: int) -> Any:
    return reading.view(header, now)


def lease_of(session_id: str) -> str:
    return Lease.objects.get(pk=session_id).lease_id


def test_a_row_says_the_header_and_what_the_fold_counts(make: Make, user: User, clock: HandClock) -> None:
    make("one", title="T\u2028", cwd="/w", metadata='{"a":60.0,"b":"\\ud800"}', origin="routine:x")
    ((row,), following) = reading.page(None, clock.now, limit=5)
    assert following is None
    assert row == {
        "id": "one",
        "createdAt": "2026-12-01T00:00:00.001Z",
        "parentSession": None,
        "seedLength": 0,
        "origin": "routine:x",
        "title": "T\u2028",
        "cwd": "/w",
        "metadata": {"a": 60.0, "b": "\ud800"},
        "owner": "ada",
        "live": False,
        "corrupt": False,
        "lease": None,
        "counts": {"events": 0, "turns": 0, "reminders": 0, "waiting": 0, "exhausted": 0},
    }


def test_a_view_adds_the_open_turn_and_the_exhausted(make: Make, clock: HandClock) -> None:
    header = make("one", opened=True)
    lease = lease_of("one")
    turns.begin("one", lease, turns.message("hello", "Europe/Paris"))
    clock.advance(seconds=1)
    turns.add_message("one", 1, lease, turns.message("again"))
    remind("one")
    view = view_of(header, clock.now)
    assert view["live"] is True
    assert view["lease"] == {
        "holder": "host",
        "leaseSeconds": 60,
        "expiresAt": "2026-12-01T00:01:01.001Z",
    }
    assert view["counts"] == {"events": 5, "turns": 1, "reminders": 1, "waiting": 0, "exhausted": 0}
    assert view["exhausted"] == []
    turn = view["openTurn"]
    assert [turn["turn"], turn["source"]] == [1, "user"]
    assert [message["text"] for message in turn["messages"]] == ["hello", "again"]
    assert turn["timeContext"]["provenance"] == "unique"


def test_a_followup_that_used_up_its_attempts_is_listed(make: Make, clock: HandClock) -> None:
    header = make("one", opened=True)
    remind("one", 1)
    clock.advance(seconds=2)
    Owner().drive_all()
    for _ in range(3):
        turns.begin("one", lease_of("one"), None)
        live.open_("one", live.Opening(holder="host"))
    view = view_of(header, clock.now)
    (exhausted,) = view["exhausted"]
    assert exhausted["attempt"] == 3
    assert [r["prompt"] for r in exhausted["reminders"]] == ["look"]
    assert view["counts"]["exhausted"] == 1
    assert view["openTurn"] is None


def test_an_imported_turn_without_a_number_is_shown_with_the_one_it_is_addressed_by(
    make: Make, clock: HandClock
) -> None:
    header = make("one")
    log.append([("one", Event(seq=0, type=events.TURN_START, time=1, data=None))])
    live.open_("one", live.Opening(holder="host"))
    lease = lease_of("one")
    turns.begin("one", lease, turns.message("hello"))
    turn = view_of(header, clock.now)["openTurn"]
    assert turn["turn"] == 2


def test_a_lease_ends_for_readers_at_its_end_and_never_outlasts_one_lease_time(make: Make, clock: HandClock) -> None:
    header = make("one", opened=True)
    assert view_of(header, clock.now + 59_999)["live"] is True
    over = view_of(header, clock.now + 60_000)
    assert (over["live"], over["lease"]) == (False, None)
    set_back = view_of(header, clock.now - 3_600_000)
    assert set_back["lease"]["expiresAt"] == "2026-11-30T23:01:00.001Z"


def test_pages_run_from_the_newest_to_the_oldest_without_a_gap(make: Make, clock: HandClock) -> None:
    for number in range(7):
        make(f"s{number}")
    seen: list[str] = []
    after = None
    for _ in range(3):
        found, after = reading.page(None, clock.now, after=after, limit=3)
        seen += [str(row["id"]) for row in found]
    assert after is None
    assert seen == [f"s{number}" for number in reversed(range(7))]


def test_sessions_of_one_instant_are_told_apart_by_their_ids(user: User, clock: HandClock) -> None:
    for name in ("b", "a", "c"):
        live.create(log.Header(id=name, owner_id=user.pk, created_at=START))
    first, after = reading.page(user.pk, clock.now, limit=2)
    assert [row["id"] for row in first] == ["c", "b"]
    assert ids(reading.page(user.pk, clock.now, after=after, limit=2)) == ["a"]


def test_an_owner_sees_none_of_anothers(make: Make, user: User, stranger: User, clock: HandClock) -> None:
    make("mine", opened=True)
    make("theirs", owner=stranger, opened=True)
    for wanted in (None, True):
        assert ids(reading.page(user.pk, clock.now, live=wanted, limit=9)) == ["mine"]
        assert ids(reading.page(None, clock.now, live=wanted, limit=9)) == ["theirs", "mine"]


@pytest.mark.parametrize("few", [10_000, 0], ids=["from the index", "along all sessions"])
def test_filters_agree_with_what_the_rows_say(
    make: Make, clock: HandClock, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    for number in range(12):
        name = f"s{number:02}"
        make(name, opened=number % 2 == 0, origin="api" if number % 3 else "routine:r")
        if number % 4 == 0:
            remind(name, 1 if number % 8 == 0 else 900)
    clock.advance(seconds=2)
    whole, _ = reading.page(None, clock.now, limit=50)
    overdue = {"s00", "s08"}
    monkeypatch.setattr(reading, "MOST_EXAMINED", few)
    for live_ in (None, True, False):
        for due in (None, True, False):
            for origin in (None, "api", "routine:r", "nothing"):
                wanted = [
                    row["id"]
                    for row in whole
                    if live_ in (None, row["live"])
                    and due in (None, row["id"] in overdue)
                    and origin in (None, row["origin"])
                ]
                found = reading.page(None, clock.now, live=live_, overdue=due, origin=origin, limit=50)
                assert ids(found) == wanted
                assert found[1] is None


def test_a_page_looks_at_a_bounded_number_of_sessions(
    make: Make, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_CHUNK", 2)
    monkeypatch.setattr(reading, "MOST_EXAMINED", 4)
    make("old", origin="routine:r")
    for number in range(5):
        make(f"s{number}")
    found, after = reading.page(None, clock.now, origin="routine:r", limit=2)
    assert found == []
    assert after is not None
    assert ids(reading.page(None, clock.now, origin="routine:r", after=after, limit=2)) == ["old"]


def test_a_page_costs_the_same_few_queries_however_many_rows_it_has(make: Make, clock: HandClock) -> None:
    for number in range(20):
        make(f"s{number}")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        reading.page(None, clock.now, limit=20)
    assert len(queries) == 2


def test_a_fork_counts_what_it_inherited_as_events_alone(make: Make, user: User, clock: HandClock) -> None:
    parent = make("parent", opened=True)
    remind("parent")
    child = live.fork(parent, session_id="child", owner_id=user.pk)
    view = view_of(child, clock.now)
    assert view["parentSession"] == "parent"
    assert view["seedLength"] == 2
    assert view["counts"] == {"events": 2, "turns": 0, "reminders": 0, "waiting": 0, "exhausted": 0}
    assert reading.schedules("child", clock.now, limit=9) == ([], None)


def test_the_reminders_of_a_cold_session_are_shown_as_views(make: Make, clock: HandClock) -> None:
    make("one", opened=True)
    remind("one", 5)
    remind("one", 600)
    live.close("one", lease_of("one"))
    clock.advance(seconds=10)
    shown, _ = reading.schedules("one", clock.now, limit=9)
    assert [(view["id"], view["state"]) for view in shown] == [
        ("schedule-1", "overdue"),
        ("schedule-2", "scheduled"),
    ]
    assert shown[0]["deliveryMode"] == "session-local"


def test_the_reminders_of_a_corrupt_log_are_refused(make: Make, clock: HandClock) -> None:
    header = make("one")
    log.append([("one", Event(seq=0, type=events.SCHEDULE_CHANGE, time=1, data={}))])
    live.open_("one", live.Opening(holder="host"))
    with pytest.raises(errors.ScheduleError) as refused:
        reading.schedules("one", clock.now, limit=9)
    assert refused.value.code == "corrupt_schedule_log"
    assert view_of(header, clock.now)["live"] is True
