"""The chores that ride on the owner's heartbeat."""

import pytest
from django.contrib.auth.models import User

from schedules import heartbeat, live, transaction
from schedules.idempotency import Once
from schedules.locked import Unit
from schedules.models import IdempotentAnswer, Lease
from schedules.owner import Owner
from schedules.sessions import log, lossless
from tests.conftest import HandClock

A_DAY = 86_400
ONCE = Once(call="note", key="k", body={"text": "hello"})
ANSWER: lossless.Json = {"noted": True}


@pytest.fixture
def session(user: User, clock: HandClock) -> str:
    """The id of a session in which an answer is kept for ``ONCE``."""
    made = log.Header(id=log.new_id(), owner_id=user.pk, created_at=clock.now)
    live.create(made)

    def note(unit: Unit) -> lossless.Json:
        unit.append("host:note", 1)
        return ANSWER

    transaction.perform(made.id, note, once=ONCE)
    return made.id


def beat() -> None:
    """The first step of a new owner does every chore."""
    Owner().drive_once()


def test_an_answer_is_kept_for_a_day(session: str, clock: HandClock) -> None:
    for moved in ({"ms": 0}, {"ms": 1}, {"seconds": A_DAY / 2}, {"seconds": A_DAY / 2, "ms": -2}):
        clock.advance(**moved)
        beat()
        assert transaction.replayed(session, ONCE) == ANSWER, moved
    clock.advance(ms=2)
    beat()
    assert transaction.replayed(session, ONCE) is None


def test_an_answer_outlives_a_clock_that_is_set_back(session: str, clock: HandClock) -> None:
    clock.advance(seconds=-A_DAY * 365)
    beat()
    assert transaction.replayed(session, ONCE) == ANSWER


def test_a_clock_that_steps_back_between_two_beats_cuts_leases_at_once(user: User, clock: HandClock) -> None:
    owner = Owner()
    owner.drive_once()
    clock.advance(seconds=4)
    owner.drive_once()
    made = log.Header(id=log.new_id(), owner_id=user.pk, created_at=clock.now)
    live.create(made, live.Opening(holder="host", seconds=5))
    clock.advance(ms=-3900)
    owner.drive_once()
    assert Lease.objects.get().expires_at == clock.now + 5000


def test_more_answers_than_one_delete_takes_are_forgotten_in_one_beat(
    session: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "_ANSWERS_AT_ONCE", 2)
    for number in range(5):
        transaction.perform(session, _note, once=Once(call="note", key=f"k{number}", body={}))
    clock.advance(seconds=A_DAY + 1)
    beat()
    assert not IdempotentAnswer.objects.exists()


def _note(unit: Unit) -> lossless.Json:
    unit.append("host:note", 1)
    return ANSWER
