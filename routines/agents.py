"""Brings reminders to the agents of open sessions: whichever process finds one waiting claims it and runs the turn.

:meth:`Agents.drive_once` is one step, which only decides and claims; :meth:`Agents.answer` is the work that it gives
out. Any number of processes may do both.
"""

import json
import threading
from dataclasses import dataclass

from routines import adapters, agentsessions
from routines.agentsessions import Held, Task
from schedules import transaction, workerid
from schedules.projection import rows
from schedules.sessions import log

#: How long a session whose follow-up is being answered is held, unless renewed, in milliseconds.
LEASE_MS = 60_000
#: How many open sessions one step looks at.
PAGE = 500

# The longest that any row is held for: the first turn, which nobody renews.
_LONGEST_MS = (adapters.MOST_SECONDS + agentsessions.MARGIN_SECONDS) * 1000
_PAGE = (
    "SELECT session_id, user_id, task, worker, lease_until, session_lease, ends_at FROM routines_agentsession"
    " WHERE session_id > %s ORDER BY session_id LIMIT %s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """What one step did.

    work: sessions claimed for this process; each must be given to `answer`.
    ended: sessions that it closed, or gave up because another has them.
    taken: sessions of workers that died, opened anew.
    more: whether there is more to do at once.
    """

    work: tuple[Held, ...] = ()
    ended: int = 0
    taken: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """A row as it was read."""

    session_id: str
    user_id: int
    task: Task
    worker: str | None
    lease_until: int
    lease_id: str | None
    ends_at: int

    def held(self, worker: str, lease_id: str) -> Held:
        return Held(
            session_id=self.session_id,
            user_id=self.user_id,
            task=self.task,
            worker=worker,
            lease_id=lease_id,
            ends_at=self.ends_at,
        )

    def dead(self, now: int) -> bool:
        # One held for longer than anybody holds it is one from before the clock was set back.
        return self.worker is not None and not now < self.lease_until <= now + _LONGEST_MS


class Agents:
    """The agents' sessions as one process sees them. Drive it from one thread; ``answer`` may run in any."""

    def __init__(self) -> None:
        self.id = workerid.new()
        self._busy: set[str] = set()
        self._renewed_at = 0
        self._after = ""
        self._last = ""

    def drive_once(self, now: int, room: int) -> Drive:
        """Keep what this process holds, end what is done, take over from the dead, and claim up to ``room`` turns.

        Raises PersistenceUncertain where the database does not answer; nothing is lost then.
        """
        self._renew(now)
        with transaction.asking():
            found = self._page()
            awaited = _awaited([one.session_id for one in found if one.worker is None])
        ended = taken = 0
        waiting: list[Held] = []
        for one in found:
            if one.worker is None and one.lease_id is not None:
                active, queued = awaited.get(one.session_id, (0, 0))
                if one.ends_at <= now or not (active or queued):
                    ended += self._end(one, now)
                elif queued:
                    waiting.append(one.held(self.id, one.lease_id))
            elif one.dead(now) and one.session_id not in self._busy:
                taken += self._take_over(one, now)
        work = self._claim(waiting, now, room)
        return Drive(work=work, ended=ended, taken=taken, more=bool(self._after) or taken > 0)

    def answer(self, held: Held, cancelled: threading.Event) -> None:
        """Run the turn that a step has claimed. Once ``cancelled`` is set its follow-up goes back to the queue.

        Raises PersistenceUncertain where the database does not answer: another process takes the session over.
        """
        try:
            if cancelled.is_set():
                agentsessions.settle(held)
            else:
                agentsessions.answer(held, cancelled)
        finally:
            self._busy.discard(held.session_id)

    def _renew(self, now: int) -> None:
        """Prolong what is being answered here, well before it ends."""
        busy = sorted(self._busy.copy())
        if not busy or 0 <= now - self._renewed_at < LEASE_MS // 3:
            return
        with transaction.barrier():
            # Not one that its turn has just given up.
            rows.execute(
                "UPDATE routines_agentsession SET lease_until = %s WHERE worker = %s AND lease_until > 0 "
                f"AND session_id IN ({log.marks(busy)})",
                [now + LEASE_MS, self.id, *busy],
            )
        self._renewed_at = now

    def _page(self) -> list[_Open]:
        """The next open sessions in the order of their ids; from the front again after the last page."""
        found = rows.fetch(_PAGE, [self._after, PAGE])
        self._after = found[-1][0] if len(found) == PAGE else ""
        return [
            _Open(
                session_id=session_id,
                user_id=user_id,
                task=Task(**json.loads(task)),
                worker=worker,
                lease_until=lease_until,
                lease_id=lease_id,
                ends_at=ends_at,
            )
            for session_id, user_id, task, worker, lease_until, lease_id, ends_at in found
        ]

    def _end(self, one: _Open, now: int) -> bool:
        over = one.ends_at <= now
        if one.lease_id is None or not agentsessions.close(one.session_id, one.lease_id, at_any_rate=over):
            return False
        agentsessions.forget(one.session_id, None)
        return True

    def _take_over(self, one: _Open, now: int) -> bool:
        with transaction.barrier():
            won = rows.execute(
                "UPDATE routines_agentsession SET worker = %s, lease_until = %s"
                " WHERE session_id = %s AND worker = %s AND lease_until = %s",
                [self.id, now + LEASE_MS, one.session_id, one.worker, one.lease_until],
            )
        if not won:
            return False
        lease_id = agentsessions.reopen(one.session_id, one.task, one.ends_at, now)
        if lease_id is None:
            agentsessions.forget(one.session_id, self.id)
        else:
            agentsessions.settle(one.held(self.id, lease_id))
        return True

    def _claim(self, waiting: list[Held], now: int, room: int) -> tuple[Held, ...]:
        """Those that this process gets, beginning after the last one it got, so that none is passed over for ever."""
        waiting.sort(key=lambda held: (held.session_id <= self._last, held.session_id))
        if not waiting[:room]:
            return ()
        with transaction.barrier():
            won = tuple(
                held
                for held in waiting[:room]
                if rows.execute(
                    "UPDATE routines_agentsession SET worker = %s, lease_until = %s"
                    " WHERE session_id = %s AND worker IS NULL",
                    [self.id, now + LEASE_MS, held.session_id],
                )
            )
        self._busy.update(held.session_id for held in won)
        if won:
            self._last = won[-1].session_id
        return won


def _awaited(session_ids: list[str]) -> dict[str, tuple[int, int]]:
    """How many reminders are active in each session, and how many follow-ups wait."""
    if not session_ids:
        return {}
    found = rows.fetch(
        "SELECT session_id, CASE WHEN corrupt_seq IS NULL THEN active ELSE 0 END, waiting FROM schedules_sessionstate"
        f" WHERE session_id IN ({log.marks(session_ids)})",
        session_ids,
    )
    return {session_id: (active, waiting) for session_id, active, waiting in found}
