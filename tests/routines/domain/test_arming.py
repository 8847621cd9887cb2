"""The slots of a job: which fire, which are made up for, which are let go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines.domain import arming
from tests.conftest import START
from tests.routines.registered import routine

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def minutely(catchup: str = "skip", **more: Any) -> Any:
    return routine(schedule={"kind": "cron", "cron": "* * * * *", "catchup": catchup, **more})


def test_a_slot_fires_from_its_own_instant_on() -> None:
    made = minutely()
    early = arming.due(made, START, START, START + MINUTE - 1)
    assert (early.fire, early.cursor) == ((), START)
    due = arming.due(made, START, START, START + MINUTE)
    assert (due.fire, due.cursor) == ((START + MINUTE,), START + MINUTE)


def test_a_slot_picked_up_a_minute_late_still_fires_and_one_later_than_that_is_missed() -> None:
    made = routine(schedule={"kind": "cron", "cron": "0 * * * *"})
    assert arming.due(made, START, START, START + HOUR + MINUTE).fire == (START + HOUR,)
    late = arming.due(made, START, START, START + HOUR + MINUTE + 1)
    assert (late.fire, late.catch_up, late.dropped, late.cursor) == ((), (), 1, START + HOUR)


def test_catching_up_one_makes_up_for_the_latest_missed_slot_alone() -> None:
    due = arming.due(minutely("one"), START, START, START + HOUR + MINUTE // 2)
    assert due.fire == (START + HOUR,)
    assert due.catch_up == (START + HOUR - MINUTE,)
    assert (due.dropped, due.last_dropped) == (58, START + HOUR - 2 * MINUTE)


def test_catching_up_all_makes_up_for_each_missed_slot_oldest_first() -> None:
    due = arming.due(minutely("all"), START, START, START + 5 * MINUTE + MINUTE // 2)
    assert due.catch_up == tuple(START + n * MINUTE for n in range(1, 5))
    assert due.fire == (START + 5 * MINUTE,)
    assert due.dropped == 0


def test_catching_up_all_goes_back_a_day_at_most() -> None:
    due = arming.due(minutely("all"), START, START, START + 3 * DAY)
    assert len(due.catch_up) + len(due.fire) == 1440
    assert due.catch_up[0] == START + 2 * DAY + MINUTE
    assert due.dropped == arming.COUNTED + 1
    assert due.last_dropped == START + 2 * DAY


@pytest.mark.parametrize("catchup", ["skip", "one"])
def test_a_year_of_missed_minutes_is_jumped_over(catchup: str) -> None:
    due = arming.due(minutely(catchup), START, START, START + 365 * DAY + 1)
    assert due.cursor == START + 365 * DAY
    assert due.fire[-1] == due.cursor
    assert len(due.catch_up) == (1 if catchup == "one" else 0)


def test_intervals_and_rules_never_catch_up() -> None:
    for schedule in ({"kind": "interval", "every": "5m"}, {"kind": "calendar", "rrule": "FREQ=HOURLY"}):
        due = arming.due(routine(schedule=schedule), START, START, START + DAY + 2 * MINUTE)
        assert (due.catch_up, due.fire) == ((), ())
        assert due.dropped > 0
        assert START + DAY <= due.cursor <= START + DAY + 2 * MINUTE


def test_a_five_second_interval_fires_no_more_slots_than_a_minute_holds() -> None:
    due = arming.due(routine(schedule={"kind": "interval", "every": "5s"}), START, START, START + HOUR)
    assert due.cursor == START + HOUR
    assert due.fire == tuple(START + HOUR - MINUTE + n * 5_000 for n in range(13))


def test_a_job_that_no_time_fires_is_armed_for_never() -> None:
    for schedule in ({"kind": "manual"}, {"kind": "event", "on": "turn-end"}):
        assert arming.arm(routine(schedule=schedule), START, START) == arming.Armed(slot=None, fire_at=None)


def test_jitter_moves_the_firing_and_not_the_slot() -> None:
    made = minutely(jitter_seconds=30)
    armed = arming.arm(made, START, START)
    assert armed.slot == START + MINUTE
    assert armed.fire_at is not None
    assert armed.slot <= armed.fire_at <= armed.slot + 30_000
    assert arming.due(made, START, START, armed.fire_at - 1).fire == ()
    due = arming.due(made, START, START, armed.fire_at)
    assert (due.fire, due.cursor) == ((armed.slot,), armed.slot)


@given(
    steps=st.lists(st.integers(min_value=1, max_value=3 * HOUR), min_size=1, max_size=20),
    catchup=st.sampled_from(["skip", "one", "all"]),
    jitter=st.sampled_from([0, 20, 3600]),
    cron=st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *"]),
)
def test_however_the_looks_fall_no_slot_is_served_twice_and_none_that_is_due_is_passed_over(
    steps: list[int], catchup: str, jitter: int, cron: str
) -> None:
    made = routine(schedule={"kind": "cron", "cron": cron, "catchup": catchup, "jitter_seconds": jitter})
    cursor, now, served = START, START, list[int]()
    for step in steps:
        now += step
        due = arming.due(made, START, cursor, now)
        assert due.cursor >= cursor
        assert all(slot > cursor for slot in (*due.catch_up, *due.fire))
        served += [*due.catch_up, *due.fire]
        cursor = due.cursor
        following = arming.arm(made, START, cursor)
        assert following.fire_at is None or following.fire_at > now
    assert len(served) == len(set(served))
    assert served == sorted(served)


@given(step=st.integers(min_value=1, max_value=20 * HOUR))
def test_catching_up_all_serves_every_slot_of_the_last_day(step: int) -> None:
    due = arming.due(minutely("all"), START, START, START + step)
    assert [*due.catch_up, *due.fire] == [START + n * MINUTE for n in range(1, step // MINUTE + 1)]
