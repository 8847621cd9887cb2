"""The durable record of a reminder: its fields, its JSON, its view, and how a recurring one advances."""

from typing import Literal

import msgspec

from schedules.domain import instants
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

Kind = Literal["after", "at", "every"]

MIN_EVERY_SECONDS = 300
MAX_AFTER_SECONDS = lossless.MAX_SAFE_INTEGER
MAX_EVERY_SECONDS = lossless.MAX_SAFE_INTEGER // instants.SECOND

# WhiteSpace and LineTerminator of ECMAScript. Python's own strip() differs in both directions.
_BLANK = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_SECONDS_KEYS = {"after": "afterSeconds", "every": "everySeconds"}

safe_integer = lossless.safe_integer


# Structs of msgspec here, in the codec and in the fold, where a frozen dataclass would do: a fold makes several for
# every event, and a dataclass takes five times as long to make.
class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One active reminder.

    id: unique and never reused in its session.
    kind: `after` a delay, `at` an instant, or `every` so many seconds.
    prompt: what to be reminded of; trimmed, not empty.
    scheduled_at: the target in epoch milliseconds; of `every`, the earliest occurrence not yet dispatched.
    seconds: the delay of `after`, the interval of `every`; None for `at`.
    """

    id: str
    kind: Kind
    prompt: str
    scheduled_at: int
    seconds: int | None


def to_json(record: Record) -> dict[str, Json]:
    """The record as a `schedule/change` stores it."""
    value: dict[str, Json] = {"id": record.id, "kind": record.kind, "prompt": record.prompt}
    if record.seconds is not None:
        value[_SECONDS_KEYS[record.kind]] = record.seconds
    value["scheduledAt"] = instants.render(record.scheduled_at)
    return value


def view(record: Record, now: int) -> dict[str, Json]:
    """The record as the tools answer it; overdue from its target on."""
    state = "overdue" if now >= record.scheduled_at else "scheduled"
    return {**to_json(record), "state": state, "deliveryMode": "session-local"}


def trim(text: str) -> str:
    """The text without blanks at its ends, as ECMAScript's `String.prototype.trim` does it."""
    return text.strip(_BLANK)


def advance(target: int, interval: int, accepted: int) -> tuple[int, int | None]:
    """The latest occurrence due at a decision, and the next target, or None where that leaves the year 9999.

    target: the earliest occurrence not dispatched; interval: above 0; accepted: the decision, not before the
    target; all in milliseconds. Missed occurrences are stepped over, never enumerated.
    """
    occurrence = target + (accepted - target) // interval * interval
    following = occurrence + interval
    return occurrence, following if following <= instants.MAX else None
