"""The days that BY parts allow, against asking `datetime.date` about each."""

from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from routines.domain.slots import recur, yeardays

YEARS = st.integers(1971, 2400)


def chosen(rule: recur.Rule, year: int) -> list[date]:
    mask = yeardays.allowed(rule, yeardays.shape(year))
    assert mask >> yeardays.shape(year).length == 0
    return [date(year, 1, 1) + timedelta(days=index) for index in range(366) if mask >> index & 1]


def days(year: int) -> list[date]:
    first = date(year, 1, 1)
    return [first + timedelta(days=index) for index in range((date(year + 1, 1, 1) - first).days)]


@given(YEARS, st.integers(1, 53))
def test_weeks_that_start_on_monday_are_those_of_iso_8601(year: int, week: int) -> None:
    rule = recur.Rule(freq="YEARLY", by_week=(week,))
    assert chosen(rule, year) == [day for day in days(year) if day.isocalendar().week == week]


@given(YEARS, st.integers(1, 53))
def test_negative_weeks_count_from_the_last_of_the_days_own_week_year(year: int, back: int) -> None:
    rule = recur.Rule(freq="YEARLY", by_week=(-back,))

    def weeks(week_year: int) -> int:
        return date(week_year, 12, 28).isocalendar().week

    expected = [day for day in days(year) if weeks(day.isocalendar().year) + 1 - day.isocalendar().week == back]
    assert chosen(rule, year) == expected


@given(YEARS, st.integers(0, 6))
def test_week_one_is_the_first_with_four_days_whatever_day_weeks_start_on(year: int, wkst: int) -> None:
    week = chosen(recur.Rule(freq="YEARLY", by_week=(1,), wkst=wkst), year)
    early = [day for day in week if day.month == 1]
    assert 4 <= len(early) <= 7
    assert date(year, 1, 4) in early
    assert len(early) == 7 or early[0] == date(year, 1, 1)
    assert len(early) < 7 or early[0].weekday() == wkst


@settings(max_examples=60)
@given(YEARS, st.sampled_from([n for n in range(-31, 32) if n]), st.sampled_from([n for n in range(-366, 367) if n]))
def test_numbers_of_days_count_from_both_ends(year: int, month_day: int, year_day: int) -> None:
    all_days = days(year)

    def of_month(day: date) -> int:
        last = max(other.day for other in all_days if other.month == day.month)
        return day.day if month_day > 0 else day.day - last - 1

    assert chosen(recur.Rule(freq="YEARLY", by_year_day=(year_day,)), year) == (
        [all_days[year_day - 1 if year_day > 0 else year_day]] if abs(year_day) <= len(all_days) else []
    )
    by_month = recur.Rule(freq="MONTHLY", by_month_day=(month_day,), by_month=(2, 4, 12))
    assert chosen(by_month, year) == [day for day in all_days if day.month in (2, 4, 12) and of_month(day) == month_day]


@settings(max_examples=60)
@given(YEARS, st.sampled_from([n for n in range(-6, 7) if n]), st.integers(0, 6))
def test_the_nth_weekday_is_of_the_month_or_where_no_month_is_named_of_the_year(
    year: int, nth: int, weekday: int
) -> None:
    index = nth - 1 if nth > 0 else nth
    matching = [day for day in days(year) if day.weekday() == weekday]
    of_months = [[day for day in matching if day.month == month] for month in range(1, 13)]
    expected = [month[index] for month in of_months if -len(month) <= index < len(month)]
    assert chosen(recur.Rule(freq="MONTHLY", by_day=((nth, weekday),)), year) == expected
    in_months = recur.Rule(freq="YEARLY", by_day=((nth, weekday),), by_month=tuple(range(1, 13)))
    assert chosen(in_months, year) == expected
    assert chosen(recur.Rule(freq="YEARLY", by_day=((nth, weekday),)), year) == [matching[index]]


def test_there_are_few_shapes_of_years() -> None:
    assert len({yeardays.shape(year) for year in range(2, 9999)}) <= 40
