"""Where a rule's occurrences lie on the clock: RFC 5545 section 3.3.10, evaluated in bounded work.

Readings are counted in minutes from the start of day 0 of `date.toordinal`, without a zone: `calendar` turns them into
instants. Of each year, the days that may have occurrences are the bits of one integer (`yeardays`, `cycles`), and of
each day the minutes are those of another, so that a search takes a few operations for each year without any.

The search ends HORIZON years after it starts. The Gregorian calendar repeats after 400 years, weekdays included, so a
rule with INTERVAL=1 that has nothing in so many years has nothing ever; one with a longer interval may, in a year that
no routine will see.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, date

from routines.domain.slots import cycles, yeardays
from routines.domain.slots.recur import Rule
from schedules.domain import instants

HORIZON = 400

DAY = 24 * 60  # in minutes, as everything here
_FIRST_DAY = date(1970, 1, 1).toordinal()
_LAST_DAY = date.max.toordinal()
_END = _LAST_DAY * DAY + DAY - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stride:
    """Which minutes of a day FREQ=HOURLY or MINUTELY reaches, where that differs between days.

    first: the first minute of the start's hour or minute.
    every: from one period to the next.
    pattern: the minutes of the periods that begin within one day, if the first begins with the day; bit 0 is midnight.
    """

    first: int
    every: int
    pattern: int

    def reached(self, day: int) -> int:
        """The minutes of the day, as bits; some lie beyond its end."""
        skipped = (self.first - day * DAY) % self.every
        return self.pattern << skipped if skipped < DAY else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A rule together with its start.

    rule: as `_completed` leaves it.
    start_year, start_month: of the start's date; the month from 1.
    earliest: the first minute that may be an occurrence.
    second: the second of every occurrence.
    times: the minutes of a day that the rule allows; bit 0 is midnight.
    stride: which of them count on which day; None where they all do on every day.
    cycle: the days that the interval reaches; None where it counts years or months.
    positions: BYSETPOS, where a period is a week or longer; in shorter ones it only chooses among `times`.
    """

    rule: Rule
    start_year: int
    start_month: int
    earliest: int
    second: int
    times: int
    stride: Stride | None
    cycle: cycles.Cycle | None
    positions: tuple[int, ...]
    # A memo, not a part of the value: filled as years are asked for, always with the same masks.
    _allowed: dict[yeardays.Shape, int] = field(default_factory=dict, repr=False, compare=False)

    def first(self, low: int, high: int) -> int | None:
        """The first occurrence from minute `low` to minute `high`, ends included; None for none within HORIZON."""
        low = max(low, self.earliest)
        if low > high:
            return None
        for year in _years(low, high):
            for base, minutes in self._blocks(year, low):
                found = base + _lowest(minutes)
                return found if found <= high else None
        return None

    def nth(self, count: int) -> int | None:
        """The occurrence with this number, of which the first is 1; None where HORIZON years hold fewer."""
        times = self.times.bit_count()
        for year in _years(self.earliest, _END):
            if not self.positions and not self.stride and year > self.start_year:
                whole_year = self.days(year).bit_count() * times
                if whole_year < count:
                    count -= whole_year
                    continue
            for base, minutes in self._blocks(year, self.earliest):
                size = minutes.bit_count()
                if count <= size:
                    return base + _bits(minutes)[count - 1]
                count -= size
        return None

    def days(self, year: int) -> int:
        """The days of the year that may have occurrences, as bits; bit 0 is 1 January."""
        rule = self.rule
        if not self.times or year > MAXYEAR:
            return 0
        if rule.freq == "YEARLY" and (year - self.start_year) % rule.interval:
            return 0
        shape = yeardays.shape(year)
        mask = self._allowed.get(shape)
        if mask is None:
            mask = self._allowed[shape] = yeardays.allowed(rule, shape)
        if mask and rule.freq == "MONTHLY" and rule.interval > 1:
            mask &= self._months(year, shape)
        if mask and self.cycle is not None:
            mask &= self.cycle.mask(_new_year(year), shape.length)
        return mask

    def _months(self, year: int, shape: yeardays.Shape) -> int:
        skipped = (year - self.start_year) * 12 + 1 - self.start_month
        reached = 0
        for month, (start, days) in enumerate(yeardays.months(shape.length)):
            if (skipped + month) % self.rule.interval == 0:
                reached |= yeardays.span(start, start + days)
        return reached

    def _blocks(self, year: int, low: int) -> Iterator[tuple[int, int]]:
        """The occurrences of a year that are not before minute `low`, in order: a minute, and bits from it on."""
        if self.positions:
            for minute in self._picks(year):
                if minute >= low:
                    yield minute, 1
            return
        new_year = _new_year(year)
        left = self.days(year) & yeardays.span(low // DAY - new_year, yeardays.LONGEST)
        while left:
            index = _lowest(left)
            left &= left - 1
            base = (new_year + index) * DAY
            minutes = self.times if self.stride is None else self.times & self.stride.reached(new_year + index)
            if low > base:
                minutes &= -1 << low - base
            if minutes:
                yield base, minutes

    def _picks(self, year: int) -> Iterator[int]:
        times = _bits(self.times)
        for first_day, mask in self._periods(year):
            size = mask.bit_count() * len(times)
            # Positions count from the period's start, even where it lies before the rule's own.
            chosen = _choose(self.positions, size)
            if chosen:
                days = _bits(mask)
                for place in chosen:
                    day, time = divmod(place, len(times))
                    yield (first_day + days[day]) * DAY + times[time]

    def _periods(self, year: int) -> Iterator[tuple[int, int]]:
        """The weeks, months or the year that begin in a year: the first day, and the days that count, as bits."""
        new_year, mask = _new_year(year), self.days(year)
        length = yeardays.shape(year).length
        if self.rule.freq == "YEARLY":
            yield new_year, mask
        elif self.rule.freq == "MONTHLY":
            for start, days in yeardays.months(length):
                yield new_year + start, mask >> start & yeardays.span(0, days)
        else:
            mask |= self.days(year + 1) << length
            for start in range((self.rule.wkst - yeardays.shape(year).weekday) % 7, length, 7):
                yield new_year + start, mask >> start & yeardays.span(0, 7)


def plan(rule: Rule, start: int) -> Recurrence:
    """The occurrences of a rule from a start: a reading of the clock, as the instant it would be in UTC.

    The start is one of them only where the rule matches it. It gives the parts that the rule leaves open.
    """
    seconds = start // instants.SECOND
    day = _FIRST_DAY + seconds // (DAY * 60)
    minute, second = divmod(seconds % (DAY * 60), 60)
    begin = date.fromordinal(day)
    rule = _completed(rule, begin, *divmod(minute, 60))
    hours, minutes = list(rule.by_hour or range(24)), list(rule.by_minute or range(60))
    if rule.by_set_pos and rule.freq == "HOURLY":
        minutes = _chosen(rule, sorted(set(minutes)))
    elif rule.by_set_pos and rule.freq == "MINUTELY":
        minutes = minutes if _choose(rule.by_set_pos, 1) else []
    times = sorted({60 * hour + minute for hour in hours for minute in minutes})
    if rule.by_set_pos and rule.freq == "DAILY":
        times = _chosen(rule, times)
    own_second = rule.by_second[0] if rule.by_second else second
    return Recurrence(
        rule=rule,
        start_year=begin.year,
        start_month=begin.month,
        earliest=day * DAY + minute + (own_second < second),
        second=own_second,
        times=sum(1 << time for time in times),
        stride=_stride(rule, day * DAY + minute),
        cycle=_cycle(rule, day, day * DAY + minute, times),
        positions=rule.by_set_pos if rule.freq in ("YEARLY", "MONTHLY", "WEEKLY") else (),
    )


def _completed(rule: Rule, begin: date, hour: int, minute: int) -> Rule:
    """The rule with what RFC 5545 takes from the start: the day, unless a part for days is there, and the time.

    BYWEEKNO without BYDAY keeps all seven days of its weeks, as the recorded answers have it.
    """
    if not (rule.by_week or rule.by_year_day or rule.by_month_day or rule.by_day):
        if rule.freq == "YEARLY":
            rule = replace(rule, by_month=rule.by_month or (begin.month,), by_month_day=(begin.day,))
        elif rule.freq == "MONTHLY":
            rule = replace(rule, by_month_day=(begin.day,))
        elif rule.freq == "WEEKLY":
            rule = replace(rule, by_day=((0, begin.weekday()),))
    if rule.freq not in ("HOURLY", "MINUTELY"):
        rule = replace(rule, by_hour=rule.by_hour or (hour,))
    if rule.freq != "MINUTELY":
        rule = replace(rule, by_minute=rule.by_minute or (minute,))
    return rule


def _cycle(rule: Rule, day: int, minute: int, times: list[int]) -> cycles.Cycle | None:
    match rule.freq:
        case "WEEKLY":
            week = day - (day - 1 - rule.wkst) % 7  # day 1 was a Monday
            length = 7 * rule.interval
            return cycles.make(length, {(week + place) % length for place in range(7)})
        case "DAILY":
            return cycles.of_units(day, rule.interval, 1, {0})
        case "HOURLY":
            return cycles.of_units(minute // 60, rule.interval, 24, {time // 60 for time in times})
        case "MINUTELY":
            return cycles.of_units(minute, rule.interval, DAY, set(times))
    return None


def _stride(rule: Rule, minute: int) -> Stride | None:
    if rule.freq not in ("HOURLY", "MINUTELY") or rule.interval == 1:
        return None
    unit = 60 if rule.freq == "HOURLY" else 1
    every = rule.interval * unit
    pattern = sum(((1 << unit) - 1) << start for start in range(0, DAY, every))
    return Stride(first=minute - minute % unit, every=every, pattern=pattern)


def _chosen(rule: Rule, items: list[int]) -> list[int]:
    return [items[place] for place in _choose(rule.by_set_pos, len(items))]


def _choose(positions: tuple[int, ...], size: int) -> list[int]:
    """The places from 0 of BYSETPOS among so many occurrences, in order."""
    places = {position - 1 if position > 0 else size + position for position in positions}
    return sorted(place for place in places if 0 <= place < size)


def _years(low: int, high: int) -> range:
    # A week that began in the old year may hold occurrences of the new one.
    first, last = _year(low - 6 * DAY), _year(high)
    return range(first, min(last, first + HORIZON) + 1)


def _year(minute: int) -> int:
    return date.fromordinal(min(max(minute // DAY, 1), _LAST_DAY)).year


def _new_year(year: int) -> int:
    return date(year, 1, 1).toordinal()


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _bits(bits: int) -> list[int]:
    found = []
    while bits:
        found.append(_lowest(bits))
        bits &= bits - 1
    return found
