"""Cron expressions that are turned down, and what the message says to write instead."""

import pytest

from routines.domain.slots import Refused, cron, fields


@pytest.mark.parametrize(
    ("expression", "instead"),
    [
        ("*/0 * * * *", "from 1 to 60"),
        ("*/90 * * * *", "every: 90m"),
        ("0 */25 * * *", "from 1 to 24"),
        ("0 0 * * */8", "from 1 to 7"),
        ("0 0 0 * * *", "five fields"),
        ("0 30 9 * * MON-FRI", "five fields"),
        ("30 9 * *  ", "five fields"),
        ("* * * *", "9 to 100 characters"),
        ("", "9 to 100 characters"),
        ("0 0 1 1 " + "1," * 50 + "1", "9 to 100 characters"),
        ("@daily", "0 0 * * *"),
        ("@HOURLY", "0 * * * *"),
        ("@reboot", "0 0 * * *"),
        ("٠ ٠ * * * *", "ASCII"),
        ("0\u00a00 * * *", "ASCII"),
        ("0 0 * * *\n", "ASCII"),
        ("0\x1c0 * * *", "ASCII"),
        ("０ 0 * * *", "ASCII"),
        ("0 0 L * *", "BYMONTHDAY=-1"),
        ("0 0 15W * *", "BYMONTHDAY=-1"),
        ("0 0 LW * *", "BYMONTHDAY=-1"),
        ("0 0 * * 5L", "BYMONTHDAY=-1"),
        ("0 0 * * 5#2", "BYMONTHDAY=-1"),
        ("0 0 ? * 5", "write *"),
        ("0/15 * * * *", "write 0-59/15"),
        ("0 22-2 * * *", "write 22-23,0-2"),
        ("0 0 * * SAT-MON", "write 6-6,0-1"),
        ("60 * * * *", "0 to 59"),
        ("0 24 * * *", "0 to 23"),
        ("0 0 0 * *", "1 to 31"),
        ("0 0 1 13 *", "1 to 12"),
        ("0 0 * * 8", "0 to 7"),
        ("0 0 * * MONDAY", "SUN to SAT"),
        ("0 0 * JANUARY *", "JAN to DEC"),
        ("0 0 * MON *", "JAN to DEC"),
        ("0 JAN * * *", "0 to 23"),
        ("0 0 1,,2 * *", "commas"),
        ("0 0 1-2-3 * *", "ranges"),
        ("0 -1 * * *", "ranges"),
        ("0 0 ** * *", "ranges"),
        ("0 0 */+2 * *", "steps"),
        ("0 0 007 * *", "numbers from 1 to 31"),
    ],
)
def test_it_says_what_to_write_instead(expression: str, instead: str) -> None:
    with pytest.raises(Refused) as refusal:
        cron.parse(expression, "UTC")
    assert instead in refusal.value.message
    assert refusal.value.field == "cron"


@pytest.mark.parametrize(
    "expression",
    ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30,31 FEB *", "0 0 30 2 */2", "* * 31 2-2 *"],
)
def test_what_can_never_fire_is_refused(expression: str) -> None:
    with pytest.raises(Refused, match="never fires"):
        cron.parse(expression, "UTC")


def test_a_day_that_never_comes_beside_a_weekday_that_does_is_accepted() -> None:
    assert cron.parse("0 0 30 2 1", "UTC").next_after(0) is not None


@pytest.mark.parametrize(
    ("expression", "normal"),
    [
        ("0 9 * * mon-fri", "0 9 * * 1-5"),
        ("05 09 * jan,Dec sat,SUN", "5 9 * 1,12 6,0"),
        ("0\t9  * *   MON-SUN/2", "0 9 * * 1-7/2"),
        ("*/60 */24 */31 */12 */7", "*/60 */24 */31 */12 */7"),
        ("0 0 * * SUN-TUE", "0 0 * * 0-2"),
        ("0 0 * * 5-7", "0 0 * * 5-7"),
    ],
)
def test_names_become_numbers(expression: str, normal: str) -> None:
    assert fields.normalise(expression) == normal


@pytest.mark.parametrize("timezone", ["EST", "localtime", "posixrules", "Factory", "../Paris", "+01:00", "", "utc"])
def test_a_zone_without_an_iana_name_is_refused(timezone: str) -> None:
    with pytest.raises(Refused, match="Europe/Paris") as refusal:
        cron.parse("0 9 * * *", timezone)
    assert refusal.value.field == "timezone"


@pytest.mark.parametrize("timezone", ["UTC", "Asia/Calcutta", "US/Eastern", "Etc/GMT+5"])
def test_old_names_of_zones_are_accepted(timezone: str) -> None:
    assert cron.parse("0 9 * * *", timezone).timezone == timezone
