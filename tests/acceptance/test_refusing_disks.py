"""SQLite on a disk that is full or may only be read: refused calls say so, and all goes on once it can be written."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from config.asgi import WORKERS
from tests.acceptance import disks
from tests.acceptance.disks import BOUND_BY_MODES, Disk
from tests.acceptance.processes import OpenSession, Process, Server, until

pytestmark = pytest.mark.engine("sqlite3")

ASKS_AGAIN = "the owner asks again"
# Far more than what is left in blocks that are taken already.
LONG = "x" * 300_000


def tool(server: Server, session: OpenSession, name: str, arguments: Any, key: str | None = None) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return server.api.post(f"{session.path}/tools/schedule_{name}", json=arguments, headers=headers)


def say(server: Server, session: OpenSession, message: str, key: str) -> httpx.Response:
    body = {"leaseId": session.lease_id, "message": message}
    return server.api.post(f"{session.path}/turns", json=body, headers={"Idempotency-Key": key})


def uncertain(answer: httpx.Response) -> bool:
    """Whether the answer says that it is not known what became of the call."""
    if answer.status_code != 503:
        return False
    assert answer.json()["code"] == "persistence_uncertain"
    assert not {"disk", "SQL", "sqlite"} & set(answer.json()["message"].split())
    return True


def reads(server: Server, session: OpenSession) -> set[int]:
    """The statuses of the routes that only read."""
    paths = ("", "/schedules", "/events", "/followups")
    return {server.api.get(path).status_code for path in ("/sessions", *(session.path + path for path in paths))}


def sound(server: Server, session: OpenSession, database: str) -> list[str]:
    """The types of the log's events, with proof that it is whole and the projection in step with it."""
    events = session.events()
    assert [event["seq"] for event in events] == list(range(len(events)))
    with Process("rebuild_projections", "--check", database=database, SECRET_KEY="acceptance") as check:
        assert check.wait() == 0, check.output + check.errors
    return [event["type"] for event in events]


def command(*arguments: str, database: str) -> Process:
    """A command that may do what file modes allow, whoever runs the tests."""
    return Process(*arguments, database=database, prefix=BOUND_BY_MODES, SECRET_KEY="acceptance")


def create(session: OpenSession) -> tuple[str, ...]:
    """The words of a command that makes a reminder."""
    return ("schedules", "create", session.id, "--prompt", "x", "--after-seconds", "600")


@pytest.fixture(params=disks.FULL.values(), ids=list(disks.FULL))
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    way: Callable[[Path], Any] = request.param
    with way(tmp_path) as made:
        yield made


def test_a_full_disk_loses_and_doubles_nothing_and_no_restart_is_needed(disk: Disk) -> None:
    database = f"sqlite:///{disk.folder / 'full.sqlite3'}"
    reminder = {"prompt": LONG, "after_seconds": 3600}
    with Server(database=database) as server:
        session = server.open_session()
        assert tool(server, session, "create", {"prompt": "Small.", "after_seconds": 3600}).status_code == 200
        session.remind(2)
        before = len(session.events())
        disk.fill(server)

        refused = tool(server, session, "create", reminder, "create")
        assert uncertain(refused)
        assert (refused.json()["operation"], refused.json()["id"]) == ("create", "schedule-3")
        assert uncertain(tool(server, session, "create", reminder, "create"))
        assert uncertain(say(server, session, LONG, "say"))
        assert reads(server, session) == {200}
        assert len(session.events()) == before

        # Each admission of what is due fails now.
        until(lambda: ASKS_AGAIN in server.errors)
        spent, asked = disks.cpu_seconds(server), server.errors.count(ASKS_AGAIN)
        until(lambda: server.errors.count(ASKS_AGAIN) > asked)
        assert server.errors.count(ASKS_AGAIN) == asked + 1
        assert disks.cpu_seconds(server) - spent < 0.5
        assert reads(server, session) == {200}

        disk.free(server)
        made = [tool(server, session, "create", reminder, "create") for _ in range(2)]
        assert [answer.json()["id"] for answer in made] == ["schedule-3"] * 2
        assert len(session.followups(wait=20)) == 1
        begun = [say(server, session, LONG, "say") for _ in range(2)]
        assert [answer.json()["turn"] for answer in begun] == [1, 1]

        assert sound(server, session, database)[before:] in (
            ["schedule/change", "followup/queued", "schedule/change", "turn/start", "user/message"],
            ["followup/queued", "schedule/change", "schedule/change", "turn/start", "user/message"],
        )
        assert server.stop() == 0


def test_files_that_may_only_be_read_are_read_and_nothing_is_lost(tmp_path: Path, fresh_database: str) -> None:
    with Server(database=fresh_database, prefix=BOUND_BY_MODES) as server, ThreadPoolExecutor(20) as callers:
        session = server.open_session()
        files = {path.suffix: path for path in tmp_path.glob("fresh.sqlite3*")}

        def make(number: int) -> httpx.Response:
            return tool(server, session, "create", {"prompt": f"{number}", "after_seconds": 900}, f"key {number}")

        with disks.read_only(*files.values(), tmp_path):
            # A thread that had the files open before may still write. Those that open them now cannot.
            first = list(callers.map(make, range(20)))
            refused = [answer for answer in first if answer.status_code != 200]
            assert refused
            assert all(uncertain(answer) and answer.json()["operation"] == "create" for answer in refused)
            assert reads(server, session) == {200}
        # A process of its own has none of them open already.
        for ending in (".sqlite3", ".sqlite3-wal", ".sqlite3-shm"):
            with disks.read_only(files[ending]), command(*create(session), database=fresh_database) as other:
                assert other.wait() == 1
                assert "persistence_uncertain" in other.errors

        def insist(number: int) -> httpx.Response:
            # A thread that opened them for its reads meanwhile finds out by its first call that writes.
            return next(answer for answer in (make(number) for _ in range(WORKERS + 1)) if answer.status_code == 200)

        again = list(callers.map(insist, range(20)))

        assert {answer.json()["id"] for answer in again} == {f"schedule-{number}" for number in range(1, 21)}
        kept = [pair for pair in zip(first, again, strict=True) if pair[0] not in refused]
        assert all(before.json() == answer.json() for before, answer in kept)
        assert sound(server, session, fresh_database) == ["session/opened", *["schedule/change"] * 20]
        assert server.stop() == 0


def test_in_a_folder_where_sqlite_can_make_no_file_nothing_is_written(tmp_path: Path, fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server:
        session = server.open_session()
        assert server.stop() == 0
    with disks.read_only(*tmp_path.iterdir(), tmp_path):
        for refused, words in ((create(session), "persistence_uncertain"), (("deliver",), "cannot be reached")):
            with command(*refused, database=fresh_database) as process:
                assert process.wait() == 1
                assert words in process.errors
    with command(*create(session), database=fresh_database) as process:
        assert process.wait() == 0
        assert "schedule-1" in process.output
