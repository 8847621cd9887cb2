"""Cron against the plainest oracle there is: every minute of some days, one after the other."""

import random
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from routines.domain.slots import cron
from tests.routines.domain.slots.times import EPOCH, show

# The day of a change of clocks in each, and one zone that has none.
CHANGES = [
    ("Europe/Paris", "2026-03-29"),
    ("Europe/Paris", "2026-10-25"),
    ("Europe/London", "2027-10-31"),
    ("America/New_York", "2026-03-08"),
    ("America/St_Johns", "2026-11-01"),
    ("America/Santiago", "2026-09-06"),
    ("America/Santiago", "2027-04-04"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Australia/Lord_Howe", "2027-04-04"),
    ("Asia/Beirut", "2026-03-29"),
    ("Africa/Cairo", "2026-10-30"),
    ("Pacific/Auckland", "2026-09-27"),
    ("Antarctica/Troll", "2026-03-29"),
    ("Atlantic/Azores", "2026-03-29"),
    ("Asia/Kolkata", "2026-06-01"),
]
MINUTE = timedelta(minutes=1)
RANGES = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]


def test_a_thousand_expressions_fire_in_exactly_the_minutes_that_a_scan_finds() -> None:
    draw = random.Random(20261201)
    fired = 0
    for number in range(1000):
        zone, day = CHANGES[number % len(CHANGES)]
        text = expression(draw)
        first, last, _ = window(zone, day)
        found = [show(slot) for slot in cron.parse(text, zone).between(first, last, 10_000)]
        assert found == scan(text, zone, day), (text, zone, day)
        fired += len(found)
    assert fired > 20_000


def expression(draw: random.Random) -> str:
    """A random expression that mostly fires within days, with its busiest hours at night, when clocks change."""
    minute = draw.choice(["*", "*/20", "*/7", "0", "30", "15,45", "10-50/20", str(draw.randrange(60)), "*/25,3"])
    hour = draw.choice(["*", "*/2", "*/5", "0", "1", "2", "3", "1-3", "0,2,9", "23", "0-8/2", str(draw.randrange(24))])
    day = draw.choice(["*", "*", "*", "*/2", "*/3", str(draw.randint(1, 28)), "24-31", "1-9"])
    month = draw.choice(["*", "*", "*", "3-11", "*/2", str(draw.randint(3, 11))])
    weekday = draw.choice(["*", "*", "*", "0", "7", "1-5", "*/2", "5-7", str(draw.randrange(7))])
    return " ".join((minute, hour, day, month, weekday))


def scan(text: str, zone: str, day: str) -> list[str | None]:
    """The minutes of the window in which Debian's cron would start the job."""
    parts = text.split()
    minutes, hours, days, months, weekdays = (values(*pair) for pair in zip(parts, RANGES, strict=True))
    both = parts[2].startswith("*") or parts[4].startswith("*")

    def matches(wall: datetime) -> bool:
        if wall.minute not in minutes or wall.hour not in hours or wall.month not in months:
            return False
        by_date, by_weekday = wall.day in days, bool({wall.isoweekday(), wall.isoweekday() % 7} & weekdays)
        return (by_date and by_weekday) if both else (by_date or by_weekday)

    first, _, readings = window(zone, day)
    if parts[0].startswith("*") or parts[1].startswith("*"):
        return [show(instant) for instant, wall in readings if instant > first and matches(wall)]
    fires: set[int] = set()
    latest = readings[0][1]
    for instant, wall in readings[1:]:
        # All readings that are new at this minute: several after a gap, none in the second half of an overlap.
        while latest < wall:
            latest += MINUTE
            if matches(latest):
                fires.add(instant)
    return [show(instant) for instant in sorted(fires)]


def values(text: str, limits: tuple[int, int]) -> set[int]:
    found: set[int] = set()
    for item in text.split(","):
        body, _, step = item.partition("/")
        low, _, high = body.partition("-")
        start, end = limits if body == "*" else (int(low), int(high or low))
        found.update(range(start, end + 1, int(step or 1)))
    return found


@cache
def window(zone: str, day: str) -> tuple[int, int, list[tuple[int, datetime]]]:
    """Its first and last instant, and every minute of it with what the clock shows."""
    start = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(hours=20)
    moments = [start + minute * MINUTE for minute in range(48 * 60)]
    readings = [
        ((moment - EPOCH) // timedelta(milliseconds=1), moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None))
        for moment in moments
    ]
    return readings[0][0], readings[-1][0], readings
