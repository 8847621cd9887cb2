"""Cron in zones: the recorded answers, and the faults that users reported of others, each with its right value."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines.domain.slots import cron
from schedules.domain import instants
from tests.routines.domain.slots.times import at, following
from tests.schedules.domain import vectors

PARIS, BERLIN, LORD_HOWE, SANTIAGO = "Europe/Paris", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"


def test_every_recorded_expression_gives_its_recorded_times() -> None:
    def answer(row: dict[str, str]) -> list[str | None]:
        return following(cron.parse(row["cron"], row["timezone"]), row["after"], len(row["ok"]))

    assert vectors.rows("cron")
    assert vectors.differences("cron", answer) == []


def test_two_restricted_day_fields_are_an_or() -> None:
    slots = cron.parse("0 0 13 * 5", "UTC")
    assert following(slots, "2026-12-01T00:00Z", 4) == [
        "2026-12-04T00:00Z",
        "2026-12-11T00:00Z",
        "2026-12-13T00:00Z",
        "2026-12-18T00:00Z",
    ]


def test_a_day_field_that_begins_with_a_star_is_no_restriction() -> None:
    odd_mondays = following(cron.parse("0 0 */2 * 1", "UTC"), "2026-12-01T00:00Z", 3)
    assert odd_mondays == ["2026-12-07T00:00Z", "2026-12-21T00:00Z", "2027-01-11T00:00Z"]


@pytest.mark.parametrize("day", ["7", "0", "SUN", "sun"])
def test_seven_is_sunday(day: str) -> None:
    assert following(cron.parse(f"0 0 * * {day}", "UTC"), "2026-12-01T00:00Z", 1) == ["2026-12-06T00:00Z"]


def test_a_range_may_end_at_sunday_by_name() -> None:
    slots = cron.parse("0 0 * * FRI-SUN", "UTC")
    assert slots.expression == "0 0 * * 5-7"
    assert following(slots, "2026-12-03T00:00Z", 4) == [
        "2026-12-04T00:00Z",
        "2026-12-05T00:00Z",
        "2026-12-06T00:00Z",
        "2026-12-11T00:00Z",
    ]


def test_the_leap_day_steps_over_a_century_without_one() -> None:
    assert following(cron.parse("0 0 29 2 *", "UTC"), "2096-03-01T00:00Z", 1) == ["2104-02-29T00:00Z"]


def test_the_rarest_expression_is_found_forty_years_ahead() -> None:
    assert following(cron.parse("0 0 29 2 */7", "UTC"), "2088-03-01T00:00Z", 1) == ["2128-02-29T00:00Z"]


def test_a_fixed_time_in_a_gap_fires_once_right_after_it() -> None:
    slots = cron.parse("30 2 * * *", BERLIN)
    assert following(slots, "2026-03-28T01:30Z", 2) == ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]


def test_many_fixed_times_in_a_gap_fire_once_together() -> None:
    slots = cron.parse("0-59 2,3 * * *", PARIS)
    assert following(slots, "2026-03-28T02:59Z", 3) == ["2026-03-29T01:00Z", "2026-03-29T01:01Z", "2026-03-29T01:02Z"]


def test_a_fixed_time_in_an_overlap_fires_once_at_the_first() -> None:
    slots = cron.parse("30 2 * * *", PARIS)
    assert following(slots, "2026-10-24T00:30Z", 2) == ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]


def test_asked_inside_an_overlaps_second_half_the_answer_is_not_in_the_past() -> None:
    assert following(cron.parse("30 2 * * *", PARIS), "2026-10-25T01:00Z", 1) == ["2026-10-26T01:30Z"]
    assert following(cron.parse("0-59 2 * * *", PARIS), "2026-10-25T01:00Z", 1) == ["2026-10-26T01:00Z"]


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_an_hourly_job_fires_every_elapsed_hour(day: str) -> None:
    slots = cron.parse("0 * * * *", BERLIN)
    assert following(slots, f"{day}T00:30+00:00", 3) == [f"{day}T01:00Z", f"{day}T02:00Z", f"{day}T03:00Z"]


def test_a_star_in_the_minute_skips_a_gap_and_repeats_in_an_overlap() -> None:
    slots = cron.parse("*/30 2 * * *", PARIS)
    assert following(slots, "2026-03-28T01:30Z", 1) == ["2026-03-30T00:00Z"]
    assert following(slots, "2026-10-24T12:00Z", 5) == [
        "2026-10-25T00:00Z",
        "2026-10-25T00:30Z",
        "2026-10-25T01:00Z",
        "2026-10-25T01:30Z",
        "2026-10-26T01:00Z",
    ]


def test_a_shift_of_half_an_hour_loses_nothing_of_the_morning_after() -> None:
    slots = cron.parse("*/3 9 * 10 0-4/3", LORD_HOWE)
    assert following(slots, "2026-10-03T14:00Z", 10) == [f"2026-10-03T22:{minute:02}Z" for minute in range(0, 30, 3)]


def test_a_fixed_time_in_half_an_hours_gap_fires_at_its_end() -> None:
    assert following(cron.parse("15 2 * * *", LORD_HOWE), "2026-10-02T16:00Z", 2) == [
        "2026-10-03T15:30Z",
        "2026-10-04T15:15Z",
    ]


def test_a_midnight_that_does_not_exist_fires_when_the_day_begins() -> None:
    expected = ["2026-09-05T04:00Z", "2026-09-06T04:00Z", "2026-09-07T03:00Z"]
    assert following(cron.parse("0 0 * * *", SANTIAGO), "2026-09-04T12:00Z", 3) == expected
    assert following(cron.parse("0 * * * *", SANTIAGO), "2026-09-06T02:30Z", 3) == [
        "2026-09-06T03:00Z",
        "2026-09-06T04:00Z",
        "2026-09-06T05:00Z",
    ]


def test_a_weekday_is_tested_in_the_routines_zone() -> None:
    # Monday 08:00 in Auckland is Sunday in UTC.
    assert following(cron.parse("0 8 * * 1", "Pacific/Auckland"), "2026-12-01T00:00Z", 1) == ["2026-12-06T19:00Z"]


def test_a_monthly_time_fires_once_in_the_month_of_a_change() -> None:
    slots = cron.parse("30 2 25 * *", PARIS)
    assert following(slots, "2026-09-26T00:00Z", 2) == ["2026-10-25T00:30Z", "2026-11-25T01:30Z"]


@pytest.mark.parametrize("zone", ["UTC", PARIS, "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("expression", ["* * * * *", "0 0 1 1 *", "30 23 31 12 *", "0 0 29 2 *"])
def test_the_year_9999_ends_as_never(zone: str, expression: str) -> None:
    slots = cron.parse(expression, zone)
    for back in (0, 1, instants.MINUTE, instants.DAY, 40 * instants.DAY):
        found = slots.next_after(instants.MAX - back)
        assert found is None or instants.MAX - back < found <= instants.MAX
    assert slots.next_after(instants.MAX) is None
    assert slots.next_after(10**30) is None
    assert slots.next_after(-(10**30)) is not None


def test_what_only_a_gap_would_hold_never_fires_and_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = cron.parse("* 2 8-14 3 */7", "America/New_York")
    searches = 0
    real = cron.Cron._match_after

    def counted(self: cron.Cron, wall: int) -> int | None:
        nonlocal searches
        searches += 1
        return real(self, wall)

    monkeypatch.setattr(cron.Cron, "_match_after", counted)
    assert slots.next_after(at("2026-12-01T00:00Z")) is None
    assert searches <= 400


EXPRESSIONS = st.tuples(
    st.sampled_from(["*", "0", "*/7", "30", "0-59", "15,45", "59"]),
    st.sampled_from(["*", "0", "1-3", "*/5", "2", "23", "0-23"]),
    st.sampled_from(["*", "1", "*/2", "29", "25-31"]),
    st.sampled_from(["*", "2", "3,10", "*/5"]),
    st.sampled_from(["*", "0", "1-5", "*/2"]),
).map(" ".join)
ZONES = st.sampled_from([PARIS, LORD_HOWE, SANTIAGO, "UTC", "Africa/Casablanca", "Asia/Kolkata", "Pacific/Apia"])


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, ZONES, st.integers(at("2011-12-29T00:00Z"), at("2032-01-01T00:00Z")))
def test_next_times_strictly_increase_and_asking_just_before_one_gives_it(text: str, zone: str, start: int) -> None:
    slots = cron.parse(text, zone)
    after = start
    for _ in range(4):
        found = slots.next_after(after)
        assert found is not None
        assert found > after
        assert found % instants.MINUTE == 0
        assert slots.next_after(found - 1) == found
        assert slots.next_after((after + found) // 2) == found
        after = found
