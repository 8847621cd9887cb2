"""When a routine is due: one small module per kind of schedule, behind one interface.

A slot is the nominal time of one firing, an instant in epoch milliseconds. Next slots strictly increase, every search
does a bounded amount of work, and one that finds nothing says so: None is "never". `routines.domain.timing` chooses the
module for a manifest's schedule.
"""

from typing import Protocol

from routines.domain.slots.refused import Refused

__all__ = ["Refused", "Slots"]


class Slots(Protocol):
    """The slots of one schedule. Equal texts with equal anchors give equal slots, in every process."""

    def next_after(self, after: int) -> int | None:
        """The first slot strictly later than `after`; None for never."""
        ...

    def between(self, after: int, until: int, limit: int) -> list[int]:
        """The slots in (after, until], oldest first, `limit` of them at most."""
        ...

    def latest_between(self, after: int, until: int) -> int | None:
        """The last slot in (after, until], or None; without visiting those before it."""
        ...
