"""Between instants and what a clock on the wall shows, where clocks jump.

A reading (a "wall") is the instant that it would be in UTC, in milliseconds, as in `schedules.domain.zones`. At a gap
the clocks skip readings, at an overlap they show them twice. All differences are taken in UTC.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from routines.domain.slots.refused import Refused
from schedules.domain import instants, zones

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

# datetime cannot convert next to its own ends, and nobody changes clocks there.
_LOWEST = instants.MIN + 2 * instants.DAY
_HIGHEST = instants.MAX - 2 * instants.DAY

# No zone changes its offset and changes it back within so short a time.
_PROBE = 6 * 60 * instants.MINUTE


def zone_name(timezone: str) -> str:
    """The canonical name of an accepted zone. Raises Refused."""
    name = zones.canonical(timezone)
    if name is None:
        raise Refused(
            'timezone must be "UTC" or an IANA name with a slash, such as Europe/Paris; abbreviations such as EST '
            "and offsets are not accepted.",
            "timezone",
        )
    return name


def offset(instant: int, zone: ZoneInfo) -> int:
    """How far the zone's clocks are ahead of UTC at the instant, in milliseconds."""
    instant = min(max(instant, _LOWEST), _HIGHEST)
    return _offset((_EPOCH + instant * _MILLISECOND).astimezone(zone))


def resolve(wall: int, zone: ZoneInfo) -> int:
    """The instant of a reading: the first of an overlap's two; from a gap forward by the gap's length.

    Both are what RFC 5545 says of local times (section 3.3.5), and what PEP 495 calls fold 0: the offset before the
    change counts. Two readings may mean one instant, and around a gap a later reading may mean an earlier one.
    """
    return wall - _offset(_reading(wall, zone))


def resolve_once(wall: int, zone: ZoneInfo) -> int:
    """The instant of a reading as cron takes it: the first of an overlap's two; of a gap, the gap's end.

    A later reading never means an earlier instant.
    """
    reading = _reading(wall, zone)
    before, after = _offset(reading), _offset(reading.replace(fold=1))
    if before < after:
        end = change(wall - after, wall - before, zone)
        if end is not None:
            return end
    return wall - before


def change(start: int, until: int, zone: ZoneInfo) -> int | None:
    """The first instant in (start, until] at which the offset is no longer that of `start`, or None.

    Costs a few probes for each day between the two.
    """
    before = offset(start, zone)
    low = start
    while low < until:
        high = min(low + _PROBE, until)
        if offset(high, zone) != before:
            while high - low > 1:
                middle = (low + high) // 2
                if offset(middle, zone) == before:
                    low = middle
                else:
                    high = middle
            return high
        low = high
    return None


def _reading(wall: int, zone: ZoneInfo) -> datetime:
    return (_EPOCH + wall * _MILLISECOND).replace(tzinfo=zone)


def _offset(moment: datetime) -> int:
    ahead = moment.utcoffset()
    return 0 if ahead is None else ahead // _MILLISECOND
