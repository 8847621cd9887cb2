"""Watches the workspaces: a look that costs little, often, and a reconcile where something changed."""

import logging
import time

from django.conf import settings
from django.db import connection

from routines import registrar
from schedules import clock
from schedules.domain import instants
from schedules.sessions.errors import PersistenceUncertain

logger = logging.getLogger(__name__)

_UNANSWERED_SECONDS = 5

#: A look at what stands still is followed by a rest of so many times the processor's time that it took: a few
#: hundredths of one are spent. The time of a slow disk counts once.
REST = 12
#: How soon after something has gone there is a second look, in seconds. Many programs save a file by taking the old
#: one away first, and its job must not go with it.
AGAIN_SECONDS = 0.25
#: How long nothing is reconciled where no manifest changes. Users, grants and workflows' files matter too.
ANYWAY_MS = instants.MINUTE


class Watcher:
    """One watcher. Use it from one thread; any number of processes may have one."""

    def __init__(self, of: registrar.Registrar = registrar.OWN) -> None:
        self._registrar = of
        self._mark: int | None = None
        self._reconciled_at = 0
        self._doubting = False
        self._alarm = clock.Alarm()
        self._stopping = False

    def run(self) -> None:
        """Look until stopped. A database that does not answer is asked again."""
        while not self._stopping:
            try:
                wait = self.step(clock.sample())
            except PersistenceUncertain:
                logger.warning(
                    "the database did not answer; the files are looked at again in %s s", _UNANSWERED_SECONDS
                )
                wait = _UNANSWERED_SECONDS
            connection.close()
            self._alarm.wait(wait)

    def stop(self) -> None:
        """Finish the look under way and end :meth:`run`. Safe in a signal handler."""
        self._stopping = True
        self._alarm.ring()

    def step(self, now: int) -> float:
        """Look once, and reconcile where something changed; seconds until the next look.

        Raises PersistenceUncertain where the database does not answer; the next step tries again.
        """
        started, before = time.perf_counter(), time.thread_time()
        scan = self._registrar.look()
        if scan.gone and not self._doubting:
            self._doubting = True
            return AGAIN_SECONDS
        self._doubting = False
        rest = settings.WAKEFUL_SCAN_SECONDS
        if scan.mark == self._mark and 0 <= now - self._reconciled_at < ANYWAY_MS:
            return max(rest, REST * (time.thread_time() - before), time.perf_counter() - started)
        self._registrar.reconcile()
        first, self._mark, self._reconciled_at = self._mark is None, scan.mark, now
        # What changed was read as well, so the look tells nothing. Files that change all the time take half a processor
        # at most; after the start, when all are read, the next edit need not wait.
        return rest if first else max(rest, time.thread_time() - before)
