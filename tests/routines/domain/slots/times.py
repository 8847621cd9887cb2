"""Instants of tests as people write them, and questions asked of slots in a row."""

from datetime import UTC, datetime, timedelta

from routines.domain.slots import Slots

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(text: str) -> int:
    """The instant of `2026-10-25T00:30Z` or any other ISO 8601 time with an offset, in epoch milliseconds."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)


def show(instant: int | None) -> str | None:
    """An instant to the minute, for messages that can be read."""
    if instant is None:
        return None
    return (EPOCH + timedelta(milliseconds=instant)).strftime("%Y-%m-%dT%H:%MZ")


def following(slots: Slots, after: str, count: int) -> list[str | None]:
    """The next slots, `count` of them at most; a None at the end says never."""
    found: list[str | None] = []
    instant: int | None = at(after)
    while instant is not None and len(found) < count:
        instant = slots.next_after(instant)
        found.append(show(instant))
    return found
