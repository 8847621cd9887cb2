"""Which days of a year a rule's BY parts allow, as bits: bit 0 is 1 January.

There are only a few shapes of a year (leap or not, and the weekday it starts on), so that one rule needs a few dozen
masks for all years, and a search over centuries is a look-up and a few operations on integers for each year.
"""

import calendar
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from routines.domain.slots.recur import Rule

LONGEST = 366

_WEEKS = sum(1 << 7 * week for week in range(54))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """All that a year's calendar depends on.

    length: its days.
    length_before, length_after: those of its neighbours, whose weeks reach into it.
    weekday: that of 1 January; 0 is Monday.
    """

    length: int
    length_before: int
    length_after: int
    weekday: int


@lru_cache(maxsize=1_024)
def shape(year: int) -> Shape:
    """The shape of a year from 1 to 9999."""
    return Shape(
        length=_length(year),
        length_before=_length(year - 1),
        length_after=_length(year + 1),
        weekday=date(year, 1, 1).weekday(),
    )


def months(length: int) -> list[tuple[int, int]]:
    """The index of each month's first day, and its days, in a year of `length` days."""
    days = [31, length - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return [(sum(days[:month]), days[month]) for month in range(12)]


def span(start: int, end: int) -> int:
    """The bits from `start` up to, but without, `end`; what is below 0 is left out."""
    return ((1 << max(end, 0)) - 1) & -(1 << max(start, 0))


def allowed(rule: Rule, year: Shape) -> int:
    """The days of a year of this shape that pass all of the rule's BY parts for days.

    RFC 5545 says for each part and frequency whether it expands or limits (section 3.3.10, the table). Where a period
    is taken to hold all its days at first, both are one: a day counts if it passes every part that is there.
    """
    mask = span(0, year.length)
    if rule.by_month:
        mask &= _by_month(rule.by_month, year)
    if rule.by_week:
        mask &= _by_week(rule.by_week, rule.wkst, year)
    if rule.by_year_day:
        mask &= _picked(rule.by_year_day, 0, year.length)
    if rule.by_month_day:
        mask &= _union(_picked(rule.by_month_day, start, days) for start, days in months(year.length))
    plain = [weekday for ordinal, weekday in rule.by_day if not ordinal]
    if plain:
        mask &= _union(_WEEKS << (weekday - year.weekday) % 7 for weekday in plain)
    counted = [(ordinal, weekday) for ordinal, weekday in rule.by_day if ordinal]
    if counted:
        # A list that mixes both, such as WE,1MO, allows the days that pass both, and so hardly ever any: the recorded
        # answers, tests/vectors/rrule.jsonl, have it so, where the RFC's text rather means the sum of the two.
        within_months = rule.freq == "MONTHLY" or bool(rule.by_month)
        spans = months(year.length) if within_months else [(0, year.length)]
        mask &= _union(_nth(ordinal, weekday, span, year) for ordinal, weekday in counted for span in spans)
    return mask


def _by_month(numbers: tuple[int, ...], year: Shape) -> int:
    spans = months(year.length)
    return _union(span(spans[month - 1][0], sum(spans[month - 1])) for month in numbers)


def _by_week(numbers: tuple[int, ...], wkst: int, year: Shape) -> int:
    # Week 1 is the first with four days in its year; a day next to the New Year may lie in a neighbour's week.
    before = (year.weekday - year.length_before) % 7
    after = (year.weekday + year.length) % 7
    first = _first_week(year.weekday, wkst)
    starts = [
        -year.length_before + _first_week(before, wkst),
        first,
        year.length + _first_week(after, wkst),
        year.length + year.length_after + _first_week((after + year.length_after) % 7, wkst),
    ]
    mask = 0
    for start, following in itertools.pairwise(starts):
        weeks = (following - start) // 7
        for number in numbers:
            index = _index(number, weeks)
            if index is not None:
                mask |= span(start + 7 * index, start + 7 * index + 7)
    return mask


def _first_week(weekday: int, wkst: int) -> int:
    """The index of the first day of week 1 in a year that starts on `weekday`, from -3 to 3."""
    into_year = (wkst - weekday) % 7
    return into_year if into_year < 4 else into_year - 7


def _nth(ordinal: int, weekday: int, within: tuple[int, int], year: Shape) -> int:
    start, days = within
    first = (weekday - year.weekday - start) % 7
    index = _index(ordinal, (days - first + 6) // 7)
    return 0 if index is None else 1 << start + first + 7 * index


def _picked(numbers: tuple[int, ...], start: int, days: int) -> int:
    indexes = (_index(number, days) for number in numbers)
    return _union(1 << start + index for index in indexes if index is not None)


def _index(number: int, size: int) -> int | None:
    """The place from 0 of the n-th of `size` things, of a negative n from the end; None where there is none."""
    index = number - 1 if number > 0 else size + number
    return index if 0 <= index < size else None


def _union(masks: Iterable[int]) -> int:
    total = 0
    for mask in masks:
        total |= mask
    return total


def _length(year: int) -> int:
    return 366 if calendar.isleap(year) else 365
