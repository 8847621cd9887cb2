"""Instants: integers of milliseconds since the epoch, and the texts that stand for them.

Integers neither overflow nor round: an instant outside MIN to MAX is an ordinary number until it is compared.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 1_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

# A fold parses an instant for nearly every event: what the parts of a canonical text may be is looked up, which is
# both exact and three times as fast as a pattern and datetime together.
_MINUTES = {f"T{hour:02}:{minute:02}": (hour * 60 + minute) * MINUTE for hour in range(24) for minute in range(60)}
_SECONDS = {f":{second:02}.": second * SECOND for second in range(60)}
_MILLISECONDS = {f"{millisecond:03}Z": millisecond for millisecond in range(1000)}

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,3})?"
_WALL_DATE = re.compile(_DATE)
_WALL_TIME = re.compile(_TIME)
_OFFSET_FORM = re.compile(rf"({_DATE})T({_TIME})(?:Z|([+-])([0-9]{{2}}):([0-9]{{2}}))")


def render(instant: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`, the one canonical text. Raises OverflowError outside MIN to MAX."""
    return (_EPOCH + timedelta(milliseconds=instant)).isoformat(timespec="milliseconds")[:23] + "Z"


def parse(text: str) -> int | None:
    """The instant of a canonical text; None for any other text, an impossible date included."""
    try:
        return _day(text[:10]) + _MINUTES[text[10:16]] + _SECONDS[text[16:20]] + _MILLISECONDS[text[20:]]
    except KeyError:
        return None


MIN = -62_135_596_800_000
MAX = 253_402_300_799_999


def parse_wall(date: str, time: str) -> int | None:
    """The reading of a clock, as the instant it would be in UTC; None where it is malformed or impossible.

    date: `YYYY-MM-DD`; time: `HH:MM:SS` with one to three digits of a second, if any.
    """
    if not (_WALL_DATE.fullmatch(date) and _WALL_TIME.fullmatch(time)):
        return None
    fraction = time[9:].ljust(3, "0")
    try:
        wall = datetime.fromisoformat(f"{date}T{time[:8]}.{fraction}+00:00")
    except ValueError:
        return None
    return (wall - _EPOCH) // _MILLISECOND


def parse_offset(text: str) -> int | None:
    """The instant of a date and time with `Z` or an offset; None where the text is malformed or impossible.

    A real reading whose offset leads out of the four-digit years gives that instant, outside MIN to MAX, so
    that a caller tells it from a malformed one.
    """
    match = _OFFSET_FORM.fullmatch(text)
    if match is None:
        return None
    date, time, sign, hours, minutes = match.groups()
    wall = parse_wall(date, time)
    if wall is None or sign is None:
        return wall
    offset = int(hours) * 60 + int(minutes)
    # RFC 3339 has -00:00 for "offset unknown": such a reading names no instant.
    if int(hours) > 23 or int(minutes) > 59 or (sign == "-" and offset == 0):
        return None
    return wall - offset * MINUTE if sign == "+" else wall + offset * MINUTE


@lru_cache(maxsize=1 << 14)
def _day(date: str) -> int:
    """The start of a day, of a `YYYY-MM-DD`. Raises KeyError for any other text, as a look-up does."""
    start = parse_wall(date, "00:00:00")
    if start is None:
        raise KeyError
    return start
