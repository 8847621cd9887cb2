"""A manifest's schedule becomes the slots of its kind."""

import pytest

from routines.domain import manifest, timing
from routines.domain.slots import Slots, calendar, cron, event, interval, manual
from tests.routines.domain.slots.times import at

REGISTERED = at("2026-12-01T10:17Z")
MIDNIGHT = at("2026-12-01T00:00Z")


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (
            manifest.CronSchedule(cron="0 9 * * 1-5", timezone="Europe/Paris", jitter_seconds=9, catchup="one"),
            cron.parse("0 9 * * 1-5", "Europe/Paris"),
        ),
        (
            manifest.IntervalSchedule(every="5m", start=None, jitter_seconds=0),
            interval.parse("5m", REGISTERED),
        ),
        (
            manifest.IntervalSchedule(every="5m", start=MIDNIGHT, jitter_seconds=0),
            interval.parse("5m", MIDNIGHT),
        ),
        (
            manifest.CalendarSchedule(rrule="FREQ=DAILY", timezone="Asia/Tokyo"),
            calendar.parse("FREQ=DAILY", "Asia/Tokyo", REGISTERED),
        ),
        (manifest.ManualSchedule(), manual.Manual()),
        (manifest.EventSchedule(on="turn-end", filter={"cwd": "/x"}), event.Event()),
    ],
)
def test_each_kind_has_its_slots(schedule: manifest.Schedule, expected: Slots) -> None:
    slots: Slots = timing.slots(schedule, REGISTERED)
    assert slots == expected
