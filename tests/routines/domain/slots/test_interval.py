"""Intervals: arithmetic from an anchor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines.domain.slots import Refused, interval
from schedules.domain import instants
from tests.routines.domain.slots.times import at, following

ANCHOR = at("2026-12-01T09:00Z")
WEEK = 7 * instants.DAY


@pytest.mark.parametrize(
    ("every", "step"),
    [("5s", 5_000), ("90s", 90_000), ("5m", 300_000), ("12h", 43_200_000), ("7d", WEEK), ("007m", 420_000)],
)
def test_a_number_and_a_unit_make_a_step(every: str, step: int) -> None:
    assert interval.parse(every, ANCHOR).step == step


@pytest.mark.parametrize(
    "every",
    [
        "0m",
        "0s",
        "4s",
        "5",
        "m",
        "-5m",
        "+5m",
        "5 m",
        "5M",
        "1.5h",
        "1h30m",
        "1e3s",
        "٥m",
        "5m\n",
        "",
        "9" * 5000 + "s",
    ],
)
def test_any_other_text_is_refused_with_what_to_write(every: str) -> None:
    with pytest.raises(Refused, match=r"5s or more|90s, 5m, 12h or 7d") as refusal:
        interval.parse(every, ANCHOR)
    assert refusal.value.field == "every"


def test_the_anchor_is_the_first_slot() -> None:
    slots = interval.parse("1d", ANCHOR)
    assert slots.next_after(ANCHOR - 10 * WEEK) == ANCHOR
    assert following(slots, "2026-12-01T09:00Z", 2) == ["2026-12-02T09:00Z", "2026-12-03T09:00Z"]


def test_a_weekly_interval_on_a_host_that_restarts_daily_runs_weekly() -> None:
    runs = set()
    for day in range(28):
        started = ANCHOR + day * instants.DAY + 3_600_000
        runs.add(interval.parse("7d", ANCHOR).next_after(started))
    assert runs == {ANCHOR + week * WEEK for week in range(1, 5)}


def test_a_day_is_24_hours_whatever_the_clocks_do() -> None:
    slots = interval.parse("1d", at("2026-10-24T09:00+02:00"))
    assert following(slots, "2026-10-24T09:00+02:00", 1) == ["2026-10-25T07:00Z"]


def test_the_year_9999_ends_as_never() -> None:
    slots = interval.parse("1d", ANCHOR)
    assert slots.next_after(instants.MAX) is None
    assert interval.parse("999999999999d", ANCHOR).next_after(ANCHOR) is None
    assert slots.latest_between(ANCHOR, 10**30) == at("9999-12-31T09:00Z")


@given(st.integers(5_000, 10**10), st.integers(-(10**13), 10**13), st.integers(0, 10**12))
def test_the_next_and_the_latest_slot_are_next_to_the_question(step: int, after: int, width: int) -> None:
    slots = interval.Interval(anchor=ANCHOR, step=step)
    found = slots.next_after(after)
    assert found is not None
    assert found > after
    assert (found - ANCHOR) % step == 0
    assert found == ANCHOR or found - step <= after
    latest = slots.latest_between(after, after + width)
    assert (latest is None) == (found > after + width)
    if latest is not None:
        assert after + width - step < latest <= after + width
        assert (latest - ANCHOR) % step == 0


def test_from_is_an_instant() -> None:
    assert interval.parse_from("2026-12-01T10:00:00+01:00") == ANCHOR
    for text in ("2026-12-01", "2026-12-01T09:00:00", "tomorrow", "2026-02-30T09:00:00Z", "0001-01-01T00:00:00+01:00"):
        with pytest.raises(Refused, match="2030-01-31T09:00:00Z") as refusal:
            interval.parse_from(text)
        assert refusal.value.field == "from"
