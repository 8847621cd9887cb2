"""Calendars where clocks jump, and at the end of the calendar itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines.domain.slots import calendar
from schedules.domain import instants
from tests.routines.domain.slots.times import at, following

PARIS, LORD_HOWE, SANTIAGO = "Europe/Paris", "Australia/Lord_Howe", "America/Santiago"
ANCHOR = at("2026-12-01T10:17Z")


def times(rrule: str, after: str, count: int, timezone: str = "UTC") -> list[str | None]:
    return following(calendar.parse(rrule, timezone, ANCHOR), after, count)


def test_a_time_in_a_gap_moves_forward_by_the_gaps_length() -> None:
    start = "DTSTART:20260301T023000\nRRULE:FREQ=DAILY"
    assert times(start, "2026-03-28T12:00Z", 2, PARIS) == ["2026-03-29T01:30Z", "2026-03-30T00:30Z"]


def test_a_time_in_an_overlap_is_its_first() -> None:
    start = "DTSTART:20260301T023000\nRRULE:FREQ=DAILY"
    assert times(start, "2026-10-24T12:00Z", 2, PARIS) == ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]


def test_times_moved_out_of_a_gap_stay_in_order_and_come_once() -> None:
    start = "DTSTART:20260301T000000\nRRULE:FREQ=DAILY;BYHOUR=2,3;BYMINUTE=15,45"
    assert times(start, "2026-03-28T12:00Z", 3, PARIS) == [
        "2026-03-29T01:15Z",
        "2026-03-29T01:45Z",
        "2026-03-30T00:15Z",
    ]
    minutely = calendar.parse("DTSTART:20260301T000000\nRRULE:FREQ=MINUTELY", PARIS, ANCHOR)
    first = at("2026-03-29T00:00Z")
    assert minutely.between(first, first + 180 * 60_000, 500) == [first + 60_000 * n for n in range(1, 181)]


def test_half_an_hours_gap_and_a_midnight_that_does_not_exist() -> None:
    start = "DTSTART:20260901T021500\nRRULE:FREQ=DAILY"
    assert times(start, "2026-10-03T00:00Z", 1, LORD_HOWE) == ["2026-10-03T15:45Z"]
    assert times("DTSTART:20260901\nRRULE:FREQ=DAILY", "2026-09-05T12:00Z", 2, SANTIAGO) == [
        "2026-09-06T04:00Z",
        "2026-09-07T03:00Z",
    ]


def test_a_weekday_is_tested_in_the_routines_zone() -> None:
    assert times("FREQ=WEEKLY;BYDAY=MO;BYHOUR=8", "2026-12-02T00:00Z", 1, "Pacific/Auckland") == ["2026-12-06T19:00Z"]


def test_a_monthly_rule_fires_once_in_the_month_of_a_change() -> None:
    start = "DTSTART:20260925T023000\nRRULE:FREQ=MONTHLY"
    assert times(start, "2026-09-26T00:00Z", 2, PARIS) == ["2026-10-25T00:30Z", "2026-11-25T01:30Z"]


def test_day_31_skips_short_months() -> None:
    assert times("FREQ=MONTHLY;BYMONTHDAY=31", "2027-01-01T00:00Z", 3) == [
        "2027-01-31T00:00Z",
        "2027-03-31T00:00Z",
        "2027-05-31T00:00Z",
    ]


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", PARIS])
@pytest.mark.parametrize("freq", ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"])
def test_the_year_9999_ends_as_never(zone: str, freq: str) -> None:
    slots = calendar.parse(f"FREQ={freq}", zone, ANCHOR)
    for back in (0, 1, instants.MINUTE, instants.DAY, 40 * instants.DAY):
        found = slots.next_after(instants.MAX - back)
        assert found is None or instants.MAX - back < found <= instants.MAX
    assert slots.next_after(10**30) is None
    first = slots.next_after(-(10**30))
    assert first is not None
    assert first >= ANCHOR - 2 * instants.DAY


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "Pacific/Kiritimati"])
@pytest.mark.parametrize("start", [instants.MIN, instants.MAX])
def test_a_start_at_the_ends_of_the_calendar_is_one(start: int, zone: str) -> None:
    """Where the zone's clocks show a year that has no date."""
    assert calendar.parse("FREQ=DAILY", zone, start).next_after(instants.MAX) is None
    stamp = instants.render(start)[:19].replace("-", "").replace(":", "")
    slots = calendar.parse(f"DTSTART:{stamp}Z\nRRULE:FREQ=DAILY", zone, 0)
    assert slots.next_after(start + instants.DAY) in (None, *range(start, start + 3 * instants.DAY, instants.SECOND))


RULES = st.sampled_from(
    [
        "FREQ=MINUTELY",
        "FREQ=MINUTELY;INTERVAL=77",
        "FREQ=HOURLY",
        "FREQ=HOURLY;INTERVAL=5;BYMINUTE=10,50",
        "FREQ=DAILY;BYHOUR=0,1,2,3;BYMINUTE=0,30",
        "FREQ=WEEKLY;BYDAY=SU,SA;BYHOUR=2;BYSETPOS=-1",
        "FREQ=MONTHLY;BYDAY=-1SU;BYHOUR=2;BYMINUTE=15",
        "FREQ=YEARLY;BYWEEKNO=13,43;BYHOUR=1,2;BYMINUTE=45",
        "FREQ=DAILY;BYHOUR=2,3;BYMINUTE=15,45;COUNT=5000",
    ]
)
ZONES = st.sampled_from([PARIS, LORD_HOWE, SANTIAGO, "UTC", "Africa/Casablanca", "Antarctica/Troll"])


@settings(max_examples=150, deadline=None)
@given(RULES, ZONES, st.integers(at("2026-01-01T00:00Z"), at("2029-01-01T00:00Z")))
def test_next_times_strictly_increase_and_asking_just_before_one_gives_it(rule: str, zone: str, start: int) -> None:
    slots = calendar.parse(rule, zone, at("2026-01-01T12:00Z"))
    after = start
    for _ in range(4):
        found = slots.next_after(after)
        assert found is not None
        assert found > after
        assert slots.next_after(found - 1) == found
        assert slots.next_after((after + found) // 2) == found
        after = found
