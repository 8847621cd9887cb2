"""The kind `interval`: equal steps from an anchor. Arithmetic only, so no gap is too long to step over."""

import re
from dataclasses import dataclass

from routines.domain.slots.refused import Refused
from routines.domain.slots.search import Searched
from schedules.domain import instants

SHORTEST = 5 * instants.SECOND

_UNITS = {"s": instants.SECOND, "m": instants.MINUTE, "h": 60 * instants.MINUTE, "d": instants.DAY}
_EVERY = re.compile(r"([0-9]{1,12})([smhd])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Searched):
    """The slots `anchor`, `anchor + step`, `anchor + 2 * step` and so on.

    anchor: the first slot, in epoch milliseconds. It is kept with the job: counted from the start of a process,
    a weekly interval would never come round on a host that restarts daily.
    step: in milliseconds, SHORTEST or more; a day is 24 hours, whatever the clocks do.
    """

    anchor: int
    step: int

    def next_after(self, after: int) -> int | None:
        """The first slot strictly later than `after`; None where it would leave the year 9999."""
        slot = self.anchor + max(0, (after - self.anchor) // self.step + 1) * self.step
        return slot if slot <= instants.MAX else None

    def latest_between(self, after: int, until: int) -> int | None:
        """The last slot in (after, until], or None."""
        until = min(until, instants.MAX)
        slot = self.anchor + (until - self.anchor) // self.step * self.step
        return slot if slot >= self.anchor and slot > after else None


def parse(every: str, anchor: int) -> Interval:
    """The slots of `every` (a number and `s`, `m`, `h` or `d`) from an anchor. Raises Refused.

    anchor: the instant of `from` (`parse_from`) or else of the registration, in epoch milliseconds.
    """
    match = _EVERY.fullmatch(every)
    if match is None:
        raise Refused(
            "every must be a whole number and one unit, s, m, h or d, without blanks: 90s, 5m, 12h or 7d.", "every"
        )
    step = int(match[1]) * _UNITS[match[2]]
    if step < SHORTEST:
        raise Refused("every must be at least 5 seconds: write 5s or more.", "every")
    return Interval(anchor=anchor, step=step)


def parse_from(text: str) -> int:
    """The instant of `from`, in epoch milliseconds. Raises Refused."""
    instant = instants.parse_offset(text)
    if instant is None or not instants.MIN <= instant <= instants.MAX:
        raise Refused(
            "from must be a real date and time with Z or an offset, such as 2030-01-31T09:00:00Z or "
            "2030-01-31T09:00:00+01:00.",
            "from",
        )
    return instant
