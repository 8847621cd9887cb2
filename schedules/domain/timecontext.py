"""What a model is told about the time and the place that a turn's words are meant in."""

from collections.abc import Iterable

from schedules.domain import instants
from schedules.sessions.lossless import Json


def context(zones: Iterable[str | None], now: int) -> dict[str, Json]:
    """The time context of a turn, from the zones that its user messages carry (None: no zone was given).

    ``now`` is in epoch milliseconds. The zone is guidance for reading what the person wrote, never a
    default: the model still has to pass an offset or a ``time_zone``.
    """
    named = sorted({zone for zone in zones if zone is not None})
    moment = instants.render(min(now, instants.MAX))
    if len(named) == 1:
        zone = named[0]
        return {
            "now": moment,
            "provenance": "unique",
            "timeZone": zone,
            "text": f"It is {moment}. Read dates and times that the user gives without a zone in {zone}, and "
            "pass that zone as time_zone, or its offset, when you schedule something.",
        }
    why = "The user's messages come from several time zones" if named else "The user's time zone is not known"
    return {
        "now": moment,
        "provenance": "mixed" if named else "missing",
        "text": f"It is {moment}. {why}: ask which zone is meant before you schedule anything at a date or "
        "time given without one.",
    }
