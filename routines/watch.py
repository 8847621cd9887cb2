"""Watches the workspaces: a look that costs little, often, and a reconcile where something changed."""

import time

from django.conf import settings

from routines import registrar
from schedules.domain import instants

#: A look at what stands still is followed by a rest of so many times the processor's time that it took: a few
#: hundredths of one are spent. The time of a slow disk counts once.
REST = 15
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

    def step(self, now: int) -> float:
        """Look once, and reconcile where something changed; seconds until the next look.

        Raises PersistenceUncertain where the database does not answer; the next step tries again.
        """
        started, before = time.perf_counter(), time.thread_time()
        scan = self._registrar.look()
        used = time.thread_time() - before
        if scan.gone and not self._doubting:
            self._doubting = True
            return AGAIN_SECONDS
        self._doubting = False
        rest = settings.WAKEFUL_SCAN_SECONDS
        if scan.mark == self._mark and 0 <= now - self._reconciled_at < ANYWAY_MS:
            return max(rest, REST * used, time.perf_counter() - started)
        self._registrar.reconcile()
        first, self._mark, self._reconciled_at = self._mark is None, scan.mark, now
        # What changed was read as well, so the look tells nothing. Files that change all the time take a half at most;
        # after the start, when all are read, the next edit need not wait.
        return rest if first else max(rest, time.perf_counter() - started)
