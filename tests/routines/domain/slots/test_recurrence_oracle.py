"""Random rules against python-dateutil, where it is safe to ask.

It is asked only for as many occurrences as we find within some years, for it searches on to the year 9999; and in clock
readings without a zone, for in a zone it runs backwards when clocks change. What a reading means is PEP 495's to say.
"""

import itertools
import random
import re
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from dateutil import rrule

from routines.domain.slots import calendar
from schedules.domain import instants
from tests.routines.domain.slots.times import EPOCH, show

NEW_YEAR = datetime(2026, 1, 1)  # noqa: DTZ001 - a reading of a clock
ZONES = ["UTC", "Europe/Paris", "America/Santiago", "Australia/Lord_Howe", "Asia/Tokyo", "UTC"]
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]

# How long dateutil may walk, by what one of its steps is.
PATIENCE = {"YEARLY": 7300, "MONTHLY": 3650, "WEEKLY": 3650, "DAILY": 1500, "HOURLY": 200, "MINUTELY": 10}


def test_two_thousand_random_rules_have_the_first_five_occurrences_that_dateutil_finds() -> None:
    draw = random.Random(20261130)
    compared = occurrences = 0
    for number in range(2000):
        freq = list(PATIENCE)[number % len(PATIENCE)]
        zone = ZONES[number // len(PATIENCE) % len(ZONES)]
        text = rule(draw, freq)
        day, hour, minute = draw.randint(1, 360), draw.randrange(24), draw.choice([0, 0, 30])
        start = NEW_YEAR + timedelta(days=day, hours=hour, minutes=minute)
        if freq == "WEEKLY" and "BYSETPOS" in text:
            # It counts positions in the first week from the start on, where in months and years, and by the RFC's
            # examples, they count from the beginning of the period.
            text = re.sub(";WKST=..", "", text)
            start -= timedelta(days=start.weekday())
        line = f"DTSTART:{start:%Y%m%dT%H%M%S}\nRRULE:{text}"
        slots = calendar.parse(line, zone, 0)
        begin = (start.replace(tzinfo=ZoneInfo(zone)) - EPOCH) // timedelta(milliseconds=1)
        ours = slots.between(begin - 1, begin + PATIENCE[freq] * instants.DAY, 5)
        if not ours:
            continue
        # Around a gap two readings can be one instant, or be in the other order: a few more are asked for.
        walls = itertools.islice(rrule.rrulestr(text, dtstart=start), len(ours) if len(ours) < 5 else 9)
        theirs = sorted({(wall.replace(tzinfo=ZoneInfo(zone)) - EPOCH) // timedelta(milliseconds=1) for wall in walls})
        assert [show(slot) for slot in ours] == [show(slot) for slot in theirs[:5]], (line, zone)
        compared += 1
        occurrences += len(ours)
    assert compared > 1200
    assert occurrences > 5000


def rule(draw: random.Random, freq: str) -> str:
    """A random rule of one frequency, of parts that dateutil and the RFC do not read differently."""
    parts = [f"FREQ={freq}"]

    def add(name: str, chance: float, values: list[Any], most: int = 3) -> bool:
        if draw.random() >= chance:
            return False
        parts.append(f"{name}=" + ",".join(map(str, draw.sample(values, draw.randint(1, min(most, len(values)))))))
        return True

    add("INTERVAL", 0.5, [1, 2, 3, 4, 5, 7, 10, 14, 45, 90], 1)
    if not add("COUNT", 0.2, [1, 2, 3, 10, 400], 1):
        add("UNTIL", 0.1, ["20270101T000000", "20280630T235959", "20270301"], 1)
    add("WKST", 0.3, DAYS, 1)
    added = [add("BYMONTH", 0.25, list(range(1, 13)), 5)]
    if freq == "YEARLY":
        added.append(add("BYWEEKNO", 0.2, [1, 2, 20, 51, 52, 53, -1], 3))
        added.append(add("BYYEARDAY", 0.2, [1, 2, 59, 60, 100, 200, 365, 366, -1, -100, -306, -366], 4))
    if freq != "WEEKLY":
        added.append(add("BYMONTHDAY", 0.2, [1, 2, 13, 15, 28, 29, 30, 31, -1, -2, -15, -31], 4))
    if freq in ("MONTHLY", "YEARLY") and draw.random() < 0.25:
        added.append(add("BYDAY", 1, [f"{ordinal}{day}" for ordinal in (1, 2, 4, 5, -1, -2, -5) for day in DAYS]))
    else:
        added.append(add("BYDAY", 0.4, DAYS, 4))
    added.append(add("BYHOUR", 0.4 if freq != "MINUTELY" else 0.2, [0, 1, 2, 3, 9, 12, 17, 23]))
    added.append(add("BYMINUTE", 0.4, [0, 1, 15, 30, 45, 59]))
    if any(added):
        add("BYSETPOS", 0.2, [1, 2, 3, 5, -1, -2, -3], 2)
    return ";".join(parts)
