"""A pool of bounded size in which runs are worked, so that a slow tool delays neither reminders nor other jobs."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from django.conf import settings
from django.db import connection

from routines import dispatch, runs

T = TypeVar("T")


@dataclass(slots=True)
class Pool:
    """Works up to ``WAKEFUL_WORKERS`` runs at a time.

    worker: by which id it holds its runs.
    ended: called in a worker's thread after each.
    """

    worker: str
    ended: Callable[[], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    _threads: ThreadPoolExecutor = field(init=False)
    _busy: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(settings.WAKEFUL_WORKERS, thread_name_prefix="run")

    @property
    def free(self) -> int:
        """How many more it can take now."""
        return 0 if self.cancelled.is_set() else settings.WAKEFUL_WORKERS - self._busy

    @property
    def busy(self) -> int:
        """How many are worked now."""
        return self._busy

    def work(self, run: runs.Claimed) -> "Future[dispatch.Outcome]":
        """Make an attempt of a claimed run."""
        return self.call(lambda: dispatch.work(run, self.cancelled))

    def call(self, job: Callable[[], T]) -> "Future[T]":
        """Do any other piece of work that takes a worker's place."""
        with self._lock:
            self._busy += 1
        return self._threads.submit(self._one, job)

    def _one(self, job: Callable[[], T]) -> T:
        try:
            return job()
        finally:
            connection.close()
            with self._lock:
                self._busy -= 1
            self.ended()

    def stop(self) -> None:
        """Tell what is worked to end, and take no more. Safe in a signal handler."""
        self.cancelled.set()

    def join(self) -> None:
        """Wait until nothing is worked any more: a tool that does not end when told to is left behind."""
        self._threads.shutdown(wait=True)
