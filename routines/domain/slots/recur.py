"""The text of a recurrence rule (RECUR, RFC 5545 section 3.3.10), read strictly into a frozen Rule.

Every part is taken but FREQ=SECONDLY, since no routine runs more than once a minute. A part that the RFC forbids beside
another, or that changes nothing, is refused rather than ignored.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from routines.domain.slots.refused import Refused
from schedules.domain import instants

Freq: TypeAlias = Literal["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MAX_COUNT = 100_000
MAX_LENGTH = 4_096

_FREQS = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")
_PART = re.compile(r"([A-Z0-9-]+)=([A-Z0-9,+-]+)")
_STAMP = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z?))?")
_BY_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_NUMBER = re.compile(r"[0-9]{1,9}")
_SIGNED = re.compile(r"[+-]?[0-9]{1,3}")

# What each list holds: the largest number, and whether the numbers start at 0, or count from the end if negative.
_LISTS = {
    "BYSECOND": (0, 60, False),
    "BYMINUTE": (0, 59, False),
    "BYHOUR": (0, 23, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYMONTH": (1, 12, False),
    "BYSETPOS": (1, 366, True),
}
_KNOWN = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_LISTS)

# The cells "N/A" of the RFC's table, and what to write in their place.
_NOT_WITH: dict[str, tuple[tuple[str, ...], str]] = {
    "BYWEEKNO": (("MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"), "use FREQ=YEARLY"),
    "BYYEARDAY": (("MONTHLY", "WEEKLY", "DAILY"), "use FREQ=YEARLY"),
    "BYMONTHDAY": (("WEEKLY",), "use FREQ=MONTHLY"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A DATE or DATE-TIME (RFC 5545 sections 3.3.4 and 3.3.5); a date alone is its midnight.

    wall: the reading, as the instant it would be in UTC, in milliseconds.
    utc: whether it ends in Z, and so is an instant whatever the zone.
    """

    wall: int
    utc: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One recurrence rule as it was written. A list is empty where its part is absent.

    freq: the unit of a period.
    interval: every how many units a period comes; 1 or more.
    count: how many occurrences there are, from 1 to MAX_COUNT; None for no end.
    until: the last moment that may be one; None for no end.
    wkst: the day on which weeks start; 0 is Monday.
    by_second: 59 stands for 60, and the list has one number at most.
    by_minute, by_hour, by_month: numbers as written.
    by_month_day, by_year_day, by_week: numbers; negative ones count from the end.
    by_day: the n-th such weekday and the weekday (0 is Monday); n is 0 for each such day, and negative from the end.
    by_set_pos: which of a period's occurrences are kept; negative numbers count from the end.
    """

    freq: Freq
    interval: int = 1
    count: int | None = None
    until: Stamp | None = None
    wkst: int = 0
    by_second: tuple[int, ...] = ()
    by_minute: tuple[int, ...] = ()
    by_hour: tuple[int, ...] = ()
    by_day: tuple[tuple[int, int], ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_year_day: tuple[int, ...] = ()
    by_week: tuple[int, ...] = ()
    by_month: tuple[int, ...] = ()
    by_set_pos: tuple[int, ...] = ()


def parse(text: str) -> Rule:
    """The rule of a RECUR value such as `FREQ=MONTHLY;BYMONTHDAY=-1`, in any letter case. Raises Refused."""
    parts = _split(text)
    freq = _freq(parts)
    _check_together(parts, freq)
    numbers = {name: _numbers(name, parts[name]) for name in _LISTS if name in parts}
    return Rule(
        freq=freq,
        interval=_number(parts, "INTERVAL", 999_999_999) or 1,
        count=_number(parts, "COUNT", MAX_COUNT),
        until=_until(parts),
        wkst=_wkst(parts),
        by_second=_seconds(numbers.get("BYSECOND", ())),
        by_minute=numbers.get("BYMINUTE", ()),
        by_hour=numbers.get("BYHOUR", ()),
        by_day=_by_day(parts, freq),
        by_month_day=numbers.get("BYMONTHDAY", ()),
        by_year_day=numbers.get("BYYEARDAY", ()),
        by_week=numbers.get("BYWEEKNO", ()),
        by_month=numbers.get("BYMONTH", ()),
        by_set_pos=numbers.get("BYSETPOS", ()),
    )


def parse_stamp(text: str) -> Stamp | None:
    """The moment of `YYYYMMDD`, `YYYYMMDDTHHMMSS` or the latter with `Z`; None for any other text."""
    match = _STAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, zulu = match.groups(default="")
    wall = instants.parse_wall(f"{year}-{month}-{day}", f"{hour or '00'}:{minute or '00'}:{second or '00'}")
    return None if wall is None else Stamp(wall=wall, utc=bool(zulu))


def _split(text: str) -> dict[str, str]:
    if len(text) > MAX_LENGTH:
        raise _refused(f"the rule is longer than {MAX_LENGTH} characters: leave out numbers that say nothing.")
    # upper() alone would let the long s of old print pass for an S.
    if not text.isascii():
        raise _refused("a rule has ASCII characters only, such as FREQ=WEEKLY;BYDAY=MO,WE.")
    parts: dict[str, str] = {}
    for part in text.upper().split(";"):
        match = _PART.fullmatch(part)
        if match is None:
            raise _refused(
                "a rule is NAME=value pairs with one ; between them and no blanks, such as FREQ=WEEKLY;BYDAY=MO,WE."
            )
        name, value = match.groups()
        if name not in _KNOWN:
            raise _refused(f"{name} is not a part of RFC 5545: the parts are {', '.join(_KNOWN)}.")
        if name in parts:
            raise _refused(f"{name} is there twice: write it once, with all its values in one list.")
        parts[name] = value
    return parts


def _freq(parts: dict[str, str]) -> Freq:
    value = parts.get("FREQ")
    if value is None:
        raise _refused(f"FREQ is missing: start with FREQ= and one of {', '.join(_FREQS)}.")
    if value == "SECONDLY":
        raise _refused(
            "FREQ=SECONDLY is too often: a calendar's shortest period is a minute, FREQ=MINUTELY; kind interval goes "
            "down to every: 5s."
        )
    if value not in _FREQS:
        raise _refused(f"FREQ must be one of {', '.join(_FREQS)}.")
    return cast(Freq, value)


def _check_together(parts: dict[str, str], freq: str) -> None:
    if "COUNT" in parts and "UNTIL" in parts:
        raise _refused("COUNT and UNTIL both say when to stop: write one of them.")
    for name, (freqs, instead) in _NOT_WITH.items():
        if name in parts and freq in freqs:
            raise _refused(f"{name} has no meaning with FREQ={freq}: {instead}.")
    if "BYSETPOS" in parts and not any(name.startswith("BY") and name != "BYSETPOS" for name in parts):
        raise _refused("BYSETPOS picks from what another BY part gives: add one, such as BYDAY=MO,TU,WE,TH,FR.")


def _number(parts: dict[str, str], name: str, largest: int) -> int | None:
    value = parts.get(name)
    if value is None:
        return None
    number = int(value) if _NUMBER.fullmatch(value) else 0
    if not 1 <= number <= largest:
        raise _refused(f"{name} must be a whole number from 1 to {largest}.")
    return number


def _until(parts: dict[str, str]) -> Stamp | None:
    value = parts.get("UNTIL")
    if value is None:
        return None
    stamp = parse_stamp(value)
    if stamp is None:
        raise _refused(
            "UNTIL must be a real date or date and time, such as 20301231, 20301231T235959 in the routine's zone, or "
            "20301231T235959Z in UTC."
        )
    return stamp


def _wkst(parts: dict[str, str]) -> int:
    value = parts.get("WKST", "MO")
    if value not in WEEKDAYS:
        raise _refused(f"WKST must be one of {', '.join(WEEKDAYS)}.")
    return WEEKDAYS.index(value)


def _numbers(name: str, value: str) -> tuple[int, ...]:
    low, high, from_end = _LISTS[name]
    pattern = _SIGNED if from_end else _NUMBER

    def read(item: str) -> int:
        number = int(item) if pattern.fullmatch(item) else high + 1
        if not low <= (abs(number) if from_end else number) <= high:
            negative = f", or -{low} to -{high} from the end" if from_end else ""
            raise _refused(f"{name} takes numbers from {low} to {high}{negative}, with commas between them.")
        return number

    return tuple(read(item) for item in value.split(","))


def _seconds(seconds: tuple[int, ...]) -> tuple[int, ...]:
    # The RFC's own advice for systems without leap seconds.
    real = tuple(sorted({min(second, 59) for second in seconds}))
    if len(real) > 1:
        raise _refused(
            "BYSECOND takes one number here: a calendar's shortest period is a minute; kind interval goes down to "
            "every: 5s."
        )
    return real


def _by_day(parts: dict[str, str], freq: str) -> tuple[tuple[int, int], ...]:
    def read(item: str) -> tuple[int, int]:
        match = _BY_DAY.fullmatch(item)
        ordinal = int(match[1] or 0) if match else 0
        if match is None or (match[1] and not 1 <= abs(ordinal) <= 53):
            raise _refused(
                "BYDAY takes MO, TU, WE, TH, FR, SA and SU, each perhaps with a number from 1 to 53 or -1 to -53 "
                "before it (1MO, -1FR), with commas between them."
            )
        if ordinal and freq not in ("MONTHLY", "YEARLY"):
            raise _refused(
                f"BYDAY={item} means a weekday of a month or year: use FREQ=MONTHLY or FREQ=YEARLY, or write "
                f"{match[2]}."
            )
        return ordinal, WEEKDAYS.index(match[2])

    return tuple(read(item) for item in parts["BYDAY"].split(",")) if "BYDAY" in parts else ()


def _refused(message: str) -> Refused:
    return Refused(f"rrule: {message}", "rrule")
