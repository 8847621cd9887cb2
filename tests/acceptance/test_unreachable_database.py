"""PostgreSQL that is gone, refuses, waits for others or only reads: 503 soon, and no failed call once it is back."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.db import connection, connections

from schedules import transaction
from schedules.locked import Unit
from schedules.sessions.errors import PersistenceUncertain
from tests.__main__ import free_port
from tests.acceptance.conftest import ServedClient
from tests.acceptance.processes import Server, until
from tests.acceptance.proxy import Proxy
from tests.schedules.api.host import Host, refusal

pytestmark = pytest.mark.engine("postgresql")

UNCERTAIN = (503, "persistence_uncertain")
# These ask nothing of the database.
WITHOUT_DATABASE = {"/healthz", "/schema", "/docs"}
SOON = 2.0


@contextmanager
def database(**options: Any) -> Iterator[None]:
    """This process's connections made anew with other settings while the block runs."""
    connections.close_all()
    with mock.patch.dict(connection.settings_dict, options):
        yield
        connections.close_all()


def server_options(options: str) -> Any:
    """Settings that have PostgreSQL start each connection with these options more."""
    given = connection.settings_dict["OPTIONS"]
    return database(OPTIONS={**given, "options": f"{given['options']} {options}"})


def routes(served: ServedClient) -> list[tuple[str, str]]:
    """Each method and address of the API's own description."""
    paths = served.get("/schema").json()["paths"]
    return [
        (method.upper(), re.sub(r"\{(\w+)\}", lambda name: "1" if name[1] == "number" else "s-0", path))
        for path, methods in paths.items()
        for method in methods
    ]


class TestAServerThatRefuses:
    """Nobody listens at the database's port."""

    @pytest.fixture
    def gone(self, made: Callable[[], Host]) -> Iterator[None]:
        made()
        with database(HOST="127.0.0.1", PORT=free_port()):
            yield

    def test_every_route_says_so_soon(self, served: ServedClient, gone: None) -> None:
        asked = [route for route in routes(served) if route[1] not in WITHOUT_DATABASE | {"/readyz"}]
        assert len(asked) >= 20
        for method, path in asked:
            started = time.monotonic()
            answer = served.generic(method, path, "{}", "application/json")
            assert refusal(answer) == UNCERTAIN, (method, path)
            assert time.monotonic() - started < SOON, (method, path)

    @pytest.mark.parametrize("operation", ["create", "list", "delete"])
    def test_a_tool_says_which_call_is_uncertain(self, served: ServedClient, gone: None, operation: str) -> None:
        answer = served.post(f"/sessions/s-0/tools/schedule_{operation}", {"id": "schedule-1"}).json()
        assert answer["operation"] == operation
        assert answer.get("id") == ("schedule-1" if operation == "delete" else None)
        assert "schedule_list" in answer["message"]

    def test_a_body_that_is_no_json_does_not_hide_it(self, served: ServedClient, gone: None) -> None:
        answer = served.raw("POST", "/sessions/s-0/tools/schedule_delete", b"{")
        assert refusal(answer) == UNCERTAIN
        assert answer.json()["operation"] == "delete"

    def test_the_process_lives_and_is_not_ready(self, served: ServedClient, gone: None) -> None:
        assert served.get("/healthz").status_code == 200
        assert served.get("/readyz").status_code == 503
        assert all(served.get(address).status_code == 200 for address in WITHOUT_DATABASE)

    def test_the_operators_pages_say_so(self, served: ServedClient, gone: None) -> None:
        served.credentials()
        served.cookies["sessionid"] = "0123456789abcdef0123456789abcdef"
        answer = served.get("/admin/")
        assert answer.status_code == 503
        assert answer["Content-Type"].startswith("text/html")


def test_a_server_that_says_nothing_is_not_waited_for_beyond_the_bound(made: Callable[[], Host]) -> None:
    one = made()
    given = connection.settings_dict["OPTIONS"]
    assert given["connect_timeout"] == 5
    with socket.create_server(("127.0.0.1", 0)) as silent:
        shorter = {**given, "connect_timeout": 2}
        with database(HOST="127.0.0.1", PORT=silent.getsockname()[1], OPTIONS=shorter):
            started = time.monotonic()
            assert refusal(one.tool("list")) == UNCERTAIN
            assert time.monotonic() - started < 2 + SOON


class TestASessionThatAnotherHolds:
    """Another transaction has the session's lock for longer than a call may wait."""

    @pytest.fixture
    def one(self, made: Callable[[], Host]) -> Iterator[Host]:
        one = made()
        one.tool("create", {"prompt": "Look.", "after_seconds": 600})
        one.say()
        taken, done = threading.Event(), threading.Event()

        def action(unit: Unit) -> None:
            taken.set()
            done.wait()

        def hold() -> None:
            transaction.perform(one.id, action)
            connections.close_all()

        with ThreadPoolExecutor(1) as other:
            holding = other.submit(hold)
            taken.wait()
            with server_options("-c lock_timeout=50ms"):
                yield one
            done.set()
            holding.result()

    def test_whatever_needs_the_lock_is_uncertain_and_writes_nothing(self, one: Host) -> None:
        before = one.log()
        calls = [
            one.tool("create", {"prompt": "Look.", "after_seconds": 60}),
            one.tool("list"),
            one.tool("delete", {"id": "schedule-1"}),
            one.say(),
            one.hold("/turns/1/messages", message="more"),
            one.end(1),
            one.hold("/events", type="host:note", data=1),
            one.hold("/renew"),
            one.hold("/close"),
            one.open(),
        ]
        assert [refusal(answer) for answer in calls] == [UNCERTAIN] * len(calls)
        assert one.log() == before

    def test_what_only_reads_waits_for_nobody(self, one: Host) -> None:
        for path in ("", "/events", "/schedules", "/followups"):
            assert one.get(path).status_code == 200


def test_a_standby_that_only_reads_takes_no_call_that_writes(made: Callable[[], Host]) -> None:
    one = made()
    with server_options("-c default_transaction_read_only=on"):
        for answer in (one.tool("create", {"prompt": "x", "after_seconds": 9}), one.tool("list"), one.say()):
            assert refusal(answer) == UNCERTAIN
        assert one.get("/events").status_code == 200
    assert one.say().status_code == 201


def test_a_transaction_that_the_server_ended_for_idling_is_uncertain(
    made: Callable[[], Host], direct: Callable[[str], Any]
) -> None:
    one = made()

    def action(unit: Unit) -> None:
        mine = direct(
            "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()"
        )
        until(lambda: direct(f"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = {mine}"))
        unit.append("host:note", 1)

    with server_options("-c idle_in_transaction_session_timeout=100ms"), pytest.raises(PersistenceUncertain):
        transaction.perform(one.id, action)
    assert [event["type"] for event in one.log()] == ["session/opened"]


class TestAServedDatabase:
    """What a real server makes of a database that goes and comes back."""

    @pytest.fixture
    def behind(self, fresh_database: str) -> Iterator[Proxy]:
        place = urlsplit(fresh_database)
        assert place.hostname is not None
        with Proxy(place.hostname, place.port or 5432) as proxy:
            yield proxy

    def test_a_restart_of_the_database_fails_no_later_call(self, fresh_database: str) -> None:
        import psycopg

        with (
            Server(database=fresh_database) as server,
            ThreadPoolExecutor(20) as callers,
            closing(psycopg.connect(fresh_database, autocommit=True)) as admin,
        ):
            session = server.open_session()

            def statuses() -> set[int]:
                answers = callers.map(lambda _: server.api.get(session.path).status_code, range(60))
                return set(answers)

            assert statuses() == {200}
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ended = [pid for pid, _ in admin.execute(f"SELECT pid, pg_terminate_backend(pid) {others}")]
            assert len(ended) > 2
            until(lambda: not admin.execute(f"SELECT 1 {others} AND pid = ANY(%s)", [ended]).fetchall())

            assert statuses() == {200}
            session.remind(1)
            assert len(session.followups(wait=10)) == 1
            assert server.stop() == 0

    def test_an_outage_is_told_soon_and_over_as_soon_as_it_ends(self, fresh_database: str, behind: Proxy) -> None:
        port = str(urlsplit(fresh_database).port or 5432)
        with Server(database=fresh_database.replace(f":{port}/", f":{behind.port}/")) as server:
            session = server.open_session()
            session.remind(1)
            behind.refuse(True)

            for _ in range(3):
                started = time.monotonic()
                answer = server.api.post(f"{session.path}/tools/schedule_list", json={})
                assert (answer.status_code, json.loads(answer.content)["operation"]) == (503, "list")
                assert server.api.get("/readyz").status_code == 503
                assert time.monotonic() - started < SOON
            until(lambda: server.errors.count("the owner asks again") >= 2)
            assert server.errors.count("the owner asks again") < 4

            behind.refuse(False)
            assert server.api.post(f"{session.path}/tools/schedule_list", json={}).status_code == 200
            assert len(session.followups(wait=10)) == 1
            events = [event["type"] for event in session.events()]
            assert events.count("followup/queued") == 1
            assert server.stop() == 0
