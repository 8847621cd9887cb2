"""The queue of writers before SQLite, which lets one in at a time and does not care who came first.

Left to itself it makes the others sleep for up to 100 ms between two looks, so that whoever writes again at once is
always there before them: of eight processes one made all its 250 calls while another waited for its first. So the
threads of a process queue for a lock, and the processes for two bytes of a file beside the database. Whoever holds the
first byte is next, and alone looks out for the second, the writer's: one that has just written cannot overtake it. The
kernel takes both away from a process that dies.
"""

import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

if sys.platform != "win32":
    import fcntl

_NEXT, _WRITER = 0, 1
# One process at most looks for the writer's byte, so it may look often; no wait in the kernel has a bound.
_LOOK_SECONDS = {_NEXT: 0.001, _WRITER: 0.0002}

_threads = threading.Lock()
# Never closed: to close one of a file's descriptors would drop every lock that this process has on the file.
_files: dict[str, int] = {}


@contextmanager
def turn(database: str, seconds: float) -> Iterator[None]:
    """Be the only writer of the SQLite file ``database`` while the block runs.

    Raises OSError where the queue's file cannot be used, and TimeoutError when it has not come in after ``seconds``.
    """
    end = time.monotonic() + seconds
    if not _threads.acquire(timeout=seconds):
        raise TimeoutError
    try:
        with _among_processes(database, end):
            yield
    finally:
        _threads.release()


@contextmanager
def _among_processes(database: str, end: float) -> Iterator[None]:
    if sys.platform == "win32" or database == ":memory:" or database.startswith("file:"):
        yield  # no other process has it, or no lock of this kind is to be had
        return
    if database not in _files:
        _files[database] = _open(database)
    file = _files[database]
    _take(file, _NEXT, end)
    try:
        _take(file, _WRITER, end)
    finally:
        _leave(file, _NEXT)
    try:
        yield
    finally:
        _leave(file, _WRITER)


def _open(database: str) -> int:
    # Whoever may write the database may queue for it, as with SQLite's own files beside it.
    mode = stat.S_IMODE(os.stat(database).st_mode)
    file = os.open(f"{database}-queue", os.O_RDWR | os.O_CREAT, mode)
    with suppress(PermissionError):  # another user made it
        os.fchmod(file, mode)
    return file


def _take(file: int, byte: int, end: float) -> None:
    while True:
        try:
            # Locks of this kind belong to the process, which is why its threads queue before it.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            if time.monotonic() >= end:
                raise TimeoutError from None
            time.sleep(_LOOK_SECONDS[byte])
        else:
            return


def _leave(file: int, byte: int) -> None:
    fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)
