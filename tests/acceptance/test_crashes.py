"""Processes that are killed: whatever instant it is, nothing is lost, nothing comes twice, and work goes on."""

import random
import secrets
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.__main__ import free_port
from tests.acceptance.processes import PATIENCE, OpenSession, Process, Server, until, work

_HOSTS = 3
_SESSIONS_OF_A_HOST = 4
_WAITING_AT_MOST = 40
_ROUND_SECONDS = 0.02
_UP_AT_MOST_SECONDS = 0.4


@pytest.mark.parametrize("scene", ["delivery", "calls"])
def test_a_kill_at_any_step_with_the_database_loses_and_doubles_nothing(fresh_database: str, scene: str) -> None:
    work("prepare", 0, [], database=fresh_database)

    done = work("die_everywhere", scene, database=fresh_database)

    assert done["kills"] > 20
    assert done["problems"] == []
    assert work("tally", database=fresh_database)["problems"] == []


@pytest.mark.parametrize(
    "kills", [10, pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(900)])], ids=["short", "soak"]
)
def test_owners_and_web_processes_killed_under_load_queue_each_reminder_once(fresh_database: str, kills: int) -> None:
    with supervised(fresh_database) as crew, ThreadPoolExecutor(_HOSTS) as threads:
        hosts = [Host(crew, threading.Event()) for _ in range(_HOSTS)]
        running = [threads.submit(host.run) for host in hosts]
        try:
            for _ in range(kills):
                crew.kill_one()
        finally:
            for host in hosts:
                host.enough.set()
        made = sum(future.result(timeout=4 * PATIENCE) for future in running)

        # Nobody has mended anything, and work goes on.
        session = hosts[0].sessions[0]
        session.remind(1)
        assert len(session.followups(wait=20)) == 1
        assert crew.killed == kills

    assert made >= kills
    assert work("tally", database=fresh_database) == {"created": made + 1, "queued": made + 1, "problems": []}


class Crew:
    """A web process and two owners, each started again at once when it is killed, as an operator's supervisor does."""

    def __init__(self, database: str) -> None:
        self.killed = 0
        self._database = database
        self._port = str(free_port())
        self._choice = random.Random(secrets.randbits(32))
        self._sleep = threading.Event()
        # The last --port counts: each web process after this one takes its place.
        self.web = Server("--no-deliver", "--port", self._port, database=database)
        self._members: list[Process] = [self.web, self._owner(), self._owner()]

    def kill_one(self) -> None:
        """Kill one of them at a random instant of its work, and start it again."""
        index = self._choice.choice(until(self._at_work))
        victim = self._members[index]
        self._sleep.wait(self._choice.uniform(0, _UP_AT_MOST_SECONDS))
        victim.send(signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL, victim.errors
        self.killed += 1
        self._members[index] = self._owner() if index else self._server()

    def _at_work(self) -> list[int]:
        signs = ["serves http" in self._members[0].output]
        signs += ["the owner starts" in owner.errors for owner in self._members[1:]]
        return [index for index, up in enumerate(signs) if up]

    def end(self) -> None:
        """Kill them all."""
        for member in self._members:
            member.__exit__(None, None, None)

    def _server(self) -> Process:
        options = ("--port", self._port)
        return Process("serve", "--no-deliver", *options, database=self._database, SECRET_KEY="acceptance")

    def _owner(self) -> Process:
        # Small batches: many commits to die in.
        return Process("deliver", database=self._database, WAKEFUL_BATCH_SESSIONS="2", SECRET_KEY="acceptance")


@contextmanager
def supervised(database: str) -> Iterator[Crew]:
    crew = Crew(database)
    try:
        yield crew
    finally:
        crew.end()
        crew.web.api.close()


class Host:
    """An agent host that makes reminders and answers follow-ups; it repeats each call until it has an answer."""

    def __init__(self, crew: Crew, enough: threading.Event) -> None:
        self.enough = enough
        self._api = crew.web.api
        self.sessions = [crew.web.open_session() for _ in range(_SESSIONS_OF_A_HOST)]

    def run(self) -> int:
        """Work until it is enough and every reminder was answered; how many were made."""
        made = answered = 0
        while not self.enough.is_set() or answered < made:
            if not self.enough.is_set() and made - answered < _WAITING_AT_MOST:
                for session in self.sessions:
                    self._ask(session, "/tools/schedule_create", {"prompt": "Look.", "after_seconds": 1})
                    made += 1
            found = sum(self._answer(session) for session in self.sessions)
            answered += found
            if not found:
                self.enough.wait(_ROUND_SECONDS)
        return made

    def _answer(self, session: OpenSession) -> int:
        begun = self._ask(session, "/turns", {"leaseId": session.lease_id})
        if begun.status_code == 409:
            assert begun.json()["code"] == "nothing_to_claim"
            return 0
        ending = {"leaseId": session.lease_id, "outcome": "completed"}
        self._ask(session, f"/turns/{begun.json()['turn']}/end", ending)
        return 1

    def _ask(self, session: OpenSession, path: str, body: dict[str, Any]) -> httpx.Response:
        key = {"Idempotency-Key": secrets.token_hex(8)}

        def ask() -> httpx.Response | None:
            try:
                answer = self._api.post(f"{session.path}{path}", json=body, headers=key)
            except httpx.TransportError:
                return None  # its process has just been killed
            assert answer.status_code in (200, 201, 409, 503), answer.text
            return None if answer.status_code == 503 else answer

        return until(ask)
