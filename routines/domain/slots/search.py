"""What every kind of schedule can do once it can find its next slot."""

from schedules.domain import instants

_FIRST_LOOK = instants.MINUTE
_WIDEN = 4


class Searched:
    """A schedule that gives `next_after`; the catch-up questions are answered from it."""

    __slots__ = ()

    def next_after(self, after: int) -> int | None:
        """The first slot strictly later than `after`, in epoch milliseconds; None for never."""
        raise NotImplementedError

    def first_between(self, after: int, until: int) -> int | None:
        """The first slot in (after, until], or None. A kind whose search is long stops it at `until`."""
        slot = self.next_after(after)
        return slot if slot is not None and slot <= until else None

    def between(self, after: int, until: int, limit: int) -> list[int]:
        """The slots in (after, until], oldest first, `limit` of them at most."""
        found: list[int] = []
        while len(found) < limit and (slot := self.first_between(after, until)) is not None:
            found.append(slot)
            after = slot
        return found

    def latest_between(self, after: int, until: int) -> int | None:
        """The last slot in (after, until], or None.

        A year of missed minutes costs no more than a day of them does, nearly: the window grows backwards from
        `until` until it holds a slot and is then halved, so the number of searches is the logarithm of its width.
        """
        width = _FIRST_LOOK
        clear = until  # no slot lies in (clear, until]
        while True:
            low = max(after, until - width)
            slot = self.first_between(low, until)
            if slot is not None:
                break
            if low <= after:
                return None
            clear = low
            width *= _WIDEN
        while slot < clear:
            middle = (slot + clear) // 2
            later = self.first_between(middle, until)
            if later is None:
                clear = middle
            else:
                slot = later
        return slot


class Never(Searched):
    """A schedule that time does not fire."""

    __slots__ = ()

    def next_after(self, after: int) -> int | None:
        """None: there is no next time."""
        return None
