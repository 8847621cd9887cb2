"""The fold of `schedule/change` events: which reminders are active, and which ids were ever used."""

from collections.abc import Callable, Iterable

import msgspec

from schedules.domain import codec, instants, records
from schedules.domain.errors import CorruptLog
from schedules.sessions import events
from schedules.sessions.events import Event


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An active reminder.

    record: the reminder as it stands.
    seq: of the event that created it; the order of creation.
    """

    record: records.Record
    seq: int


class Fold:
    """What the changes of one session amount to.

    `entries` has every id ever created, with None where the reminder has ended; `created` is their number.
    `entries` may be partial: to apply a change it is enough that it holds the id that the change names, if
    that ever existed.
    """

    __slots__ = ("created", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, Entry | None] = {}
        self.created = 0

    @property
    def active(self) -> list[Entry]:
        """The active reminders in the order of their creation."""
        return sorted((entry for entry in self.entries.values() if entry is not None), key=_seq)

    def apply(self, change: codec.Change, seq: int) -> None:
        """Take in the change of the event `seq`. Raises CorruptLog, and changes nothing, where it does not fit."""
        if isinstance(change, codec.Create):
            schedule_id = change.record.id
            if schedule_id in self.entries:
                raise CorruptLog("an id is created twice", seq)
            self.entries[schedule_id] = Entry(record=change.record, seq=seq)
            self.created += 1
            return
        entry = self.entries.get(change.id)
        if entry is None:
            raise CorruptLog("a change names an id that is not active", seq)
        if isinstance(change, codec.Delete):
            self.entries[change.id] = None
        else:
            self.entries[change.id] = _dispatched(entry, change.accepted_at, seq)


def replay(log: Iterable[Event], seed_length: int) -> Fold:
    """Fold the events of a session from `seed_length` on. Raises CorruptLog with the seq of the first bad event."""
    fold = Fold()
    for event in log:
        if event.type == events.SCHEDULE_CHANGE and event.seq >= seed_length:
            try:
                change = codec.decode(event.data)
            except CorruptLog as error:
                raise error.at(event.seq) from None
            fold.apply(change, event.seq)
    return fold


def replay_text(rows: Iterable[tuple[int, str, str]], seed_length: int) -> Fold:
    """`replay` over rows as the database keeps them: (seq, type, JSON text of the data)."""
    fold = Fold()
    for seq, event_type, text in rows:
        if event_type == events.SCHEDULE_CHANGE and seq >= seed_length:
            try:
                change = codec.decode_text(text)
            except CorruptLog as error:
                raise error.at(seq) from None
            fold.apply(change, seq)
    return fold


def check_seed_length(seed_length: int, length: int) -> None:
    """Raise CorruptLog where a whole log of `length` events cannot have inherited `seed_length` of them.

    Not part of `replay`, which is also given the events of a fork alone, without their prefix.
    """
    if not 0 <= seed_length <= length:
        raise CorruptLog("the seed length lies outside the log")


def next_id(created: int, seen: Callable[[str], bool]) -> str:
    """The id of the next reminder: `schedule-N`, N from `created` + 1 on, past ids that were ever used."""
    number = created + 1
    while seen(schedule_id := f"schedule-{number}"):
        number += 1
    return schedule_id


def _dispatched(entry: Entry, accepted_at: int | None, seq: int) -> Entry | None:
    record = entry.record
    if record.kind != "every" or record.seconds is None:
        if accepted_at is not None:
            raise CorruptLog("a one-shot is dispatched with acceptedAt", seq)
        return None
    if accepted_at is None or accepted_at < record.scheduled_at:
        raise CorruptLog("an every is dispatched without acceptedAt or before its target", seq)
    _, following = records.advance(record.scheduled_at, record.seconds * instants.SECOND, accepted_at)
    if following is None:
        return None
    advanced = records.Record(
        id=record.id, kind="every", prompt=record.prompt, scheduled_at=following, seconds=record.seconds
    )
    return Entry(record=advanced, seq=entry.seq)


def _seq(entry: Entry) -> int:
    return entry.seq
