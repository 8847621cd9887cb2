"""One session's projection in memory: the fold of its log, partly loaded.

It applies events with the pure reducers of the core and loads only the rows that those events name, so that no call
reads the whole log or every row. An ordinary call, catching up and a rebuild from nothing are the same few lines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from schedules.domain import codec, errors, fold
from schedules.domain.fold import Entry, Fold
from schedules.projection import rows
from schedules.sessions import events, inbox, lossless
from schedules.sessions.inbox import Followup, Inbox

_INBOX_TYPES = frozenset((events.TURN_START, events.TURN_END, events.FOLLOWUP_QUEUED, events.FOLLOWUP_DISCARDED))


@dataclass(slots=True, kw_only=True)
class Projection:
    """One session's projection, partly loaded. Change it only through :meth:`apply`."""

    session_id: str
    stored: bool
    folded_through: int
    waiting: int = 0
    exhausted: int = 0
    active: int = 0
    corrupt_seq: int | None = None
    inbox: Inbox = field(default_factory=Inbox)
    schedules: Fold = field(default_factory=Fold)
    stored_entries: set[str] = field(default_factory=set)
    changed_entries: dict[str, None] = field(default_factory=dict)
    stored_followups: set[str] = field(default_factory=set)
    changed_followups: dict[str, None] = field(default_factory=dict)
    wiped: bool = False
    touched: bool = False
    _absent_entries: set[str] = field(default_factory=set)
    _absent_followups: set[str] = field(default_factory=set)

    @property
    def idle(self) -> bool:
        """No turn is open and no follow-up waits."""
        return self.inbox.turn is None and self.waiting == 0

    def apply(self, event: events.Event) -> None:
        """Fold one event, the next after ``folded_through``, into this projection."""
        if event.type == events.SCHEDULE_CHANGE:
            self._apply_change(event)
        elif event.type in _INBOX_TYPES:
            self._apply_inbox(event)
        self.folded_through = event.seq
        self.touched = True

    def ever_created(self, schedule_id: str) -> bool:
        """Whether a reminder id was ever used in this session."""
        self.load_entries([schedule_id])
        return schedule_id in self.schedules.entries

    def next_schedule_id(self) -> str:
        """The id that the next reminder gets."""
        return fold.next_id(self.schedules.created, self.ever_created)

    def entry(self, schedule_id: str) -> Entry | None:
        """An active reminder, or None."""
        self.load_entries([schedule_id])
        return self.schedules.entries.get(schedule_id)

    def load_entries(self, schedule_ids: Iterable[str]) -> None:
        """Have the rows of these reminder ids in memory, or know that there are none."""
        wanted = [i for i in schedule_ids if i not in self.schedules.entries and i not in self._absent_entries]
        if not wanted:
            return
        found = rows.entries(self.session_id, wanted) if self.stored else {}
        self.schedules.entries.update(found)
        self.stored_entries.update(found)
        self._absent_entries.update(set(wanted) - set(found))

    def keep_entry(self, entry: Entry) -> None:
        """Take an active reminder whose row the caller has read under this session's lock."""
        if entry.record.id not in self.schedules.entries:
            self.schedules.entries[entry.record.id] = entry
            self.stored_entries.add(entry.record.id)

    def active_entries(self) -> list[Entry]:
        """Every active reminder, in creation order."""
        if self.stored and not self.wiped:
            for entry in rows.active_entries(self.session_id):
                self.keep_entry(entry)
        return self.schedules.active

    def expect_new_followup(self, followup_id: str) -> None:
        """Know, without asking the database, that a freshly made follow-up id is not stored."""
        self._absent_followups.add(followup_id)

    def load_followup(self, followup_id: str) -> None:
        """Have the row of a follow-up in memory, or know that there is none."""
        if followup_id in self.inbox.followups or followup_id in self._absent_followups:
            return
        found = rows.followup(self.session_id, followup_id) if self.stored else None
        if found is None:
            self._absent_followups.add(followup_id)
        else:
            self._keep_followup(found)

    def oldest_waiting(self) -> Followup | None:
        """The follow-up that the next claim takes, or None."""
        if self.waiting and self.stored:
            found = rows.oldest_waiting(self.session_id)
            if found is not None and found.id not in self.inbox.followups:
                self._keep_followup(found)
        return next(iter(self.inbox.waiting), None)

    def _keep_followup(self, found: Followup) -> None:
        self.inbox.followups[found.id] = found
        self.stored_followups.add(found.id)

    def _apply_change(self, event: events.Event) -> None:
        if self.corrupt_seq is not None:
            return
        try:
            change = codec.decode(event.data)
            schedule_id = change.record.id if isinstance(change, codec.Create) else change.id
            self.load_entries([schedule_id])
            before = self.schedules.entries.get(schedule_id)
            self.schedules.apply(change, event.seq)
        except errors.CorruptLog:
            self._corrupt(event.seq)
            return
        after = self.schedules.entries.get(schedule_id)
        self.active += (after is not None) - (before is not None)
        self.changed_entries[schedule_id] = None

    def _corrupt(self, seq: int) -> None:
        """A log that does not fold has no reminders: nothing is guessed."""
        self.corrupt_seq = seq
        self.active = 0
        self.schedules = Fold()
        self.stored_entries.clear()
        self.changed_entries.clear()
        self.wiped = True

    def _apply_inbox(self, event: events.Event) -> None:
        mentioned = inbox.mentioned(event)
        touched = [i for i in (mentioned, self.inbox.claimed) if i is not None]
        for followup_id in touched:
            self.load_followup(followup_id)
        before = {i: self.inbox.followups.get(i) for i in touched}
        self.inbox.apply(event)
        for followup_id, old in before.items():
            new = self.inbox.followups.get(followup_id)
            if new != old:
                self.changed_followups[followup_id] = None
                self.waiting += _is(new, "waiting") - _is(old, "waiting")
                self.exhausted += _is(new, "exhausted") - _is(old, "exhausted")


def blank(session_id: str, *, seed_length: int) -> Projection:
    """The projection of a session of which nothing is folded yet."""
    return Projection(session_id=session_id, stored=False, folded_through=seed_length - 1)


def from_row(session_id: str, row: Sequence[Any]) -> Projection:
    """The projection as its row tells it: the columns that ``rows.STATE_COLUMNS`` names, in that order."""
    (through, created, active, turn, turn_seq, last_turn, claimed, waiting, exhausted, corrupt_seq) = row
    projection = Projection(
        session_id=session_id,
        stored=True,
        folded_through=through,
        active=active,
        waiting=waiting,
        exhausted=exhausted,
        corrupt_seq=corrupt_seq,
    )
    projection.schedules.created = created
    projection.inbox.last_turn = last_turn
    if turn is not None:
        projection.inbox.turn = inbox.OpenTurn(number=turn, seq=turn_seq)
    if claimed is not None:
        projection.inbox.claimed = str(lossless.loads_trusted(claimed))
    return projection


def _is(followup: Followup | None, state: str) -> bool:
    return followup is not None and followup.state == state
