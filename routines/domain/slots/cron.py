"""The kind `cron`: five fields, read in a zone as Debian's cron reads them.

cronsim finds the next reading of a clock that matches, and is never told of a zone: near a change of clocks its own
zone handling returns times not later than the start, and misses matches where clocks move by half an hour. What a
reading means in the zone is decided here.
"""

import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from cronsim import CronSim, CronSimError

from routines.domain.slots import fields, walls
from routines.domain.slots.refused import Refused
from routines.domain.slots.search import Searched
from schedules.domain import instants, zones

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - readings of a wall clock have no zone of their own
_MILLISECOND = timedelta(milliseconds=1)

# The rarest expression that can fire does so every 40 years (29 February on one weekday, over the year 2100).
_HORIZON = 100 * 366 * instants.DAY

# Around a found reading clocks are looked at in detail; no change of clocks is larger than half of this.
_WINDOW = 4 * instants.DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron(Searched):
    """The slots of one expression in one zone.

    expression: its five fields, in numbers, one blank between them.
    timezone: the zone's canonical name.
    follows_time: whether minute or hour begins with `*`. Such a job follows elapsed time: it skips what a gap skips and
    fires in both halves of an overlap. Any other names times of day, and each comes once: one in a gap right after it,
    one in an overlap at the first.
    engine: cronsim for the expression. It is copied before use, for it advances.
    """

    expression: str
    timezone: str
    follows_time: bool
    engine: CronSim = field(repr=False, compare=False)

    def next_after(self, after: int) -> int | None:
        """The first slot strictly later than `after`; None for none in 100 years or before the year 10000."""
        return self.first_between(after, instants.MAX)

    def first_between(self, after: int, until: int) -> int | None:
        """The first slot in (after, until], or None."""
        after, until = max(after, instants.MIN), min(until, instants.MAX)
        if after >= until:
            return None
        slot = self._next_elapsed(after, until) if self.follows_time else self._next_named(after)
        return slot if slot is not None and slot <= until else None

    def _next_named(self, after: int) -> int | None:
        zone = zones.zone(self.timezone)
        wall = self._match_after(after + walls.offset(after, zone))
        while wall is not None:
            slot = walls.resolve_once(wall, zone)
            if slot > after:
                return slot
            # Only in the second half of an overlap: its readings are over, they came in the first.
            wall = self._match_after(wall)
        return None

    def _next_elapsed(self, after: int, until: int) -> int | None:
        zone = zones.zone(self.timezone)
        start = after + 1  # no slot lies between `after` and here
        end = min(until, after + _HORIZON)
        while start <= end:
            offset = walls.offset(start, zone)
            wall = self._match_after(start + offset - 1)
            if wall is None:
                return None
            slot = wall - offset
            change = walls.change(start, min(slot, start + _WINDOW), zone)
            if change is not None:
                start = change
            elif slot <= start + _WINDOW:
                return slot
            else:
                start = slot - _WINDOW // 2
        return None

    def _match_after(self, wall: int) -> int | None:
        """The first matching reading strictly later than `wall`; None for none before the year 10000."""
        engine = copy.copy(self.engine)
        try:
            engine.dt = (_EPOCH + max(wall, instants.MIN) * _MILLISECOND).replace(microsecond=0)
            return (next(engine) - _EPOCH) // _MILLISECOND
        except (StopIteration, OverflowError):
            return None


@lru_cache(maxsize=4_096)
def parse(expression: str, timezone: str) -> Cron:
    """The slots of a cron expression in a zone. Raises Refused, also where it can never fire."""
    normal = fields.normalise(expression)
    name = walls.zone_name(timezone)
    try:
        engine = CronSim(normal, _EPOCH)
    except CronSimError as error:
        # The fields are good, so what is left is that no month of the list has such a day.
        raise Refused(
            "cron: this never fires, for no such month has that day. Write a day that the month has, or use kind "
            "calendar, such as rrule: FREQ=MONTHLY;BYMONTHDAY=-1, for the last day of the month.",
            "cron",
        ) from error
    minute, hour, *_ = normal.split()
    return Cron(
        expression=normal,
        timezone=name,
        follows_time=minute.startswith("*") or hour.startswith("*"),
        engine=engine,
    )
