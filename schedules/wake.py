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


class Watcher:
    """One who waits for a session. A wake that comes before the wait ends the next one."""

    def __init__(self) -> None:
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
    """A session that somebody waits for. ``seen`` is the last seq known of its log; None before the first look."""

    seen: int | None = None
    watchers: set[Watcher] = field(default_factory=set)


class Hub:
    """All who wait in one process. Use it from one event loop; ``close`` from anywhere."""

    def __init__(self) -> None:
        self.closing = False
        self._watched: dict[str, _Watched] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def watch(self, session_id: str) -> AsyncIterator[Watcher]:
        """A watcher of the session while the block runs. Enter it *before* reading the session: no change is missed."""
        watcher = Watcher()
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
            unit.session_id: unit.projection.folded_through
            for unit in units
            if unit.appended and unit.session_id in self._watched
        }
        if grown and self._loop is not None:
            _call(self._loop, self._note, grown)

    def _note(self, last_seqs: Mapping[str, int]) -> None:
        for session_id, last in last_seqs.items():
            watched = self._watched.get(session_id)
            # A first look wakes too: whatever was written since the watch began is in it.
            if watched is not None and (watched.seen is None or last > watched.seen):
                watched.seen = last
                for watcher in watched.watchers:
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
            transaction.listeners.remove(self._committed)
            # Looked up where it runs: `connection.close` would be this thread's.
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)


class _Eye:
    """Sees what other processes wrote. Use it from one thread, which keeps its connection."""

    def __init__(self) -> None:
        self._version: int | None = None

    def look(self, session_ids: Sequence[str], unseen: Sequence[str]) -> dict[str, int]:
        """The last seq of each of these sessions, or of the unseen ones alone where nothing was written since."""
        try:
            return self._look(session_ids, unseen)
        except Exception:
            # The connection may be gone, and with it what its numbers meant: the next look reads everything.
            connection.close()
            self._version = None
            raise

    def _look(self, session_ids: Sequence[str], unseen: Sequence[str]) -> dict[str, int]:
        if connection.vendor != "sqlite":
            return _last_seqs(session_ids)
        # A number that SQLite changes whenever another connection commits: a look without reading anything.
        before, self._version = self._version, rows.fetch("PRAGMA data_version", [])[0][0]
        return _last_seqs(unseen if self._version == before else session_ids)


def _last_seqs(session_ids: Sequence[str]) -> dict[str, int]:
    last_seqs = dict.fromkeys(session_ids, -1)
    for start in range(0, len(session_ids), _AT_ONCE):
        some = session_ids[start : start + _AT_ONCE]
        last_seqs.update(
            rows.fetch(
                "SELECT session_id, folded_through FROM schedules_sessionstate "
                f"WHERE session_id IN ({log.marks(some)})",
                some,
            )
        )
    return last_seqs


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: object) -> None:
    # The loop may have ended since: then nobody waits.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *arguments)
