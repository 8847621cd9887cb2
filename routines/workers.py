"""A pool of bounded size in which runs are worked, so that a slow tool delays neither reminders nor other jobs."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import connection

from routines import dispatch, outcomes

logger = logging.getLogger(__name__)


class Pool:
    """Works up to ``WAKEFUL_WORKERS`` pieces of work at a time, each in a thread. Use it from any thread.

    worker: by which id it holds its runs.
    ended: called in a worker's thread after each piece.
    """

    def __init__(self, worker: str, ended: Callable[[], None]) -> None:
        self.worker = worker
        self.cancelled = threading.Event()
        self._ended = ended
        self._busy = 0
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(settings.WAKEFUL_WORKERS, thread_name_prefix="run")

    @property
    def busy(self) -> int:
        """How many are worked now."""
        return self._busy

    @property
    def free(self) -> int:
        """How many more it could take now."""
        return 0 if self.cancelled.is_set() else max(0, settings.WAKEFUL_WORKERS - self._busy)

    def begin(self, run_id: str, now: int) -> bool:
        """Claim a run for its next attempt and work it; False where there is no room, or another was quicker.

        Room is taken before the run: a claimed run that waits for a thread would lose its lease. Raises
        PersistenceUncertain.
        """
        with self._lock:
            if not self.free:
                return False
            self._busy += 1
        try:
            claimed = outcomes.claim(run_id, self.worker, now)
        except BaseException:
            self._release()
            raise
        if claimed is None:
            self._release()
            return False
        self._threads.submit(self._one, lambda: dispatch.work(claimed, self.cancelled))
        return True

    def call(self, work: Callable[[], object]) -> None:
        """Do any other piece of work, in a worker's place or, where all are taken, after one."""
        with self._lock:
            self._busy += 1
        self._threads.submit(self._one, work)

    def stop(self) -> None:
        """Tell what is worked to end, and take no more. Safe in a signal handler."""
        self.cancelled.set()

    def join(self) -> None:
        """Wait until nothing is worked any more; a tool that does not end when told to is left behind."""
        self._threads.shutdown(wait=True)

    def _one(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception:
            # Nobody waits for what a thread of the pool raises: unlogged, it would be lost.
            logger.exception("a piece of work broke")
        finally:
            connection.close()
            self._release()
            self._ended()

    def _release(self) -> None:
        with self._lock:
            self._busy -= 1
