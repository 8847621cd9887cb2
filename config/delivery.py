"""The owner in a thread of a process: it ends when told to, and never dies unseen."""

import logging
import threading

from schedules import clock
from schedules.owner import Owner

logger = logging.getLogger(__name__)

# After an error that nobody foresaw: soon at first, then without filling the log.
_RESTART_SECONDS = (1, 2, 5, 15, 60)


class Delivery:
    """Runs an owner until stopped, and starts it again should it ever break."""

    def __init__(self) -> None:
        self._owner = Owner()
        self._stopping = False
        self._pause = clock.Alarm()
        # Not a daemon: the step under way is finished even where the process ends otherwise.
        self._thread = threading.Thread(target=self._run, name="owner")

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Have it end after the step under way. Safe in a signal handler."""
        self._stopping = True
        self._owner.stop()
        self._pause.ring()

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        logger.info("the owner starts")
        broken = 0
        while not self._stopping:
            try:
                self._owner.run()
            except Exception:
                wait = _RESTART_SECONDS[min(broken, len(_RESTART_SECONDS) - 1)]
                broken += 1
                logger.exception("the owner broke; it starts again in %s s", wait)
                self._pause.wait(wait)
        logger.info("the owner has stopped")
