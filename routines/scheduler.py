"""The scheduler: it fires what is due, has runs worked, and takes over what silent workers left.

Any number may run, in any processes and machines that share the database. :meth:`Scheduler.drive_once` is one step;
:meth:`Scheduler.run` only repeats it.
"""

import logging
import os
import socket
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import connection

from routines import agents, dispatch, jobs, runs
from routines.tools.registry import Result
from routines.workers import Pool
from schedules import clock, transaction
from schedules.projection import rows
from schedules.sessions import log
from schedules.sessions.errors import PersistenceUncertain

logger = logging.getLogger(__name__)

#: How often a scheduler looks for what other processes made, in seconds.
POLL_SECONDS = 0.5
_RETRY_SECONDS = (1, 2, 5, 15)
_LAPSED_AT_ONCE = 100
_FORGET_EVENTS_MS = 24 * 3600 * 1000
_FORGET_EVERY_MS = 60 * 1000
_EVENTS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """What one step did.

    fired: jobs whose slots became runs.
    heard: events handled.
    begun: attempts begun.
    interrupted: runs taken from silent workers.
    more: whether there is more to do at once.
    wait: seconds to wait before the next step.
    """

    fired: int = 0
    heard: int = 0
    begun: int = 0
    interrupted: int = 0
    more: bool = False
    wait: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ahead:
    """The earliest instants at which there is something to do; None for never."""

    job: int | None
    run: int | None
    lease: int | None
    event: int | None

    def wait(self, now: int) -> float:
        """Seconds until the first, at most until the next poll."""
        seconds = min(POLL_SECONDS, settings.WAKEFUL_MAX_WAIT_SECONDS)
        for at in (self.job, self.run, self.lease):
            if at is not None and at > now:
                seconds = min(seconds, (at - now) / 1000)
        return 0.0 if self.event is not None else seconds


class Scheduler:
    """One scheduler. Use it from one thread; ``request_drive`` and ``stop`` from any."""

    def __init__(self) -> None:
        self.id = worker_id()
        self.pool = Pool(self.id, self.request_drive)
        self._agents = agents.Agents()
        self._alarm = clock.Alarm()
        self._stopping = False
        self._rearm_after: str | None = ""
        self._seen_at: int | None = None
        self._forgot_at = 0

    def run(self) -> None:
        """Drive until stopped, then have what is worked ended. A database that does not answer is asked again."""
        unanswered = 0
        while not self._stopping:
            try:
                wait = self.drive_once().wait
                unanswered = 0
            except PersistenceUncertain:
                wait = _RETRY_SECONDS[min(unanswered, len(_RETRY_SECONDS) - 1)]
                unanswered += 1
                logger.warning("the database did not answer; the scheduler asks again in %s s", wait)
                connection.close()
            if wait:
                self._alarm.wait(wait)
        self.leave()

    def leave(self) -> None:
        """Have what is worked ended, and wait for that."""
        self.pool.stop()
        self.pool.join()
        connection.close()

    def request_drive(self) -> None:
        """Have the next step run at once."""
        self._alarm.ring()

    def stop(self) -> None:
        """Finish the step under way and end :meth:`run`. Safe in a signal handler."""
        self._stopping = True
        self.pool.stop()
        self._alarm.ring()

    def drive_all(self) -> Drive:
        """Repeat the step until nothing is due now and nothing is worked any more; what was done in all.

        A run that waits for its retry is left to wait.
        """
        total = Drive()
        while not self._stopping:
            drive = self.drive_once()
            total = Drive(
                fired=total.fired + drive.fired,
                heard=total.heard + drive.heard,
                begun=total.begun + drive.begun,
                interrupted=total.interrupted + drive.interrupted,
            )
            if not drive.more and not self.pool.busy:
                # What ended between the step and this look may have left more to do.
                if not self._due_now():
                    break
            elif drive.wait:
                self._alarm.wait(drive.wait)
        return total

    def drive_once(self) -> Drive:
        """Fire a batch of what is due, take over what is silent, begin as many attempts as there is room for.

        Raises PersistenceUncertain where the database does not answer; nothing is lost then.
        """
        with transaction.asking():
            now = clock.sample()
            self._keep_house(now)
            ahead = self._look()
        fired = jobs.fire(now) if _reached(ahead.job, now) else 0
        heard = jobs.hear(now) if ahead.event is not None else 0
        interrupted = self._take_over(now) if _reached(ahead.lease, now) else 0
        begun = self._begin(now) if fired or heard or interrupted or _reached(ahead.run, now) else 0
        driven = self._agents.drive_once(now, self.pool.free)
        for held in driven.work:
            self.pool.call(partial(self._agents.answer, held, self.pool.cancelled))
        more = (
            fired == jobs.BATCH or heard == jobs.BATCH or interrupted == _LAPSED_AT_ONCE or driven.more or self._rearm()
        )
        if more:
            wait = 0.0
        elif fired or heard or interrupted or begun:
            with transaction.asking():
                now = clock.sample()
                wait = self._look().wait(now)
        else:
            wait = ahead.wait(now)
        return Drive(fired=fired, heard=heard, begun=begun, interrupted=interrupted, more=more, wait=wait)

    def _look(self) -> _Ahead:
        found = rows.fetch(
            "SELECT (SELECT fire_at FROM routines_job WHERE fire_at IS NOT NULL AND paused_at IS NULL"
            " ORDER BY fire_at LIMIT 1), (SELECT due_at FROM routines_run WHERE due_at IS NOT NULL"
            " ORDER BY due_at LIMIT 1), (SELECT min(lease_until) FROM routines_run WHERE lease_until IS NOT NULL),"
            " (SELECT id FROM routines_lifecycleevent WHERE handled_at IS NULL ORDER BY id LIMIT 1)",
            [],
        )
        return _Ahead(job=found[0][0], run=found[0][1], lease=found[0][2], event=found[0][3])

    def _due_now(self) -> bool:
        with transaction.asking():
            now = clock.sample()
            ahead = self._look()
            waits = bool(runs.waiting(now, 1))
        return ahead.event is not None or waits or _reached(ahead.job, now)

    def _begin(self, now: int) -> int:
        begun = 0
        if (free := self.pool.free) <= 0:
            return 0
        with transaction.asking():
            waiting = runs.waiting(now, free)
        for run_id in waiting:
            claimed = dispatch.claim(run_id, self.id, now)
            if claimed is not None:
                self.pool.work(claimed)
                begun += 1
        return begun

    def _take_over(self, now: int) -> int:
        with transaction.asking():
            lapsed = runs.lapsed(now, _LAPSED_AT_ONCE)
        silent = dispatch.Outcome(
            result=Result(ok=False, summary="The process that ran it went silent."), interrupted=True
        )
        return sum(dispatch.record(run, silent, now) for run in lapsed)

    def _rearm(self) -> bool:
        """Compute the next times of a batch of jobs anew, once after the start; whether there are more."""
        if self._rearm_after is None:
            return False
        self._rearm_after = jobs.rearm(self._rearm_after, clock.sample())
        return self._rearm_after is not None

    def _keep_house(self, now: int) -> None:
        if self._seen_at is None or now < self._seen_at:
            # The clock was set back, or may have been while nobody looked: no lease may last for years.
            with transaction.barrier():
                runs.shorten(now)
        self._seen_at = now
        if not 0 <= now - self._forgot_at < _FORGET_EVERY_MS:
            self._forgot_at = now
            with transaction.barrier():
                rows.execute(
                    "DELETE FROM routines_lifecycleevent WHERE id IN (SELECT id FROM routines_lifecycleevent"
                    " WHERE handled_at < %s ORDER BY handled_at LIMIT %s)",
                    [now - _FORGET_EVENTS_MS, _EVENTS_AT_ONCE],
                )


def worker_id() -> str:
    """By which a process holds its runs: two of one machine are two."""
    return f"{socket.gethostname()}:{os.getpid()}:{log.new_id()[-12:]}"


def _reached(at: int | None, now: int) -> bool:
    return at is not None and at <= now
