"""Time zones by name, and what instant a clock on the wall of one shows.

Importing this module makes the wheel `tzdata` the only source of zone data. zoneinfo prefers the system's
files, so two machines with one version of Wakeful could else disagree about the same reminder.
"""

import zoneinfo
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

zoneinfo.reset_tzpath(to=[])

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - readings of a wall clock have no zone of their own
_MILLISECOND = timedelta(milliseconds=1)


def canonical(name: str) -> str | None:
    """The zone's name in its own letter case; None for a name that is not accepted.

    Accepted: exactly `UTC`, and every IANA name with a slash in any letter case, old ones included.
    Abbreviations (`EST`), offsets, `Factory`, `localtime`, `posix/...` and `right/...` are not.
    """
    if name == "UTC":
        return name
    # Only ASCII is folded: str.lower() also turns the Kelvin sign into a k.
    return _names().get(name.lower()) if name.isascii() else None


@cache
def zone(name: str) -> ZoneInfo:
    """The zone of a canonical name. Raises ValueError for any other."""
    if canonical(name) != name:
        raise ValueError("not the canonical name of an accepted time zone")
    # Not from zoneinfo's own cache: what it holds may have been read before this module was imported.
    return ZoneInfo.no_cache(name)


def resolve(wall: int, name: str) -> int | None:
    """The instant at which a clock in the zone shows `wall`; None where it never does (a gap).

    wall: the reading as an instant in UTC (`instants.parse_wall`). Of an overlap's two instants it is the
    first. The result may lie outside the four-digit years.
    """
    reading = (_EPOCH + wall * _MILLISECOND).replace(tzinfo=zone(name))
    before = _offset(reading.replace(fold=0))
    after = _offset(reading.replace(fold=1))
    # PEP 495: the two differ only around a transition, and in a gap the clocks went forward.
    return wall - before if before >= after else None


def _offset(reading: datetime) -> int:
    offset = reading.utcoffset()
    return 0 if offset is None else offset // _MILLISECOND


@cache
def _names() -> dict[str, str]:
    return {
        name.lower(): name
        for name in zoneinfo.available_timezones()
        if "/" in name and not name.startswith(("posix/", "right/"))
    }
