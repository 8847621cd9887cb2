"""The kind `event`: a routine that waits for something to happen, not for a time."""

from dataclasses import dataclass

from routines.domain.slots.search import Never


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Never):
    """It has no slots. What it waits for is the event bus's matter, so nothing of it is kept here."""
