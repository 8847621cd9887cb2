"""The kind `manual`: a routine that only a person or a program triggers."""

from dataclasses import dataclass

from routines.domain.slots.search import Never


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual(Never):
    """It has no slots, and no fields either."""
