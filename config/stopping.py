"""Ctrl-C and SIGTERM: the first asks for a clean end, the second forces it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at the first signal while the block runs; the second one ends the process at once.

    ``stop`` runs between two steps of the main thread, so it must take no lock that this thread could hold.
    """

    def handle(*_: Any) -> None:
        for signum in _SIGNALS:
            signal.signal(signum, signal.SIG_DFL)
        stop()

    before = {signum: signal.signal(signum, handle) for signum in _SIGNALS}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
