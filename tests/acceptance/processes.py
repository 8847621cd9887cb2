"""Real processes of ``manage.py``, started and stopped as an operator does, and of the tests' own jobs."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from schedules.domain import instants

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 30

T = TypeVar("T")


class Process:
    """One running command; its output is kept as it comes."""

    program: tuple[str, ...] = ("manage.py",)

    def __init__(
        self, *arguments: str, database: str, folder: Path = ROOT, prefix: Sequence[str] = (), **environment: str
    ) -> None:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WAKEFUL_", "DJANGO_", "SECRET_KEY"))
        }
        self._process = subprocess.Popen(
            [*prefix, sys.executable, *self.program, *arguments],
            cwd=folder,
            env={**inherited, "DATABASE_URL": database, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._output: list[str] = []
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=pair)
            for pair in ((self._process.stdout, self._output), (self._process.stderr, self._errors))
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self.wait()

    @property
    def output(self) -> str:
        """What it has printed to standard output so far."""
        return "".join(self._output)

    @property
    def errors(self) -> str:
        """What it has printed to standard error so far."""
        return "".join(self._errors)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def send(self, signum: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(signum)

    def wait(self) -> int:
        """Wait for its end; its exit code."""
        code = self._process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self.send(signum)
        return self.wait()

    def says(self, pattern: str) -> re.Match[str]:
        """Wait until what it printed matches; the match."""

        def said() -> re.Match[str] | None:
            found = re.search(pattern, self.output + self.errors)
            if found is None and self._process.poll() is not None:
                raise AssertionError(f"it ended without saying {pattern!r}: {self.output}{self.errors}")
            return found

        return until(said)

    def _read(self, stream: Any, lines: list[str]) -> None:
        with stream:
            lines.extend(iter(stream.readline, ""))


class Worker(Process):
    """One of the jobs of ``tests.acceptance.workers``. It begins at :meth:`go`."""

    program = ("-m", "tests.acceptance.workers")

    def __init__(
        self, job: str, *arguments: object, database: str, clock: Path | None = None, **environment: str
    ) -> None:
        clocks = {} if clock is None else {"WORKER_CLOCK": str(clock)}
        options: dict[str, Any] = {"SECRET_KEY": "acceptance", **clocks, **environment}
        super().__init__(job, json.dumps(arguments), database=database, **options)

    def go(self) -> Self:
        """Let it begin."""
        self.says("ready")
        self.send(signal.SIGUSR1)
        return self

    def value(self) -> Any:
        """What the job gave back, when it has ended."""
        code = self.wait()
        assert code == 0, self.errors
        return json.loads(self.output.splitlines()[-1])


def work(job: str, *arguments: object, database: str, clock: Path | None = None) -> Any:
    """Do a job in a process of its own; what it gave back. ``clock`` is a file: how far ahead its clock is, in ms."""
    with Worker(job, *arguments, database=database, clock=clock) as worker:
        return worker.go().value()


class Server(Process):
    """A ``serve`` that has started, and a client of it."""

    def __init__(self, *arguments: str, database: str, token: str | None = None, **options: Any) -> None:
        options.setdefault("SECRET_KEY", "acceptance")
        super().__init__("serve", "--port", "0", *arguments, database=database, **options)
        self.database = database
        self.url = self.says(r"serves (http://\S+):")[1]
        self.says(r"followups\?wait=30")
        shown = re.search(r"token +(wkf_\S+)", self.output)
        self.token = shown[1] if shown else token or ""
        self.api = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=PATIENCE)

    def __exit__(self, *problem: Any) -> None:
        self.api.close()
        super().__exit__(*problem)

    def open_session(self, *, lease_seconds: int = 300) -> "OpenSession":
        """A new session that is live."""
        made = self.api.post("/sessions", json={"open": True, "holder": "host", "leaseSeconds": lease_seconds})
        made.raise_for_status()
        return OpenSession(self, made.json()["id"], made.json()["leaseId"])


class OpenSession:
    """A live session of a server, as its host sees it."""

    def __init__(self, server: Server, session_id: str, lease_id: str) -> None:
        self.id, self.lease_id = session_id, lease_id
        self.path = f"/sessions/{session_id}"
        self._api = server.api

    def remind(self, after_seconds: int) -> None:
        """Make a reminder."""
        made = self._api.post(
            f"{self.path}/tools/schedule_create", json={"prompt": "Look.", "after_seconds": after_seconds}
        )
        made.raise_for_status()

    def followups(self, wait: int = 0, **headers: str) -> list[dict[str, Any]]:
        """The waiting follow-ups."""
        answer = self._api.get(f"{self.path}/followups", params={"wait": wait}, headers=headers)
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["results"]
        return found

    def events(self) -> list[dict[str, Any]]:
        """The log."""
        found: list[dict[str, Any]] = self._api.get(f"{self.path}/events").json()["results"]
        return found


def epoch_ms(instant: str) -> int:
    """An instant's text as a number."""
    parsed = instants.parse(instant)
    assert parsed is not None
    return parsed


def until(look: Callable[[], T | None]) -> T:
    """Look again and again until there is something; what it is."""
    end = time.monotonic() + PATIENCE
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
