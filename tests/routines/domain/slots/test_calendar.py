"""Calendars: the recorded answers, the RFC's own examples, starts and ends, and bounded searches."""

import pytest

from routines.domain.slots import Refused, calendar, recurrence, walls
from schedules.domain import instants, zones
from tests.routines.domain.slots.times import at, following
from tests.schedules.domain import vectors

PARIS, NEW_YORK, SANTIAGO = "Europe/Paris", "America/New_York", "America/Santiago"
ANCHOR = at("2026-12-01T10:17Z")
END_OF_RECORDS = at("2045-01-01T00:00Z")


def times(rrule: str, after: str, count: int, timezone: str = "UTC") -> list[str | None]:
    return following(calendar.parse(rrule, timezone, ANCHOR), after, count)


def test_every_recorded_rule_gives_its_recorded_times() -> None:
    def answer(row: dict[str, str]) -> list[str]:
        slots = calendar.parse(row["rrule"], row["timezone"], at(row["anchor"]))
        found = slots.between(at(row["after"]), END_OF_RECORDS - 1, 5)
        return [instants.render(slot).replace(".000Z", "Z") for slot in found]

    assert vectors.rows("rrule")
    assert vectors.differences("rrule", answer) == []


# Of RFC 5545 section 3.8.5.3, where DTSTART is 2 September 1997, 09:00 in New York, unless it says otherwise.
@pytest.mark.parametrize(
    ("rrule", "start", "expected"),
    [
        ("FREQ=DAILY;COUNT=2", "0902", ["0902", "0903", None]),
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;COUNT=3", "0902", ["0902", "0916", "0930", None]),
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,TH;COUNT=8", "0902", ["0902", "0904", "0916", "0918", "0930"]),
        ("FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "0905", ["0905", "1003", "1107", "1205"]),
        ("FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "0907", ["0907", "0928", "1102", "1130"]),
        ("FREQ=MONTHLY;BYMONTHDAY=-3", "0928", ["0928", "1029", "1128", "1229"]),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "0902", ["1998-02-13", "1998-03-13", "1998-11-13", "1999-08-13"]),
        ("FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "0904", ["0904", "1007", "1106", None]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "0929", ["0929", "1030", "1127", "1230"]),
        ("FREQ=YEARLY;BYDAY=20MO", "0519", ["0519", "1998-05-18", "1999-05-17"]),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "0512", ["0512", "1998-05-11", "1999-05-17"]),
        ("FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "0101", ["0101", "0410", "0719", "2000-01-01"]),
        (
            "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
            "1996-11-05",
            ["1996-11-05", "2000-11-07", "2004-11-02"],
        ),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "0805", ["0805", "0810", "0819", "0824", None]),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "0805", ["0805", "0817", "0819", "0831", None]),
        (
            "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5",
            "2007-01-15",
            ["2007-01-15", "2007-01-30", "2007-02-15", "2007-03-15"],
        ),
    ],
)
def test_the_rfcs_examples(rrule: str, start: str, expected: list[str | None]) -> None:
    first = dated(start).replace("-", "")
    slots = calendar.parse(f"DTSTART;TZID=America/New_York:{first}T090000\nRRULE:{rrule}", "UTC", ANCHOR)
    nine = [None if day is None else f"{dated(day)}T09:00" for day in expected]
    found: list[str | None] = []
    instant: int | None = at(f"{dated(start)}T00:00Z")
    while instant is not None and len(found) < len(expected):
        instant = slots.next_after(instant)
        found.append(None if instant is None else local(instant))
    assert found == nine


def dated(day: str) -> str:
    return day if len(day) == 10 else f"1997-{day[:2]}-{day[2:]}"


def local(instant: int) -> str:
    summer = walls.offset(instant, zones.zone(NEW_YORK))
    return instants.render(instant + summer)[:16]


class TestStart:
    def test_without_dtstart_it_is_the_registrations_local_midnight(self) -> None:
        assert times("FREQ=DAILY", "2026-12-01T00:00Z", 1, PARIS) == ["2026-12-01T23:00Z"]
        assert times("FREQ=HOURLY;INTERVAL=9", "2026-12-01T00:00Z", 3, PARIS) == [
            "2026-12-01T08:00Z",
            "2026-12-01T17:00Z",
            "2026-12-02T02:00Z",
        ]

    def test_the_midnight_itself_as_the_anchor_means_the_same(self) -> None:
        for rule in ("FREQ=DAILY;BYHOUR=9", "FREQ=WEEKLY;INTERVAL=2", "FREQ=MINUTELY;INTERVAL=77"):
            for zone in (PARIS, SANTIAGO, "Pacific/Kiritimati"):
                registered = at("2026-09-06T15:12Z")  # in Santiago a day without a midnight
                whole = calendar.parse(rule, zone, registered)
                day = registered + walls.offset(registered, zones.zone(zone))
                midnight = walls.resolve(day - day % instants.DAY, zones.zone(zone))
                assert calendar.parse(rule, zone, midnight) == whole

    def test_it_is_an_occurrence_only_where_the_rule_matches(self) -> None:
        assert times("DTSTART:20261201T090000\nRRULE:FREQ=DAILY;COUNT=2;BYDAY=WE", "2026-01-01T00:00Z", 3) == [
            "2026-12-02T09:00Z",
            "2026-12-09T09:00Z",
            None,
        ]
        assert times("DTSTART:20261201T090000\nRRULE:FREQ=DAILY;COUNT=1", "2026-01-01T00:00Z", 2) == [
            "2026-12-01T09:00Z",
            None,
        ]

    def test_it_gives_the_parts_that_the_rule_leaves_open(self) -> None:
        start = "DTSTART:20260131T091530\nRRULE:"
        slots = calendar.parse(start + "FREQ=MONTHLY", "UTC", ANCHOR)
        assert slots.next_after(at("2026-01-31T09:15:30+00:00")) == at("2026-03-31T09:15:30+00:00")
        assert times(start + "FREQ=YEARLY;BYMONTH=3", "2026-01-01T00:00Z", 1) == ["2026-03-31T09:15Z"]
        assert times(start + "FREQ=WEEKLY", "2026-01-31T12:00Z", 1) == ["2026-02-07T09:15Z"]

    def test_a_second_before_the_starts_own_is_too_early(self) -> None:
        slots = calendar.parse("DTSTART:20260101T090030\nRRULE:FREQ=MINUTELY;BYSECOND=0", "UTC", ANCHOR)
        assert slots.next_after(0) == at("2026-01-01T09:01Z")

    @pytest.mark.parametrize(
        ("text", "timezone", "first"),
        [
            ("DTSTART:20260601T090000\nRRULE:FREQ=DAILY", PARIS, "2026-06-01T07:00Z"),
            ("DTSTART:20260601T090000Z\nRRULE:FREQ=DAILY", PARIS, "2026-06-01T09:00Z"),
            ("DTSTART;TZID=Europe/Paris:20260601T090000\nRRULE:FREQ=DAILY", "UTC", "2026-06-01T07:00Z"),
            ("dtstart;tzid=europe/paris:20260601t090000\r\nrrule:freq=daily\r\n", PARIS, "2026-06-01T07:00Z"),
            ("DTSTART;VALUE=DATE:20260601\nRRULE:FREQ=DAILY", PARIS, "2026-05-31T22:00Z"),
            ("DTSTART;VALUE=DATE-TIME:20260601T090000\nRRULE:FREQ=DAILY", "UTC", "2026-06-01T09:00Z"),
            ("RRULE:FREQ=DAILY\nDTSTART:20260601T090000", "UTC", "2026-06-01T09:00Z"),
            ("DTSTART:20260601T090000\r\nRRULE:FREQ=DAILY;BY\r\n HOUR=9", "UTC", "2026-06-01T09:00Z"),
        ],
    )
    def test_dtstart_as_the_rfc_writes_it(self, text: str, timezone: str, first: str) -> None:
        assert times(text, "2026-01-01T00:00Z", 1, timezone) == [first]

    def test_a_start_in_utc_is_read_in_the_routines_zone(self) -> None:
        slots = "DTSTART:20260101T080000Z\nRRULE:FREQ=DAILY"
        assert times(slots, "2026-07-01T00:00Z", 1, PARIS) == ["2026-07-01T07:00Z"]

    @pytest.mark.parametrize(
        ("text", "instead"),
        [
            ("DTSTART:20260601T090000", "RRULE:FREQ=WEEKLY"),
            ("DTSTART:20260601T090000\nDTSTART:20260601T090000\nRRULE:FREQ=DAILY", "there twice"),
            ("RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", "there twice"),
            ("RRULE:FREQ=DAILY\nEXDATE:20260601T090000", "EXDATE"),
            ("RRULE;X=1:FREQ=DAILY", "no parameters"),
            ("DTSTART:2026-06-01\nRRULE:FREQ=DAILY", "DTSTART:20260101T090000"),
            ("DTSTART:20260631T090000\nRRULE:FREQ=DAILY", "DTSTART:20260101T090000"),
            ("DTSTART;VALUE=DATE:20260601T090000\nRRULE:FREQ=DAILY", "DTSTART:20260101T090000"),
            ("DTSTART;VALUE=PERIOD:20260601\nRRULE:FREQ=DAILY", "DTSTART:20260101T090000"),
            ("DTSTART;TZID=Europe/Paris:20260601T090000Z\nRRULE:FREQ=DAILY", "leave out the Z"),
            ("DTSTART;TZID=EST:20260601T090000\nRRULE:FREQ=DAILY", "Europe/Paris"),
            ("DTSTART;TZID=America/New_York:20260601T090000\nRRULE:FREQ=DAILY", "write the zone once"),
            ("DTSTART;FOO=1:20260601T090000\nRRULE:FREQ=DAILY", "TZID and VALUE"),
            ("every day", "FREQ=WEEKLY;BYDAY=MO"),
            ("", "FREQ=WEEKLY;BYDAY=MO"),
        ],
    )
    def test_other_lines_are_refused_with_what_to_write(self, text: str, instead: str) -> None:
        with pytest.raises(Refused) as refusal:
            calendar.parse(text, PARIS, ANCHOR)
        assert instead in refusal.value.message


class TestEnd:
    def test_until_without_a_zone_is_read_in_the_routines(self) -> None:
        rule = "FREQ=DAILY;BYHOUR=9;UNTIL=20261203T090000"
        assert times(rule, "2026-12-02T12:00Z", 2, PARIS) == ["2026-12-03T08:00Z", None]
        assert times(rule, "2026-12-02T12:00Z", 2, NEW_YORK) == ["2026-12-02T14:00Z", "2026-12-03T14:00Z"]

    def test_until_in_utc_is_an_instant(self) -> None:
        rule = "FREQ=DAILY;BYHOUR=9;UNTIL=20261203T090000Z"
        assert times(rule, "2026-12-02T15:00Z", 1, NEW_YORK) == [None]
        assert times(rule, "2026-12-02T15:00Z", 2, PARIS) == ["2026-12-03T08:00Z", None]

    def test_until_a_date_alone_is_its_midnight(self) -> None:
        assert times("FREQ=DAILY;BYHOUR=9;UNTIL=20261203", "2026-12-01T12:00Z", 2) == ["2026-12-02T09:00Z", None]
        assert times("FREQ=DAILY;UNTIL=20261203", "2026-12-02T00:00Z", 2) == ["2026-12-03T00:00Z", None]

    def test_until_before_the_start_is_never(self) -> None:
        assert times("FREQ=DAILY;UNTIL=20200101", "2026-12-02T00:00Z", 1) == [None]

    def test_count_counts_from_the_start_wherever_one_asks(self) -> None:
        rule = "FREQ=DAILY;BYHOUR=9,17;COUNT=5"
        assert times(rule, "2026-12-03T00:00Z", 2) == ["2026-12-03T09:00Z", None]
        assert times(rule, "2030-01-01T00:00Z", 1) == [None]

    def test_count_beyond_what_centuries_hold_is_no_end(self) -> None:
        assert times("FREQ=YEARLY;COUNT=100000", "2300-01-01T00:00Z", 1) == ["2300-12-01T00:00Z"]


# Rules with nothing, or nothing near, that cost other libraries seconds or for ever.
HARD = [
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=DAILY;INTERVAL=7;BYDAY=WE",
    "FREQ=HOURLY;INTERVAL=168;BYDAY=WE",
    "FREQ=MINUTELY;INTERVAL=371;BYHOUR=3;BYMINUTE=7;BYDAY=WE",
    "FREQ=MINUTELY;INTERVAL=10;BYMINUTE=3",
    "FREQ=MINUTELY;INTERVAL=99991;BYHOUR=3;BYMINUTE=7;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=MINUTELY;BYSETPOS=2;BYHOUR=1",
    "FREQ=WEEKLY;BYDAY=MO;BYMONTH=2;BYSETPOS=2",
    "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
    "FREQ=YEARLY;BYDAY=MO;BYSETPOS=366",
    "FREQ=YEARLY;BYWEEKNO=1;BYMONTH=6",
    "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1",
]


@pytest.fixture
def years(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every year whose days were looked at."""
    seen: list[int] = []
    real = recurrence.Recurrence.days

    def days(self: recurrence.Recurrence, year: int) -> int:
        seen.append(year)
        return real(self, year)

    monkeypatch.setattr(recurrence.Recurrence, "days", days)
    return seen


@pytest.mark.parametrize("rule", HARD)
def test_a_search_without_an_answer_ends_in_bounded_work(rule: str, years: list[int]) -> None:
    slots = calendar.parse(rule, "UTC", ANCHOR)
    years.clear()
    assert slots.next_after(ANCHOR) is None
    assert len(years) <= 2 * (recurrence.HORIZON + 1)
    assert len(slots.pattern._allowed) <= 40


@pytest.mark.parametrize("rule", ["FREQ=MINUTELY", "FREQ=DAILY", "FREQ=HOURLY;INTERVAL=7;BYHOUR=5", "FREQ=YEARLY"])
def test_a_large_count_is_counted_by_years(rule: str, years: list[int]) -> None:
    calendar.parse(f"{rule};COUNT=100000", "UTC", ANCHOR)
    assert len(years) <= 2 * (recurrence.HORIZON + 1)
