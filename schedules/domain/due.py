"""Which reminders one follow-up takes, and the changes that record it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from schedules.domain import codec, instants, records
from schedules.domain.fold import Entry

# One arithmetic for what a follow-up shows and what the fold makes of its dispatch.
advance = records.advance


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """One reminder inside a follow-up.

    id: of its record.
    occurrence: the instant it was due, in epoch milliseconds; of `every`, the latest one due.
    prompt: of its record.
    """

    id: str
    occurrence: int
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The reminders that one follow-up takes.

    kind: a `one-shot` alone, or a `batch` of every reminders.
    reminders: in the order of the follow-up; never empty.
    accepted_at: the decision time, in epoch milliseconds.
    """

    kind: Literal["one-shot", "batch"]
    reminders: tuple[Reminder, ...]
    accepted_at: int


def pick(active: Iterable[Entry], now: int) -> Admission | None:
    """What a session's next follow-up takes at `now`, in epoch milliseconds; None where nothing is due.

    The earliest one-shot alone, in target then creation order; with none due, every overdue `every` record
    once, with its latest due occurrence.
    """
    # A clock past the year 9999 could not be written down.
    accepted_at = min(now, instants.MAX)
    overdue = sorted(
        (entry for entry in active if entry.record.scheduled_at <= accepted_at),
        key=lambda entry: (entry.record.scheduled_at, entry.seq),
    )
    for entry in overdue:
        if entry.record.seconds is None or entry.record.kind != "every":
            return Admission(
                kind="one-shot", reminders=(_reminder(entry.record, accepted_at),), accepted_at=accepted_at
            )
    if not overdue:
        return None
    reminders = tuple(_reminder(entry.record, accepted_at) for entry in overdue)
    return Admission(kind="batch", reminders=reminders, accepted_at=accepted_at)


def changes(admission: Admission) -> list[codec.Change]:
    """The dispatches that record the admission, in its order."""
    accepted_at = admission.accepted_at if admission.kind == "batch" else None
    return [codec.Dispatch(id=reminder.id, accepted_at=accepted_at) for reminder in admission.reminders]


def _reminder(record: records.Record, accepted_at: int) -> Reminder:
    occurrence = record.scheduled_at
    if record.kind == "every" and record.seconds is not None:
        occurrence, _ = advance(record.scheduled_at, record.seconds * instants.SECOND, accepted_at)
    return Reminder(id=record.id, occurrence=occurrence, prompt=record.prompt)
