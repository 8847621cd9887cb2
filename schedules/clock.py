"""The one seam through which time enters: a sample of the wall clock, and waiting that is bounded and interruptible.

On PostgreSQL the sample is the database's own ``clock_timestamp()``, so that every machine shares one clock; on
SQLite, which serves one machine, it is the process's. Take one sample per operation, at its entry or right after its
lock, and pass it down.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from django.db import connection

_source: Callable[[], int] | None = None


def sample() -> int:
    """Now, in whole milliseconds since the epoch. Inside a transaction: the true time, not the transaction's start."""
    if _source is not None:
        return _source()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
            row = cursor.fetchone()
        return int(row[0])
    return time.time_ns() // 1_000_000


@contextmanager
def set_to(source: Callable[[], int]) -> Iterator[None]:
    """Take every sample from ``source`` while the block runs: a clock that a test or a simulation moves by hand."""
    global _source
    before, _source = _source, source
    try:
        yield
    finally:
        _source = before


class Alarm:
    """A wait that another thread, or a signal handler, can end at once.

    A ring that comes before the wait is not lost: it ends the next one. Waits are short and the wall clock is read
    anew after each, so neither a clock that is set nor a timer's upper limit matters.
    """

    def __init__(self) -> None:
        # Unlike an Event, it may be put into by a signal handler of the very thread that waits.
        self._rings: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """End the present wait, or else the next one."""
        if self._rings.empty():
            self._rings.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds``; whether it was rung."""
        try:
            self._rings.get(timeout=max(0.0, seconds))
        except Empty:
            return False
        while not self._rings.empty():
            self._rings.get()
        return True
