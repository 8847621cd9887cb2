"""The threads that one run of a workflow may have beside its own, whatever its steps hold inside each other."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

#: How many of a run's tools work at once at most.
MOST = 8


@dataclass(slots=True)
class Crew:
    """A run's helpers. Whoever asks for jobs works on them too, so that jobs inside of jobs never wait for a thread."""

    _spare: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MOST - 1))

    def work(self, jobs: Sequence[Callable[[], T]], *, at_once: int, until: Callable[[T], bool]) -> list[T | None]:
        """Do the jobs, up to so many at once; their answers, in the jobs' order.

        No more is begun after an answer for which ``until`` is true: the answers of those are None. What a job raises
        is raised here, once all have ended.
        """
        none_yet: list[T | None] = [None] * len(jobs)
        return _Work(spare=self._spare, at_once=at_once, until=until, answers=none_yet).do(jobs)


@dataclass(slots=True, kw_only=True)
class _Work(Generic[T]):
    spare: threading.Semaphore
    at_once: int
    until: Callable[[T], bool]
    answers: list[T | None]
    waiting: "deque[tuple[int, Callable[[], T]]]" = field(default_factory=deque)
    helpers: list[threading.Thread] = field(default_factory=list)
    problems: list[Exception] = field(default_factory=list)
    hired: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def do(self, jobs: Sequence[Callable[[], T]]) -> list[T | None]:
        self.waiting.extend(enumerate(jobs))
        self._drain()
        # A helper that hires another does so before it ends.
        while self.helpers:
            self.helpers.pop().join()
        if self.problems:
            raise self.problems[0]
        return self.answers

    def _drain(self) -> None:
        while (taken := self._take()) is not None:
            index, job = taken
            try:
                answer = job()
            except Exception as problem:  # noqa: BLE001  it is raised again by whoever asked
                self.problems.append(problem)
                self._stop()
                return
            self.answers[index] = answer
            if self.until(answer):
                self._stop()

    def _stop(self) -> None:
        with self.lock:
            self.waiting.clear()

    def _take(self) -> tuple[int, Callable[[], T]] | None:
        with self.lock:
            if not self.waiting:
                return None
            taken = self.waiting.popleft()
            if self.waiting and self.hired < self.at_once - 1 and self.spare.acquire(blocking=False):
                self.hired += 1
                helper = threading.Thread(target=self._help, name=threading.current_thread().name, daemon=True)
                self.helpers.append(helper)
                helper.start()
            return taken

    def _help(self) -> None:
        try:
            self._drain()
        finally:
            self.spare.release()
