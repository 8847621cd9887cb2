"""From events to the open turn and the follow-ups that wait: a fold that takes whatever a log holds.

Imported logs are kept as they are, so nothing here raises: data of the wrong shape is read as absent.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from schedules.sessions import events, lossless
from schedules.sessions.events import Event

MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """The turn that is open.

    number: its number, from 1; never used again in the session.
    seq: of its `turn/start`.
    """

    number: int
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Followup:
    """A follow-up that is not done yet.

    id: its `followupId`.
    seq: of its `followup/queued`; the queue's order.
    attempt: the attempt that is running or comes next, from 1.
    state: `waiting`, `claimed` by the open turn, or `exhausted` after its last attempt.
    """

    id: str
    seq: int
    attempt: int
    state: Literal["waiting", "claimed", "exhausted"]


class Inbox:
    """The open turn and the follow-ups of one session, as its events tell.

    `followups` may be partial: to apply an event it is enough that it holds the follow-up that the event
    mentions (`mentioned`) and the claimed one, where they exist. One that is done or discarded is removed.
    """

    __slots__ = ("claimed", "followups", "last_turn", "turn")

    def __init__(
        self,
        *,
        turn: OpenTurn | None = None,
        last_turn: int = 0,
        claimed: str | None = None,
        followups: Iterable[Followup] = (),
    ) -> None:
        self.turn = turn
        self.last_turn = last_turn
        self.claimed = claimed
        self.followups: dict[str, Followup] = {followup.id: followup for followup in followups}

    @property
    def waiting(self) -> list[Followup]:
        """The follow-ups that a host may claim, oldest first."""
        return self._in_state("waiting")

    @property
    def exhausted(self) -> list[Followup]:
        """The follow-ups whose attempts are used up, oldest first."""
        return self._in_state("exhausted")

    def apply(self, event: Event) -> None:
        """Take in the next event. Never raises, whatever its data is."""
        if event.type == events.TURN_START:
            self._start(event)
        elif event.type == events.TURN_END:
            self._end(interrupted=events.member(event.data, "outcome") == "interrupted")
        elif event.type == events.FOLLOWUP_QUEUED:
            followup_id = mentioned(event)
            if followup_id is not None and followup_id not in self.followups:
                self.followups[followup_id] = Followup(id=followup_id, seq=event.seq, attempt=1, state="waiting")
        elif event.type == events.FOLLOWUP_DISCARDED:
            followup = self._waiting(mentioned(event))
            if followup is not None:
                del self.followups[followup.id]

    def _start(self, event: Event) -> None:
        # Only an imported log starts a turn inside another: the earlier one ended, by what is known, well.
        self._end(interrupted=False)
        given = lossless.safe_integer(events.member(event.data, "turn"))
        # A number addresses its turn (`/turns/{n}/end`), so it never repeats: an imported number that does
        # not rise is replaced.
        self.last_turn = given if given is not None and given > self.last_turn else self.last_turn + 1
        self.turn = OpenTurn(number=self.last_turn, seq=event.seq)
        followup = self._waiting(mentioned(event))
        if followup is not None:
            self.followups[followup.id] = replace(followup, state="claimed")
            self.claimed = followup.id

    def _end(self, *, interrupted: bool) -> None:
        self.turn = None
        followup = self.followups.pop(self.claimed, None) if self.claimed is not None else None
        self.claimed = None
        if followup is None or not interrupted:
            return
        if followup.attempt < MAX_ATTEMPTS:
            again = replace(followup, attempt=followup.attempt + 1, state="waiting")
        else:
            again = replace(followup, state="exhausted")
        self.followups[followup.id] = again

    def _waiting(self, followup_id: str | None) -> Followup | None:
        followup = self.followups.get(followup_id) if followup_id is not None else None
        return followup if followup is not None and followup.state == "waiting" else None

    def _in_state(self, state: str) -> list[Followup]:
        return sorted((f for f in self.followups.values() if f.state == state), key=lambda f: f.seq)


def mentioned(event: Event) -> str | None:
    """The id of the follow-up that the event names, if any; a `turn/end` concerns the claimed one without it."""
    if event.type not in (events.FOLLOWUP_QUEUED, events.FOLLOWUP_DISCARDED, events.TURN_START):
        return None
    followup_id = events.member(event.data, "followupId")
    return followup_id if isinstance(followup_id, str) else None


def replay(log: Iterable[Event], seed_length: int) -> Inbox:
    """The inbox of a session, from its events; a fork's inherited ones, before `seed_length`, count for nothing."""
    inbox = Inbox()
    for event in log:
        if event.seq >= seed_length:
            inbox.apply(event)
    return inbox
