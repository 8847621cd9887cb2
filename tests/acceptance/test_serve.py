"""``serve`` as a newcomer and an operator meet it."""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.acceptance.processes import PATIENCE, ROOT, Process, Server, until


def fresh_clone(folder: Path) -> Path:
    """The project's code in a folder of its own, without anything that running it has made."""
    clone = folder / "clone"
    clone.mkdir()
    shutil.copy(ROOT / "manage.py", clone)
    for package in ("config", "routines", "schedules"):
        shutil.copytree(ROOT / package, clone / package, ignore=shutil.ignore_patterns("__pycache__"))
    return clone


def token_of(database: str) -> str:
    with Process("token", "admin", database=database, SECRET_KEY="acceptance") as made:
        assert made.wait() == 0
        return made.output.split()[-1]


def test_a_fresh_clone_serves_and_its_three_lines_bring_a_reminder_back(tmp_path: Path, fresh_database: str) -> None:
    with Server(database=fresh_database, folder=fresh_clone(tmp_path), SECRET_KEY="") as server:
        lines = [line for line in server.output.splitlines() if line.startswith("curl ")]
        assert len(lines) == 3

        shell = ["sh", "-euc", "\n".join(lines)]
        done = subprocess.run(shell, capture_output=True, text=True, timeout=PATIENCE, check=True)

        session, reminder, followups = map(json.loads, done.stdout.splitlines())
        assert session["live"] is True
        assert reminder["state"] == "scheduled"
        assert followups["results"][0]["reminders"] == [
            {"id": "schedule-1", "occurrenceAt": reminder["scheduledAt"], "prompt": "Stretch your legs."}
        ]
        key = tmp_path / "clone" / ".secret-key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert server.stop() == 0


def test_two_first_serves_at_once_agree_on_the_key_the_tables_and_the_user(tmp_path: Path, fresh_database: str) -> None:
    clone = fresh_clone(tmp_path)
    starts = [Process("serve", "--port", "0", database=fresh_database, folder=clone, SECRET_KEY="") for _ in range(2)]
    with starts[0], starts[1]:
        for start in starts:
            start.says(r"followups\?wait=30")
        made = [start for start in starts if "token     wkf_" in start.output]
        assert len(made) == 1
        assert [start.stop() for start in starts] == [0, 0]
    assert [path.name for path in clone.glob(".secret-key*")] == [".secret-key"]


def test_later_starts_make_no_user_and_keep_the_key(tmp_path: Path, fresh_database: str) -> None:
    clone = fresh_clone(tmp_path)
    with Server(database=fresh_database, folder=clone, SECRET_KEY="") as first:
        key = (clone / ".secret-key").read_text()
        assert first.stop() == 0
    with Server(database=fresh_database, folder=clone, SECRET_KEY="", token=first.token) as again:
        assert "password" not in again.output
        assert "Bearer $TOKEN" in again.output
        assert (clone / ".secret-key").read_text() == key
        assert again.api.get("/sessions").status_code == 200
        assert again.stop() == 0


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_and_loses_nothing(fresh_database: str, signum: signal.Signals) -> None:
    with Server(database=fresh_database) as server:
        session = server.open_session()
        session.remind(1)

        assert server.stop(signum) == 0

        assert "the owner has stopped" in server.errors
        assert "Traceback" not in server.errors
    with Server(database=fresh_database, token=server.token) as again:
        (followup,) = again.api.get(f"{session.path}/followups", params={"wait": 20}).json()["results"]
        assert followup["attempt"] == 1
        assert again.stop() == 0


def test_a_port_in_use_is_said_to_be_so(fresh_database: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with Process("serve", "--port", port, database=fresh_database, SECRET_KEY="acceptance") as second:
            assert second.wait() == 1
            assert f"Cannot listen on 127.0.0.1 port {port}" in second.errors
            assert "Traceback" not in second.errors


@pytest.mark.parametrize("command", ["serve", "deliver"])
@pytest.mark.parametrize(
    "database", ["postgres://nobody:secret@127.0.0.1:1/nothing", "sqlite:////nowhere/at/all.sqlite3"]
)
def test_a_database_out_of_reach_is_said_to_be_so(command: str, database: str) -> None:
    options = ["--port", "0"] if command == "serve" else []
    with Process(command, *options, database=database, SECRET_KEY="acceptance") as process:
        assert process.wait() == 1
        assert "DATABASE_URL" in process.errors
        assert "secret" not in process.errors
        assert "Traceback" not in process.errors


def test_the_address_may_be_given(fresh_database: str) -> None:
    with Server("--host", "localhost", database=fresh_database) as server:
        assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
        assert server.stop() == 0


def test_shutdown_ends_long_polls_with_an_empty_page(fresh_database: str) -> None:
    with Server(database=fresh_database) as server:
        session = server.open_session()
        url = f"{server.url}{session.path}/followups?wait=60"
        with subprocess.Popen(
            ["curl", "-s", "-H", f"Authorization: Bearer {server.token}", url], stdout=subprocess.PIPE
        ) as poll:
            until(lambda: connections_to(server.url) >= 2)
            assert server.stop() == 0
            answer, _ = poll.communicate(timeout=PATIENCE)
        assert json.loads(answer) == {"results": [], "next": None}


def connected(url: str) -> socket.socket:
    """A connection to a local server."""
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=PATIENCE)


def connections_to(url: str) -> int:
    """How many established connections a local port has, one for each client."""
    port = f"{int(url.rpartition(':')[2]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(1 for row in rows if row[1].endswith(f":{port}") and row[3] == "01")


def test_bodies_in_chunks_and_odd_queries_are_taken(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server:

        def chunks() -> list[bytes]:
            return [b'{"id": ', b'"in-', b'chunks"}']

        made = server.api.post("/sessions", content=iter(chunks()))
        assert made.json()["id"] == "in-chunks"
        with connected(server.url) as raw:
            raw.sendall(b"GET /healthz?caf\xe9=\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert raw.recv(100).split()[1] in (b"200", b"400")
        assert server.stop() == 0


def test_clients_that_send_and_read_nothing_keep_nobody_else_waiting(fresh_database: str) -> None:
    requests = (
        b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /admin/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
        b"GET /static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    with Server("--no-deliver", database=fresh_database) as server, contextlib.ExitStack() as idle:
        for request in requests * 12:
            idle.enter_context(connected(server.url)).sendall(request)
        for path, status in (("/healthz", 200), ("/readyz", 503), ("/tools", 200)):
            assert server.api.get(path, timeout=5).status_code == status
        idle.close()
        assert server.stop() == 0


def test_a_coding_that_nobody_undoes_is_refused(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server:
        with connected(server.url) as raw:
            raw.sendall(
                b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
                b"2\r\n{}\r\n0\r\n\r\n"
            )
            assert raw.recv(100).split()[1] == b"400"
        assert server.stop() == 0


def test_an_underscore_does_not_pose_as_a_header(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server:
        session = server.open_session()
        answer = server.api.get(f"{session.path}/followups", headers={"Wakeful_Lease": "stale"})
        assert answer.status_code == 200
        assert server.stop() == 0


def test_the_checkout_stays_clean(fresh_database: str) -> None:
    before = set(os.listdir(ROOT))
    with Server(database=fresh_database) as server:
        assert server.stop() == 0
    assert not {name for name in set(os.listdir(ROOT)) - before if name.startswith(".secret")}
