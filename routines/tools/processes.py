"""Runs a program without a shell, bounded in time and output, and leaves nothing of it behind."""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

# How often it looks whether it was cancelled and whether the program has ended.
_LOOK_SECONDS = 0.05
# How long a program that was told to end may take, and how long the output of one that has ended is waited for: a
# child that it left may hold the pipe for ever.
_GRACE_SECONDS = 2.0
_DRAIN_SECONDS = 1.0
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What came of a program.

    code: its exit code, negative for the signal that ended it; None where it did not start or was ended from here.
    output: what it wrote to standard output and standard error, as UTF-8; its middle is cut out where that is too much.
    timed_out: it took too long, and was ended.
    cancelled: it was ended because nobody wants its answer any more.
    missing: it did not start: there is no such program or folder, or its arguments cannot be passed.
    """

    code: int | None
    output: str
    timed_out: bool = False
    cancelled: bool = False
    missing: bool = False


def run(
    argv: Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str],
    seconds: float,
    most_output: int,
    cancelled: threading.Event,
    stdin: bytes = b"",
) -> Finished:
    """Run a program to its end, or end it: it and all that is in its process group. Its environment is ``env`` alone.

    Takes a few seconds more than ``seconds`` at most. ``most_output`` is in bytes.
    """
    end = time.monotonic() + seconds
    try:
        process = subprocess.Popen(  # noqa: S603  no shell; callers check what they run
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return Finished(code=None, output="", missing=True)
    pipes = _Pipes(process=process, stdin=memoryview(stdin), kept=_Kept(most=most_output))
    with process, pipes:
        stopped = timed_out = False
        while not _ended(process.pid):
            stopped, timed_out = cancelled.is_set(), time.monotonic() >= end
            if stopped or timed_out:
                break
            pipes.exchange(_LOOK_SECONDS)
        if stopped or timed_out:
            _signal(process.pid, signal.SIGTERM)
            grace = time.monotonic() + _GRACE_SECONDS
            while not _ended(process.pid) and time.monotonic() < grace:
                pipes.exchange(_LOOK_SECONDS)
        else:
            pipes.drain(_DRAIN_SECONDS)
        # Before the program is reaped: until then no other group can have its number.
        _signal(process.pid, signal.SIGKILL)
        pipes.drain(_DRAIN_SECONDS)
        code = process.wait()
    ended_here = stopped or timed_out
    return Finished(
        code=None if ended_here else code,
        output=pipes.kept.text(),
        timed_out=timed_out,
        cancelled=stopped and not timed_out,
    )


@dataclass(slots=True, kw_only=True)
class _Kept:
    """The beginning and the end of an output, in bounded memory."""

    most: int
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    _seen: int = 0

    def take(self, data: bytes) -> None:
        self._seen += len(data)
        room = self.most // 2 - len(self._head)
        self._head += data[: max(0, room)]
        self._tail += data[max(0, room) :]
        if len(self._tail) > 2 * self.most:
            del self._tail[: -self.most]

    def text(self) -> str:
        tail = self._tail[-(self.most - self.most // 2) :]
        cut = self._seen - len(self._head) - len(tail)
        between = f"\n[{cut} bytes are cut out here]\n".encode() if cut else b""
        return (self._head + between + tail).decode(errors="replace")


@dataclass(slots=True, kw_only=True)
class _Pipes:
    """What goes into a program and what comes out, without ever waiting for either alone."""

    process: "subprocess.Popen[bytes]"
    stdin: memoryview
    kept: _Kept
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def __enter__(self) -> None:
        for stream, event in (
            (self.process.stdout, selectors.EVENT_READ),
            (self.process.stdin, selectors.EVENT_WRITE),
        ):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, event)

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def exchange(self, seconds: float) -> None:
        """Pass on what can be passed on now; wait so long at most for anything."""
        if not self._selector.get_map():
            time.sleep(min(seconds, 0.01))
            return
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self.process.stdin:
                self._write(key.fd)
            else:
                self._read(key.fd)

    def drain(self, seconds: float) -> None:
        """Take what still comes, until its end."""
        end = time.monotonic() + seconds
        while self.process.stdout in self._streams() and time.monotonic() < end:
            self.exchange(_LOOK_SECONDS)

    def _streams(self) -> list[object]:
        return [key.fileobj for key in self._selector.get_map().values()]

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        if data:
            self.kept.take(data)
        else:
            self._selector.unregister(descriptor)

    def _write(self, descriptor: int) -> None:
        try:
            written = os.write(descriptor, self.stdin[:_CHUNK])
        except BrokenPipeError:
            written = len(self.stdin)
        self.stdin = self.stdin[written:]
        if not self.stdin:
            self._selector.unregister(descriptor)
            if self.process.stdin is not None:
                with suppress(OSError):
                    self.process.stdin.close()


def _ended(pid: int) -> bool:
    """Whether the program has ended; it is not reaped."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal(pid: int, signum: signal.Signals) -> None:
    """Send a signal to the program's whole group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signum)
