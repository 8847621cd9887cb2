"""The owner: it delivers due reminders of live sessions, and ends leases that ran out.

Any number of owners may run, in any processes and machines that share the database: what is due is claimed under each
session's lock. :meth:`Owner.drive_once` is one step; :meth:`Owner.run` only repeats it.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from schedules import clock, heartbeat, horizon, live, transaction, workerid
from schedules.domain import codec, due, framing
from schedules.locked import Unit
from schedules.projection import rows
from schedules.sessions import events, log
from schedules.sessions.errors import PersistenceUncertain
from schedules.transaction import Batch

logger = logging.getLogger(__name__)

#: How soon it looks again at a session that was locked, in seconds.
LOCKED_SECONDS = 0.1
_RETRY_SECONDS = (1, 2, 5, 15, 60)
_RETRIES_KEPT = 10_000
_BEFORE_ALL = (-(2**62), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """What one step did.

    admitted: follow-ups queued.
    expired: leases ended.
    failed: sessions whose part failed; each is tried again later, on its own.
    locked: sessions that another holds; they are looked at again soon.
    more: whether there is more to do at once.
    wait: seconds to wait before the next step.
    """

    admitted: int = 0
    expired: int = 0
    failed: int = 0
    locked: int = 0
    more: bool = False
    wait: float


class Owner:
    """One owner of live delivery. Use it from one thread; ``request_drive`` and ``stop`` from any."""

    def __init__(self) -> None:
        self.id = workerid.new()
        self._alarm = clock.Alarm()
        self._stopping = False
        self._heart = heartbeat.Heart(self.id)
        self._horizon = horizon.Horizon()
        self._after = _BEFORE_ALL
        self._retries: dict[str, tuple[int, int]] = {}

    def run(self) -> None:
        """Drive until stopped; the step under way is finished. A database that does not answer is asked again."""
        # What an earlier run knew of SQLite's versions belonged to a connection that is closed.
        self._horizon = horizon.Horizon()
        transaction.listeners.append(self._committed)
        unanswered = 0
        try:
            while not self._stopping:
                try:
                    wait = self.drive_once().wait
                    unanswered = 0
                except PersistenceUncertain:
                    wait = _RETRY_SECONDS[min(unanswered, len(_RETRY_SECONDS) - 2)]
                    unanswered += 1
                    logger.warning("the database did not answer; the owner asks again in %s s", wait)
                    connection.close()
                    # What SQLite's versions tell belongs to the connection that is gone.
                    self._horizon = horizon.Horizon()
                if wait:
                    self._alarm.wait(wait)
            if not unanswered:
                self.leave()
        finally:
            transaction.listeners.remove(self._committed)
            connection.close()

    def leave(self) -> None:
        """Take the heartbeat away, so that a clean end is not taken for a death."""
        try:
            self._heart.stop()
        except PersistenceUncertain:
            logger.warning("the database did not answer; the owner's heartbeat stays until it is too old")

    def request_drive(self) -> None:
        """Have the next step run at once."""
        self._alarm.ring()

    def stop(self) -> None:
        """Finish the step under way and end :meth:`run`. Safe in a signal handler."""
        self._stopping = True
        self._alarm.ring()

    def drive_all(self) -> Drive:
        """Repeat the step until nothing more is due now; what was done in all.

        Waits only for locked sessions, no longer than a call waits for a lock; those left are counted as ``locked``.
        """
        total = Drive(wait=0)
        looks = round(settings.LOCK_SECONDS / LOCKED_SECONDS)
        while True:
            drive = self.drive_once()
            total = Drive(
                admitted=total.admitted + drive.admitted,
                expired=total.expired + drive.expired,
                failed=total.failed + drive.failed,
                locked=drive.locked,
                wait=drive.wait,
            )
            looks = looks - 1 if drive.locked and not drive.admitted else looks
            if not drive.more or self._stopping or not looks:
                return total
            self._alarm.wait(drive.wait)

    def drive_once(self) -> Drive:
        """End leases that ran out, admit one batch of what is due, and say when to come again.

        Raises PersistenceUncertain where the database does not answer; nothing is lost then.
        """
        with transaction.asking():
            now = clock.sample()
            self._heart.beat(now)
            if not self._horizon.reached(now):
                return Drive(wait=self._horizon.wait(now))
            lapsed = self._lapsed(now)
            page = self._page(now)
        found = [session_id for session_id in page if self._may_try(session_id, now)]
        ended = self._step(lapsed, _expire)
        queued = self._step(found, _admit)
        failed = [*ended.failed, *queued.failed]
        self._note_retries([*lapsed, *found], failed, now)
        admitted = _wrote(queued, events.FOLLOWUP_QUEUED)
        expired = _wrote(ended, events.SESSION_CLOSED) + _wrote(queued, events.SESSION_CLOSED)
        self._heart.count(admitted=admitted, failed=len(failed), lag_ms=self._horizon.lag(now))
        full = max(len(page), len(lapsed)) >= settings.WAKEFUL_BATCH_SESSIONS
        locked = len(ended.skipped) + len(queued.skipped)
        if full:
            wait = 0.0
        else:
            with transaction.asking():
                now = clock.sample()
                self._horizon.look(now)
            wait = min(self._horizon.wait(now), LOCKED_SECONDS if locked else horizon.POLL_SECONDS)
        return Drive(
            admitted=admitted,
            expired=expired,
            failed=len(failed),
            locked=locked,
            more=full or locked > 0,
            wait=wait,
        )

    def _step(self, session_ids: Sequence[str], action: Callable[[Sequence[Unit]], list[Unit]]) -> Batch:
        if not session_ids:
            return Batch(done=[], skipped=[], failed=[])
        return transaction.perform_each(session_ids, action)

    def _lapsed(self, now: int) -> list[str]:
        # Those that wait for their retry come on top: they must not hide the ones behind them.
        found = rows.fetch(
            "SELECT session_id FROM schedules_lease WHERE expires_at <= %s ORDER BY expires_at LIMIT %s",
            [now, settings.WAKEFUL_BATCH_SESSIONS + len(self._retries)],
        )
        lapsed = [row[0] for row in found if self._may_try(row[0], now)]
        return lapsed[: settings.WAKEFUL_BATCH_SESSIONS]

    def _page(self, now: int) -> list[str]:
        """The next sessions that are due, in the order of their targets; from the front again after the last page.

        Pages move on whatever becomes of their sessions, so that broken or locked ones never hide those behind them.
        """
        armed_at, session_id = self._after
        found = rows.fetch(
            "SELECT session_id, armed_at FROM schedules_sessionstate WHERE armed_at <= %s"
            " AND (armed_at > %s OR (armed_at = %s AND session_id > %s)) AND armed_at >= %s"
            " ORDER BY armed_at, session_id LIMIT %s",
            [now, armed_at, armed_at, session_id, armed_at, settings.WAKEFUL_BATCH_SESSIONS],
        )
        whole = len(found) == settings.WAKEFUL_BATCH_SESSIONS
        self._after = (found[-1][1], found[-1][0]) if whole else _BEFORE_ALL
        return [row[0] for row in found]

    def _may_try(self, session_id: str, now: int) -> bool:
        _, retry_at = self._retries.get(session_id, (0, now))
        # A clock that was set back must not put a retry off for longer than its wait.
        return retry_at <= now or retry_at > now + _RETRY_SECONDS[-1] * 1000

    def _note_retries(self, tried: Sequence[str], failed: Sequence[str], now: int) -> None:
        for session_id in set(tried) - set(failed):
            self._retries.pop(session_id, None)
        for session_id in failed:
            times, _ = self._retries.pop(session_id, (0, 0))
            wait = _RETRY_SECONDS[min(times, len(_RETRY_SECONDS) - 1)]
            self._retries[session_id] = (times + 1, now + wait * 1000)
        while len(self._retries) > _RETRIES_KEPT:
            self._retries.pop(next(iter(self._retries)))

    def _committed(self, units: Sequence[Unit]) -> None:
        """A hint from this process: something may have become due earlier than was known."""
        if any(self._horizon.nearer(unit) for unit in units):
            self._alarm.ring()


def _wrote(batch: Batch, kind: str) -> int:
    """In how many sessions an event of this type was written."""
    return sum(1 for unit in batch.done if any(event.type == kind for event in unit.appended))


def _expire(units: Sequence[Unit]) -> list[Unit]:
    return _each(units, live.expire)


def _admit(units: Sequence[Unit]) -> list[Unit]:
    """Queue what is due in each session; every session is written, so that none stays armed for nothing."""
    ready = {unit.session_id: unit for unit in units if unit.live and unit.projection.idle}
    if ready:
        # One decision time for the batch: all were locked before the sample was taken.
        for session_id, entry in rows.due_entries(list(ready), units[0].now):
            ready[session_id].projection.keep_entry(entry)
    return _each(units, _admit_one)


def _admit_one(unit: Unit) -> None:
    live.expire(unit)
    projection = unit.projection
    if not unit.live or not projection.idle or projection.corrupt_seq is not None:
        return
    admission = due.pick(projection.schedules.active, unit.now)
    if admission is None:
        return
    followup_id = log.new_id()
    projection.expect_new_followup(followup_id)
    unit.append(events.FOLLOWUP_QUEUED, framing.queued(admission, followup_id, framing.frame(admission)))
    for change in due.changes(admission):
        unit.append(events.SCHEDULE_CHANGE, codec.encode(change))


def _each(units: Sequence[Unit], action: Callable[[Unit], None]) -> list[Unit]:
    done = []
    for unit in units:
        try:
            action(unit)
        except Exception:
            # Whatever is wrong with one session, the others' part of the commit goes on; this one is tried again.
            logger.exception("session %s: its part failed and is left out", unit.session_id)
        else:
            done.append(unit)
    return done
