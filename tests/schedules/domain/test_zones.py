"""Time zones: which names are accepted, and which instant a wall clock means."""

import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.domain import instants, zones
from tests.schedules.domain import vectors
from tests.schedules.domain.test_instants import at_answer

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = ["Europe/Paris", "Australia/Lord_Howe", "America/Santiago", "Antarctica/Troll", "Asia/Gaza", "Europe/Dublin"]


def test_every_recorded_local_time_gives_its_recorded_answer() -> None:
    assert vectors.rows("at_local")
    assert vectors.differences("at_local", at_answer) == []


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("UTC", "UTC"),
        ("Europe/Paris", "Europe/Paris"),
        ("europe/PARIS", "Europe/Paris"),
        ("america/argentina/buenos_aires", "America/Argentina/Buenos_Aires"),
        ("US/Eastern", "US/Eastern"),
        ("Asia/Calcutta", "Asia/Calcutta"),
        ("etc/gmt+5", "Etc/GMT+5"),
    ],
)
def test_a_name_with_a_slash_is_accepted_in_any_letter_case(name: str, canonical: str) -> None:
    assert zones.canonical(name) == canonical


@pytest.mark.parametrize(
    "name",
    [
        *("", "utc", "UTC ", "EST", "CET", "Factory", "localtime", "posixrules", "GMT+1", "+01:00", "Z", "/America"),
        *("America/", "posix/Europe/Paris", "right/UTC", "Etc/Unknown", "Europe/../Europe/Paris", "/etc/localtime"),
        *("Europe/Par\0is", "Europe/Paris\n", "\ud800/x", "Europe/\u212aiev", "a" * 100_000 + "/b"),
    ],
)
def test_any_other_name_is_refused(name: str) -> None:
    assert zones.canonical(name) is None
    with pytest.raises(ValueError, match="not the canonical name"):
        zones.zone(name)


def test_the_wheel_is_the_only_source_of_zone_data() -> None:
    assert zoneinfo.TZPATH == ()


def wall(text: str) -> int:
    parsed = instants.parse(text + ".000Z")
    assert parsed is not None
    return parsed


def test_a_time_in_a_gap_is_no_instant() -> None:
    assert zones.resolve(wall("2027-03-28T02:30:00"), "Europe/Paris") is None
    assert zones.resolve(wall("2027-03-28T01:59:59"), "Europe/Paris") == wall("2027-03-28T00:59:59")
    assert zones.resolve(wall("2027-03-28T03:00:00"), "Europe/Paris") == wall("2027-03-28T01:00:00")


def test_a_time_in_an_overlap_is_the_earlier_instant() -> None:
    assert zones.resolve(wall("2027-10-31T02:30:00"), "Europe/Paris") == wall("2027-10-31T00:30:00")
    assert zones.resolve(wall("2027-04-04T01:45:00"), "Australia/Lord_Howe") == wall("2027-04-03T14:45:00")


def test_a_day_that_the_zone_skipped_does_not_exist() -> None:
    assert zones.resolve(wall("2011-12-30T12:00:00"), "Pacific/Apia") is None


def test_the_edges_of_the_years_resolve_in_every_zone_without_overflow() -> None:
    for name in ["UTC", *(n for n in zoneinfo.available_timezones() if zones.canonical(n))]:
        for reading in (instants.MIN, instants.MIN + 1, instants.MAX - 1, instants.MAX):
            resolved = zones.resolve(reading, name)
            assert resolved is not None
            assert abs(resolved - reading) <= 26 * 60 * instants.MINUTE


def brute_force(reading: int, name: str) -> int | None:
    """The first instant, of all quarter hours of offset around, at which the zone's clock shows the reading."""
    for quarters in range(16 * 4, -16 * 4 - 1, -1):
        instant = reading - quarters * 15 * instants.MINUTE
        shown = (EPOCH + timedelta(milliseconds=instant)).astimezone(zones.zone(name))
        if (shown.replace(tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1) == reading:
            return instant
    return None


@cache
def transitions(name: str) -> list[int]:
    """The first hour after each change of offset from 2026 to 2030."""
    zone, found, before = zones.zone(name), [], None
    for hour in range(24 * 365 * 5):
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hour)
        offset = moment.astimezone(zone).utcoffset()
        if before is not None and offset is not None and offset != before:
            found.append((moment + offset - EPOCH) // timedelta(milliseconds=1))
        before = offset
    return found


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(NAMES), st.integers(-180, 180))
def test_resolution_near_transitions_is_what_brute_force_finds(data: st.DataObject, name: str, minutes: int) -> None:
    reading = data.draw(st.sampled_from(transitions(name))) + minutes * instants.MINUTE
    assert zones.resolve(reading, name) == brute_force(reading, name)
