"""The hub that wakes long polls and streams of this process when a session's log has grown.

What this process commits wakes them at once. What others commit is found by one look for all who wait, taken only
while somebody does. Nobody who waits holds a transaction or a connection.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from django.db import connection, connections

from schedules import transaction
from schedules.locked import Unit
from schedules.projection import rows
from schedules.sessions import log

logger = logging.getLogger(__name__)

#: How often the hub looks for what other processes wrote, in seconds.
LOOK_SECONDS = 0.2
_AFTER_AN_ERROR_SECONDS = 1.0
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What the hub knows of a session whose log has grown.

    last: the last seq of the log; -1 where it is empty.
    waiting: how many follow-ups wait.
    lease_id: of the lease that was taken last, if nobody gave it back.
    """

    last: int = -1
    waiting: int = 0
    lease_id: str | None = None


def anything(sight: Sight) -> bool:
    """What a watcher wants who is to see every event."""
    return True


class Watcher:
    """One who waits for a session. A wake that comes before the wait ends the next one."""

    def __init__(self, wanted: Callable[[Sight], bool]) -> None:
        self.wanted = wanted
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """End the present wait, or else the next one. Only from the event loop's thread."""
        self._woken.set()

    async def changed(self, seconds: float) -> bool:
        """Wait at most ``seconds``; whether woken. At times it is woken for nothing: look before you act."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


@dataclass(slots=True, kw_only=True)
class _Watched:
    """A session that somebody waits for. ``seen`` is None before the first look."""

    seen: Sight | None = None
    watchers: set[Watcher] = field(default_factory=set)


class Hub:
    """All who wait in one process. Use it from one event loop; ``close`` from anywhere."""

    def __init__(self) -> None:
        self.closing = False
        self._watched: dict[str, _Watched] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def watch(self, session_id: str, wanted: Callable[[Sight], bool] = anything) -> AsyncIterator[Watcher]:
        """A watcher of the session while the block runs, woken when its log has grown to what is ``wanted``.

        Enter it *before* reading the session: no change is missed.
        """
        watcher = Watcher(wanted)
        if self.closing:
            watcher.wake()
        watched = self._watched.setdefault(session_id, _Watched())
        watched.watchers.add(watcher)
        self._start()
        try:
            yield watcher
        finally:
            watched.watchers.discard(watcher)
            if not watched.watchers:
                del self._watched[session_id]

    def close(self) -> None:
        """Wake everybody, for good: the server stops. Safe in any thread and in a signal handler."""
        self.closing = True
        if self._loop is not None:
            _call(self._loop, self._wake_all)

    def _wake_all(self) -> None:
        for watched in self._watched.values():
            for watcher in watched.watchers:
                watcher.wake()

    def _start(self) -> None:
        if self._looking is None or self._looking.done():
            self._loop = asyncio.get_running_loop()
            transaction.listeners.append(self._committed)
            self._looking = self._loop.create_task(self._look_while_watched())

    def _committed(self, units: Sequence[Unit]) -> None:
        """A commit of this process, told by the thread that made it."""
        grown = {
            unit.session_id: Sight(
                last=unit.projection.folded_through,
                waiting=unit.projection.waiting,
                lease_id=None if unit.lease is None else unit.lease.lease_id,
            )
            for unit in units
            if unit.appended and unit.session_id in self._watched
        }
        if grown and self._loop is not None:
            _call(self._loop, self._note, grown)

    def _note(self, sights: Mapping[str, Sight]) -> None:
        for session_id, sight in sights.items():
            watched = self._watched.get(session_id)
            # A first look counts as growth: whatever was written since the watch began is in it.
            if watched is not None and (watched.seen is None or sight.last > watched.seen.last):
                watched.seen = sight
                for watcher in watched.watchers:
                    if watcher.wanted(sight):
                        watcher.wake()

    async def _look_while_watched(self) -> None:
        loop = asyncio.get_running_loop()
        eye = _Eye()
        # One thread for all looks: SQLite's sign of a change is kept by a connection, and Django's by a thread.
        thread = ThreadPoolExecutor(1, thread_name_prefix="wake")
        pause = LOOK_SECONDS
        try:
            while True:
                await asyncio.sleep(pause)
                if not self._watched:
                    return
                unseen = [i for i, watched in self._watched.items() if watched.seen is None]
                try:
                    self._note(await loop.run_in_executor(thread, eye.look, list(self._watched), unseen))
                    pause = LOOK_SECONDS
                except Exception:
                    # Whatever it was, those who wait must not wait in vain ever after.
                    logger.warning("the hub could not look for what others wrote", exc_info=True)
                    pause = _AFTER_AN_ERROR_SECONDS
        finally:
            # Looked up where it runs: `connection.close` would be this thread's.
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)
            transaction.listeners.remove(self._committed)


class _Eye:
    """Sees what other processes wrote. Use it from one thread, which keeps its connection."""

    def __init__(self) -> None:
        self._version: int | None = None

    def look(self, session_ids: Sequence[str], unseen: Sequence[str]) -> dict[str, Sight]:
        """Each of these sessions, or the unseen ones alone where nothing was written since."""
        try:
            return self._look(session_ids, unseen)
        except Exception:
            # The connection may be gone, and with it what its numbers meant: the next look reads everything.
            connection.close()
            self._version = None
            raise

    def _look(self, session_ids: Sequence[str], unseen: Sequence[str]) -> dict[str, Sight]:
        if connection.vendor != "sqlite":
            return _sights(session_ids)
        # A number that SQLite changes whenever another connection commits: a look without reading anything.
        version = rows.fetch("PRAGMA data_version", [])[0][0]
        found = _sights(unseen if version == self._version else session_ids)
        # Not before the rows are read: a look that failed has seen nothing yet.
        self._version = version
        return found


def _sights(session_ids: Sequence[str]) -> dict[str, Sight]:
    sights = dict.fromkeys(session_ids, Sight())
    for start in range(0, len(session_ids), _AT_ONCE):
        some = session_ids[start : start + _AT_ONCE]
        found = rows.fetch(
            "SELECT st.session_id, st.folded_through, st.waiting, l.lease_id FROM schedules_sessionstate st "
            f"LEFT JOIN schedules_lease l ON l.session_id = st.session_id WHERE st.session_id IN ({log.marks(some)})",
            some,
        )
        sights.update({row[0]: Sight(last=row[1], waiting=row[2], lease_id=row[3]) for row in found})
    return sights


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: object) -> None:
    # The loop may have ended since: then nobody waits.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *arguments)
