"""Recurrence rules as text: what is read, what is refused, and what the message says to write instead."""

import pytest

from routines.domain.slots import Refused, recur
from tests.routines.domain.slots.times import at


def test_every_part_is_read() -> None:
    rule = recur.parse(
        "FREQ=YEARLY;INTERVAL=2;UNTIL=20301231T120000Z;WKST=SU;BYSECOND=60;BYMINUTE=0,30;BYHOUR=9;BYDAY=MO,-1FR,+2TU;"
        "BYMONTHDAY=1,-31;BYYEARDAY=366,-366;BYWEEKNO=53,-53;BYMONTH=12;BYSETPOS=-1"
    )
    assert rule == recur.Rule(
        freq="YEARLY",
        interval=2,
        until=recur.Stamp(wall=at("2030-12-31T12:00Z"), utc=True),
        wkst=6,
        by_second=(59,),
        by_minute=(0, 30),
        by_hour=(9,),
        by_day=((0, 0), (-1, 4), (2, 1)),
        by_month_day=(1, -31),
        by_year_day=(366, -366),
        by_week=(53, -53),
        by_month=(12,),
        by_set_pos=(-1,),
    )


def test_letters_may_be_small_and_the_order_is_free() -> None:
    assert recur.parse("count=3;byday=mo;freq=weekly") == recur.Rule(freq="WEEKLY", count=3, by_day=((0, 0),))


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("FREQ=DAILY;INTERVAL=0", "from 1 to"),
        ("FREQ=DAILY;INTERVAL=-1", "from 1 to"),
        ("FREQ=DAILY;INTERVAL=1.5", "no blanks"),
        ("FREQ=DAILY;INTERVAL=9999999999", "from 1 to"),
        ("FREQ=DAILY;COUNT=0", "from 1 to 100000"),
        ("FREQ=DAILY;COUNT=1000000000", "from 1 to 100000"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20300101", "write one of them"),
        ("FREQ=YEARLY;BYMONTH=13", "from 1 to 12"),
        ("FREQ=YEARLY;BYMONTH=0", "from 1 to 12"),
        ("FREQ=YEARLY;BYMONTH=-1", "from 1 to 12"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "-1 to -31"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "from 1 to 31"),
        ("FREQ=YEARLY;BYYEARDAY=367", "from 1 to 366"),
        ("FREQ=YEARLY;BYWEEKNO=54", "from 1 to 53"),
        ("FREQ=DAILY;BYHOUR=24", "from 0 to 23"),
        ("FREQ=DAILY;BYHOUR=-1", "from 0 to 23"),
        ("FREQ=DAILY;BYMINUTE=60", "from 0 to 59"),
        ("FREQ=DAILY;BYSECOND=61", "from 0 to 60"),
        ("FREQ=DAILY;BYSECOND=0,30", "every: 5s"),
        ("FREQ=DAILY;BYHOUR=9;BYSETPOS=0", "from 1 to 366"),
        ("FREQ=DAILY;BYSETPOS=1", "add one"),
        ("FREQ=SECONDLY", "FREQ=MINUTELY"),
        ("FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MINUTELY"),
        ("FREQ=FORTNIGHTLY", "WEEKLY"),
        ("INTERVAL=2", "FREQ is missing"),
        ("", "NAME=value"),
        ("FREQ=DAILY;", "NAME=value"),
        ("FREQ=DAILY;;COUNT=2", "NAME=value"),
        ("FREQ=DAILY; COUNT=2", "no blanks"),
        ("FREQ=DAILY;COUNT=", "NAME=value"),
        ("FREQ=DAILY;BYEASTER=0", "BYEASTER is not a part"),
        ("FREQ=DAILY;X-FOO=1", "not a part"),
        ("FREQ=DAILY;COUNT=1;COUNT=2", "there twice"),
        ("FREQ=DAILY;BYDAY=1MO", "write MO"),
        ("FREQ=WEEKLY;BYDAY=-1FR", "write FR"),
        ("FREQ=MONTHLY;BYDAY=0MO", "from 1 to 53"),
        ("FREQ=MONTHLY;BYDAY=54MO", "from 1 to 53"),
        ("FREQ=WEEKLY;BYDAY=MON", "MO, TU"),
        ("FREQ=WEEKLY;BYDAY=MO,,TU", "MO, TU"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "FREQ=MONTHLY"),
        ("FREQ=MONTHLY;BYYEARDAY=1", "FREQ=YEARLY"),
        ("FREQ=MONTHLY;BYWEEKNO=1", "FREQ=YEARLY"),
        ("FREQ=WEEKLY;WKST=1", "WKST must be one of"),
        ("FREQ=DAILY;UNTIL=2030-01-01", "20301231T235959Z"),
        ("FREQ=DAILY;UNTIL=20300230", "20301231T235959Z"),
        ("FREQ=DAILY;UNTIL=20300101T250000", "20301231T235959Z"),
        ("FREQ=DAILY;UNTIL=20300101Z", "20301231T235959Z"),
        ("FREQ=DAILY;BYHOUR=٩", "ASCII"),
        ("FREQ=ſECONDLY", "ASCII"),
        ("FREQ=DAILY\n", "NAME=value"),
        ("FREQ=DAILY;BYHOUR=" + "1," * 5000 + "1", "longer than"),
    ],
)
def test_it_says_what_to_write_instead(text: str, instead: str) -> None:
    with pytest.raises(Refused) as refusal:
        recur.parse(text)
    assert instead in refusal.value.message
    assert refusal.value.field == "rrule"


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("20301231", recur.Stamp(wall=at("2030-12-31T00:00Z"), utc=False)),
        ("20301231T235958", recur.Stamp(wall=at("2030-12-31T23:59:58+00:00"), utc=False)),
        ("20301231T235958Z", recur.Stamp(wall=at("2030-12-31T23:59:58+00:00"), utc=True)),
        ("20301231T2359", None),
        ("20301231 235958", None),
        ("20301231T240000", None),
        ("20301231\n", None),
        ("٢٠٣٠1231", None),
    ],
)
def test_a_date_alone_is_its_midnight(text: str, stamp: recur.Stamp | None) -> None:
    assert recur.parse_stamp(text) == stamp
