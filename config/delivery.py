"""What delivers, each loop in a thread of its own: it ends when told to, and never dies unseen."""

import logging
import threading
from typing import Protocol

from routines.scheduler import Scheduler
from routines.watch import Watcher
from schedules import clock
from schedules.owner import Owner

logger = logging.getLogger(__name__)

# After an error that nobody foresaw: soon at first, then without filling the log.
_RESTART_SECONDS = (1, 2, 5, 15, 60)


class Loop(Protocol):
    """What repeats one step until it is stopped."""

    def run(self) -> None:
        """Repeat until stopped."""

    def stop(self) -> None:
        """Finish the step under way and end. Safe in a signal handler."""


class Keeper:
    """Runs a loop until stopped, and starts it again should it ever break."""

    def __init__(self, name: str, loop: Loop) -> None:
        self._name = name
        self._loop = loop
        self._stopping = False
        self._pause = clock.Alarm()
        # Not a daemon: the step under way is finished even where the process ends otherwise.
        self._thread = threading.Thread(target=self._run, name=name)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Have it end after the step under way. Safe in a signal handler."""
        self._stopping = True
        self._loop.stop()
        self._pause.ring()

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        logger.info("the %s starts", self._name)
        broken = 0
        while not self._stopping:
            try:
                self._loop.run()
            except Exception:
                wait = _RESTART_SECONDS[min(broken, len(_RESTART_SECONDS) - 1)]
                broken += 1
                logger.exception("the %s broke; it starts again in %s s", self._name, wait)
                self._pause.wait(wait)
        logger.info("the %s has stopped", self._name)


class Delivery:
    """The owner of live delivery, the scheduler of routines and the watcher of their files: none waits for another."""

    def __init__(self) -> None:
        self._keepers = [
            Keeper("owner", Owner()),
            Keeper("scheduler", Scheduler()),
            Keeper("watcher", Watcher()),
        ]

    def start(self) -> None:
        """Begin to deliver."""
        for keeper in self._keepers:
            keeper.start()

    def stop(self) -> None:
        """Have all end after the step under way. Safe in a signal handler."""
        for keeper in self._keepers:
            keeper.stop()

    def join(self) -> None:
        """Wait until all have ended."""
        for keeper in self._keepers:
            keeper.join()
