"""Catch-up: the slots of a past window, and its last one without visiting the others."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines.domain.slots import Slots, calendar, cron, event, interval, manual, search
from schedules.domain import instants
from tests.routines.domain.slots.times import at

START = at("2026-01-01T12:00Z")
EVERY = [
    cron.parse("* * * * *", "Europe/Paris"),
    cron.parse("30 2 * * *", "Europe/Paris"),
    cron.parse("*/7 1-3 * * 0", "Australia/Lord_Howe"),
    cron.parse("0 0 1 * *", "America/Santiago"),
    interval.parse("90s", START),
    interval.parse("7d", START),
    calendar.parse("FREQ=MINUTELY;INTERVAL=7", "Europe/Paris", START),
    calendar.parse("FREQ=DAILY;BYHOUR=2,3;BYMINUTE=15,45", "Europe/Paris", START),
    calendar.parse("FREQ=MONTHLY;BYMONTHDAY=-1", "UTC", START),
    manual.Manual(),
    event.Event(),
]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(EVERY),
    st.integers(at("2026-03-20T00:00Z"), at("2026-11-05T00:00Z")),
    st.one_of(st.integers(0, 4 * 60 * instants.MINUTE), st.integers(0, 3 * instants.DAY)),
)
def test_between_is_the_next_ones_in_a_row_and_latest_is_its_last(slots: Slots, after: int, width: int) -> None:
    until = after + width
    found = slots.between(after, until, 100_000)
    step: int | None = after
    for slot in found:
        assert step is not None
        step = slots.next_after(step)
        assert slot == step
    assert found == sorted(set(found))
    assert all(after < slot <= until for slot in found)
    following = None if step is None else slots.next_after(step)
    assert following is None or following > until
    assert slots.latest_between(after, until) == (found[-1] if found else None)


@pytest.mark.parametrize("slots", EVERY)
def test_no_more_than_the_limit_are_given_oldest_first(slots: Slots) -> None:
    after, until = START, START + 400 * instants.DAY
    assert slots.between(after, until, 0) == []
    first = slots.next_after(after)
    assert slots.between(after, until, 1) == ([] if first is None else [first])
    assert len(slots.between(after, until, 3)) == (0 if first is None else 3)


@pytest.mark.parametrize("slots", EVERY)
def test_a_window_without_width_or_upside_down_is_empty(slots: Slots) -> None:
    for until in (START, START - instants.DAY):
        assert slots.between(START, until, 10) == []
        assert slots.latest_between(START, until) is None


def test_the_latest_of_ten_years_of_minutes_takes_a_handful_of_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = cron.parse("* * * * *", "Europe/Paris")
    searches = 0
    real = cron.Cron.first_between

    def counted(self: cron.Cron, after: int, until: int) -> int | None:
        nonlocal searches
        searches += 1
        return real(self, after, until)

    monkeypatch.setattr(cron.Cron, "first_between", counted)
    assert slots.latest_between(START, START + 3650 * instants.DAY) == START + 3650 * instants.DAY
    assert searches <= 40
    searches = 0
    assert cron.parse("0 0 29 2 *", "UTC").latest_between(START, at("2036-02-28T00:00Z")) == at("2032-02-29T00:00Z")
    assert searches <= 80


@pytest.mark.parametrize("slots", [manual.Manual(), event.Event(), search.Never()])
def test_what_time_does_not_fire_is_never_due(slots: Slots) -> None:
    assert slots.next_after(0) is None
    assert slots.between(0, instants.MAX, 10) == []
    assert slots.latest_between(0, instants.MAX) is None
