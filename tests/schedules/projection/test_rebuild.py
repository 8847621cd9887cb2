"""The log is the truth: what is thrown away comes back the same, and what disagrees with it is found."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedules import idempotency, live, locked, tools, transaction, turns
from schedules.models import Followup, IdempotentAnswer, Lease, Reminder, SessionState
from schedules.owner import Owner
from schedules.projection import rebuild
from schedules.sessions import events, log
from schedules.sessions.errors import Refusal
from schedules.sessions.events import Event
from tests.conftest import START, HandClock

pytestmark = pytest.mark.usefixtures("store")

TABLES = (SessionState, Reminder, Followup)


def projected(session_id: str) -> list[list[dict[str, Any]]]:
    """Every row of a session's projection, without what only says when the row itself was made."""
    found = []
    for table in TABLES:
        kept = table._default_manager.filter(session_id=session_id)
        shown = [{k: v for k, v in row.items() if k != "id"} for row in kept.values()]
        for row in shown:
            if row.get("record", "") is None:
                row["seq"] = None
        found.append(sorted(shown, key=repr))
    return found


def check(session_id: str) -> list[str]:
    with transaction.barrier():
        return rebuild.check(session_id)


def remake(session_id: str) -> None:
    with transaction.barrier():
        rebuild.rebuild(session_id)


class History:
    """A session to which calls happen, whatever they are answered."""

    def __init__(self, owner_id: int, clock: HandClock) -> None:
        self.clock = clock
        self.owner = Owner()
        self.header = log.Header(id=log.new_id(), owner_id=owner_id, created_at=clock.now)
        live.create(self.header)

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def lease(self) -> str:
        return next(iter(Lease.objects.filter(pk=self.id).values_list("lease_id", flat=True)), "none")

    @property
    def turn(self) -> int:
        found = SessionState.objects.filter(pk=self.id).values_list("turn", flat=True)
        return next(iter(found), None) or 0

    def after(self, number: int) -> None:
        tools.create(self.id, {"prompt": "look", "after_seconds": number * 60})

    def every(self, number: int) -> None:
        tools.create(self.id, {"prompt": "again", "every_seconds": 300 + number * 60})

    def delete(self, number: int) -> None:
        tools.delete(self.id, {"id": f"schedule-{number}"})

    def open(self, number: int) -> None:
        live.open_(self.id, live.Opening(holder="another" if number > 7 else "host", seconds=600 * number))

    def close(self, number: int) -> None:
        live.close(self.id, self.lease)

    def begin(self, number: int) -> None:
        turns.begin(self.id, self.lease, turns.message("hello"))

    def claim(self, number: int) -> None:
        turns.begin(self.id, self.lease, None)

    def end(self, number: int) -> None:
        turns.end(self.id, self.turn, self.lease, turns.OUTCOMES[number % 3], None)

    def discard(self, number: int) -> None:
        for followup in turns.followups(self.id, "waiting", limit=1):
            turns.discard(self.id, str(followup["followupId"]), self.lease)

    def note(self, number: int) -> None:
        turns.append_host_event(self.id, self.lease, "host:note", number)

    def wait(self, number: int) -> None:
        self.clock.advance(seconds=number * 90)
        self.owner.drive_all()

    def fall_due(self, number: int) -> None:
        self.after(1)
        self.wait(1)

    def turn_back(self, number: int) -> None:
        self.clock.advance(seconds=-number * 30)

    def fork(self, number: int) -> None:
        self.header = live.fork(self.header, session_id=log.new_id(), owner_id=self.header.owner_id, boundary=number)

    def imported(self, number: int) -> None:
        """What only an imported log can hold: a change that does not fold, turns without sense."""
        kind, data = (
            (events.TURN_START, {"turn": number, "followupId": "unknown"}),
            (events.TURN_END, None),
            (events.FOLLOWUP_QUEUED, {"followupId": f"\ud800{number}"}),
            (events.SCHEDULE_CHANGE, {"version": 1, "operation": "delete", "id": f"schedule-{number}"}),
        )[number % 4]
        with transaction.barrier():
            (unit,) = locked.take([self.id])
            unit.append(kind, data)  # type: ignore[arg-type]
            locked.flush([unit])


CALLS = [name for name in vars(History) if not name.startswith("_") and name not in ("id", "lease", "turn")]
USUAL = ["open", "after", "every", "fall_due", "claim", "claim", "begin", "end", "wait"]
steps = st.lists(st.tuples(st.sampled_from(USUAL) | st.sampled_from(CALLS), st.integers(1, 9)), min_size=5, max_size=40)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_a_rebuilt_projection_equals_the_live_one_after_any_history(
    user: User, clock: HandClock, history: list[tuple[str, int]]
) -> None:
    session = History(user.pk, clock)
    session.open(7)
    seen = {session.id}
    for name, number in history:
        with suppress(Refusal):
            getattr(session, name)(number)
        seen.add(session.id)
    for session_id in seen:
        assert check(session_id) == []
        before = projected(session_id)
        remake(session_id)
        assert projected(session_id)[1:] == before[1:]
        # A session to which nothing happened may have had no row; it has one now, which says so.
        assert projected(session_id)[0] == before[0] or before[0] == []
        assert check(session_id) == []


@pytest.fixture
def busy(user: User, clock: HandClock) -> History:
    """A session with an active reminder, an ended one, and a waiting follow-up."""
    session = History(user.pk, clock)
    session.open(7)
    session.after(1)
    session.every(1)
    session.wait(1)
    assert [len(rows) for rows in projected(session.id)] == [1, 2, 1]
    return session


def test_a_rebuild_in_many_small_parts_is_the_same(busy: History, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 3):
        busy.claim(number)
        busy.open(7)
        busy.wait(5)
    before = projected(busy.id)
    monkeypatch.setattr(rebuild, "_CHANGES", 1)
    remake(busy.id)
    assert projected(busy.id) == before


def test_a_rebuild_leaves_leases_and_kept_answers_alone(busy: History) -> None:
    tools.create(
        busy.id,
        {"prompt": "p", "after_seconds": 5},
        once=idempotency.Once(call="schedule_create", key="k", body={}),
    )
    before = [list(table._default_manager.values()) for table in (Lease, IdempotentAnswer)]
    assert all(before)
    remake(busy.id)
    assert [list(table._default_manager.values()) for table in (Lease, IdempotentAnswer)] == before


def test_a_rebuild_arms_only_a_leased_session(user: User, clock: HandClock) -> None:
    session = History(user.pk, clock)
    session.open(7)
    session.after(1)
    SessionState.objects.update(armed_at=None)
    remake(session.id)
    assert SessionState.objects.get(pk=session.id).armed_at == START + 60_000
    session.close(1)
    remake(session.id)
    state = SessionState.objects.get(pk=session.id)
    assert (state.next_due, state.armed_at) == (START + 60_000, None)


def test_a_projection_that_was_lost_is_delivered_from_again(busy: History) -> None:
    for table in TABLES:
        table._default_manager.all().delete()
    remake(busy.id)
    busy.claim(1)
    assert busy.turn == 1


def test_an_unknown_session_is_not_found(clock: HandClock) -> None:
    for call in (check, remake):
        with pytest.raises(Refusal) as refused:
            call("nobody")
        assert refused.value.code == "not_found"


def test_every_session_is_walked_once(user: User, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "_PAGE", 2)
    names = ["a", "B", "c.1", "c:1", "d"]
    for name in names:
        live.create(log.Header(id=name, owner_id=user.pk, created_at=START))
    assert sorted(rebuild.all_sessions()) == sorted(names)


def test_an_imported_forks_own_prefix_is_not_folded(user: User, clock: HandClock) -> None:
    log.create(log.Header(id="one", owner_id=user.pk, created_at=START, parent="gone", seed_length=1))
    log.append([("one", Event(seq=0, type=events.TURN_START, time=1, data={"turn": 1}))])
    remake("one")
    state = SessionState.objects.get(pk="one")
    assert (state.folded_through, state.turn) == (0, None)
    assert check("one") == []


PLANTED: list[tuple[str, Callable[[], object], str]] = [
    *(
        (column, lambda column=column, value=value: SessionState.objects.update(**{column: value}), column)
        for column, value in {
            "folded_through": 2,
            "created": 7,
            "active": 7,
            "next_due": 7,
            "armed_at": 7,
            "turn": 7,
            "turn_seq": 7,
            "last_turn": 7,
            "claimed": '"x"',
            "waiting": 7,
            "exhausted": 7,
            "corrupt_seq": 1,
        }.items()
    ),
    ("no state", lambda: SessionState.objects.all().delete(), "state: its row is missing"),
    ("a due time", lambda: _active().update(due_at=1), "reminder schedule-2: due_at is 1, the log says"),
    ("a record", lambda: _active().update(record="{}"), "reminder schedule-2: record is {}, the log says"),
    ("a kind", lambda: _active().update(kind="at"), "reminder schedule-2: kind is at, the log says every"),
    ("a seq", lambda: _active().update(seq=99), "reminder schedule-2: seq is 99"),
    ("no reminder", lambda: _active().delete(), "reminder schedule-2: its row is missing"),
    ("no tombstone", lambda: _ended().delete(), "reminder schedule-1: its row is missing"),
    ("a revived one", lambda: _ended().update(due_at=5), "reminder schedule-1: due_at is 5, the log says empty"),
    ("a reminder more", lambda: _ended().create(key="x", session_id=_any()), "reminder x: its row should not"),
    ("a state", lambda: Followup.objects.update(state="claimed"), "state is claimed, the log says waiting"),
    ("an attempt", lambda: Followup.objects.update(attempt=3), "attempt is 3, the log says 1"),
    ("a follow-up's seq", lambda: Followup.objects.update(seq=1), "seq is 1, the log says"),
    ("a follow-up's id", lambda: Followup.objects.update(followup_id='"x"'), 'followup_id is "x", the log says'),
    ("no follow-up", lambda: Followup.objects.all().delete(), "its row is missing"),
]


def _active() -> Any:
    return Reminder.objects.filter(due_at__isnull=False)


def _ended() -> Any:
    return Reminder.objects.filter(due_at__isnull=True)


def _any() -> str:
    return str(SessionState.objects.get().pk)


@pytest.mark.parametrize(("plant", "said"), [planted[1:] for planted in PLANTED], ids=[p[0] for p in PLANTED])
def test_a_planted_difference_is_found_and_mended(busy: History, plant: Callable[[], object], said: str) -> None:
    assert check(busy.id) == []
    plant()
    (difference,) = check(busy.id)
    assert said in difference
    remake(busy.id)
    assert check(busy.id) == []
