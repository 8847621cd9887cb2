"""The scheduler: it fires what is due, has runs worked, and takes over what silent workers left.

Any number may run, in any processes and machines that share the database. :meth:`Scheduler.drive_once` is one step;
:meth:`Scheduler.run` only repeats it.
"""

import logging
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import connection

from routines import agents, jobs, outcomes, runs
from routines.outcomes import Outcome
from routines.tools.registry import Result
from routines.workers import Pool
from schedules import clock, transaction, workerid
from schedules.projection import rows
from schedules.sessions.errors import PersistenceUncertain

logger = logging.getLogger(__name__)

#: How often a scheduler looks for what other processes made, in seconds.
POLL_SECONDS = 0.5
#: How soon it looks again at an event that another process holds, in seconds.
LOCKED_SECONDS = 0.1
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
        # One that is still there is being handled elsewhere, or came a moment ago.
        return min(seconds, LOCKED_SECONDS) if self.event is not None else seconds


class Scheduler:
    """One scheduler. Use it from one thread; ``request_drive`` and ``stop`` from any."""

    def __init__(self) -> None:
        self.id = workerid.new()
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
        """Repeat the step until nothing that is due now is left, and nothing is worked; what was done in all.

        What falls due meanwhile is left, so that this ends: a run that waits for its retry, a slot to come.
        """
        with transaction.asking():
            until = clock.sample()
        total = Drive()
        while not self._stopping:
            drive = self.drive_once(until)
            total = Drive(
                fired=total.fired + drive.fired,
                heard=total.heard + drive.heard,
                begun=total.begun + drive.begun,
                interrupted=total.interrupted + drive.interrupted,
            )
            if drive.more:
                continue
            if not self.pool.busy and not self._left(until):
                break
            self._alarm.wait(min(drive.wait, LOCKED_SECONDS))
        return total

    def drive_once(self, until: int | None = None) -> Drive:
        """Fire a batch of what is due, take over what is silent, begin as many attempts as there is room for.

        until: what falls due later is left alone. Raises PersistenceUncertain where the database does not answer;
        nothing is lost then.
        """
        with transaction.asking():
            now = clock.sample()
            self._keep_house(now)
            ahead = self._look()
        due = now if until is None else min(now, until)
        fired = jobs.fire(due) if _reached(ahead.job, due) else 0
        heard = jobs.hear(due) if ahead.event is not None else 0
        interrupted = self._take_over(now) if _reached(ahead.lease, now) else 0
        begun = self._begin(due, now) if fired or heard or interrupted or _reached(ahead.run, due) else 0
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

    def _left(self, until: int) -> bool:
        """Whether something that was due at an instant has not been begun yet."""
        with transaction.asking():
            ahead = self._look()
            return ahead.event is not None or _reached(ahead.job, until) or bool(runs.waiting(until, 1))

    def _begin(self, due: int, now: int) -> int:
        if not (free := self.pool.free):
            return 0
        with transaction.asking():
            waiting = runs.waiting(due, free)
        return sum(self.pool.begin(run_id, now) for run_id in waiting)

    def _take_over(self, now: int) -> int:
        with transaction.asking():
            lapsed = runs.lapsed(now, _LAPSED_AT_ONCE)
        silent = Outcome(result=Result(ok=False, summary="The process that ran it went silent."), interrupted=True)
        for run in lapsed:
            status = outcomes.record(run, silent, now)
            # Telling may take seconds, which neither reminders nor other jobs have.
            self.pool.call(partial(outcomes.tell, run, silent, status, now))
        return len(lapsed)

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


def _reached(at: int | None, now: int) -> bool:
    return at is not None and at <= now
