"""What a clock's reading means where clocks jump."""

import pytest

from routines.domain.slots import walls
from schedules.domain import instants, zones
from tests.routines.domain.slots.times import at, show


@pytest.mark.parametrize(
    ("zone", "wall", "rfc", "cron"),
    [
        ("Europe/Paris", "2026-06-01T09:00Z", "2026-06-01T07:00Z", "2026-06-01T07:00Z"),
        ("Europe/Paris", "2026-03-29T02:30Z", "2026-03-29T01:30Z", "2026-03-29T01:00Z"),
        ("Europe/Paris", "2026-03-29T02:00Z", "2026-03-29T01:00Z", "2026-03-29T01:00Z"),
        ("Europe/Paris", "2026-10-25T02:30Z", "2026-10-25T00:30Z", "2026-10-25T00:30Z"),
        ("Australia/Lord_Howe", "2026-10-04T02:10Z", "2026-10-03T15:40Z", "2026-10-03T15:30Z"),
        ("America/Santiago", "2026-09-06T00:00Z", "2026-09-06T04:00Z", "2026-09-06T04:00Z"),
        ("Pacific/Apia", "2011-12-30T12:00Z", "2011-12-30T22:00Z", "2011-12-30T10:00Z"),  # a day that never was
    ],
)
def test_the_rfc_moves_a_reading_on_and_cron_waits_for_the_gaps_end(zone: str, wall: str, rfc: str, cron: str) -> None:
    assert show(walls.resolve(at(wall), zones.zone(zone))) == rfc
    assert show(walls.resolve_once(at(wall), zones.zone(zone))) == cron


def test_a_change_is_found_to_the_millisecond() -> None:
    zone, change = zones.zone("Europe/Paris"), at("2026-03-29T01:00Z")
    assert walls.change(change - instants.DAY, change + instants.DAY, zone) == change
    assert walls.change(change - 1, change, zone) == change
    assert walls.change(change - instants.DAY, change - 1, zone) is None
    assert walls.change(change, change + 30 * instants.DAY, zone) is None


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/New_York"])
def test_the_ends_of_the_calendar_have_an_offset_too(zone: str) -> None:
    for instant in (instants.MIN, instants.MAX, -(10**30), 10**30):
        assert abs(walls.offset(instant, zones.zone(zone))) < instants.DAY
