"""Long polls of a real server: they wake at once, hold nothing, and end with their client."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import httpx
import pytest

from tests.acceptance.processes import OpenSession, Process, Server, epoch_ms, until


@pytest.fixture
def server(fresh_database: str) -> Iterator[Server]:
    with Server("--no-deliver", database=fresh_database) as running:
        yield running
        assert running.stop() == 0


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def deliver_once(database: str) -> None:
    with Process("deliver", "--once", database=database, SECRET_KEY="acceptance") as owner:
        assert owner.wait() == 0


def is_overdue(server: Server, session: OpenSession) -> bool:
    return bool(server.api.get(f"{session.path}/schedules").json()["results"][0]["state"] == "overdue")


def test_it_returns_as_soon_as_another_process_queues_the_followup(
    server: Server, fresh_database: str, aside: ThreadPoolExecutor
) -> None:
    session = server.open_session()
    session.remind(1)
    poll = aside.submit(timed, session, 60)
    until(lambda: is_overdue(server, session))

    deliver_once(fresh_database)
    found, returned = poll.result()

    assert len(found) == 1
    assert returned * 1000 - epoch_ms(found[0]["queuedAt"]) < 1000


@pytest.mark.engine("postgresql")
def test_a_long_poll_holds_no_connection(server: Server, fresh_database: str, aside: ThreadPoolExecutor) -> None:
    import psycopg

    sessions = [server.open_session() for _ in range(8)]
    polls = [aside.submit(session.followups, 3) for session in sessions]
    busy: list[int] = []
    with closing(psycopg.connect(fresh_database, autocommit=True)) as watch:
        while not all(poll.done() for poll in polls):
            row = watch.execute(
                "SELECT count(*) FILTER (WHERE state LIKE 'idle in transaction%'), count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone()
            assert row is not None
            busy.append(row[0])
            assert row[1] <= 12
            time.sleep(0.05)
    assert sorted(busy)[len(busy) // 2] == 0
    assert [poll.result() for poll in polls] == [[]] * 8


def test_more_polls_than_worker_threads_leave_the_server_answering(
    server: Server,
) -> None:
    session = server.open_session()
    with ThreadPoolExecutor(40) as many:
        polls = [many.submit(session.followups, 3) for _ in range(40)]
        until(lambda: any(poll.running() for poll in polls))
        started = time.monotonic()
        for _ in range(20):
            assert server.api.get("/healthz").status_code == 200
        assert time.monotonic() - started < 2.5
        assert all(poll.result() == [] for poll in polls)


def test_it_ends_when_its_time_is_over(server: Server) -> None:
    session = server.open_session()
    started = time.monotonic()

    assert session.followups(wait=1) == []

    assert 1 <= time.monotonic() - started < 2


def test_with_the_header_it_renews_the_lease_until_it_ends(server: Server) -> None:
    session = server.open_session(lease_seconds=5)

    assert session.followups(wait=7, **{"Wakeful-Lease": session.lease_id}) == []

    assert server.api.get(session.path).json()["live"] is True


def test_without_the_header_the_lease_runs_out(server: Server) -> None:
    session = server.open_session(lease_seconds=5)

    session.followups(wait=6)

    assert server.api.get(session.path).json()["live"] is False


def test_a_poll_whose_client_has_gone_renews_nothing(server: Server) -> None:
    session = server.open_session(lease_seconds=5)
    with pytest.raises(httpx.ReadTimeout):
        server.api.get(
            f"{session.path}/followups",
            params={"wait": 60},
            headers={"Wakeful-Lease": session.lease_id},
            timeout=0.5,
        )

    until(lambda: server.api.get(session.path).json()["live"] is False)


def test_a_poll_that_loses_its_lease_says_so_at_once(server: Server, aside: ThreadPoolExecutor) -> None:
    session = server.open_session()
    poll = aside.submit(
        server.api.get,
        f"{session.path}/followups",
        params={"wait": 60},
        headers={"Wakeful-Lease": session.lease_id},
    )
    started = threading.Event()
    poll.add_done_callback(lambda _: started.set())
    assert not started.wait(0.5)

    server.api.post(f"{session.path}/open", json={"holder": "host"}).raise_for_status()

    answer = poll.result()
    assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost")


@pytest.mark.parametrize("wait", ["-1", "61", "1.0", "x", "", "%D9%A3", "1e1", "+1", "0x1", "1%0A"])
def test_a_malformed_wait_is_refused(server: Server, wait: str) -> None:
    session = server.open_session()

    answer = server.api.get(f"{session.path}/followups?wait={wait}")

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_a_stranger_learns_nothing_by_waiting(server: Server) -> None:
    session = server.open_session()
    url = f"{server.url}{session.path}/followups?wait=20"

    assert httpx.get(url).status_code == 401
    assert httpx.get(url, headers={"Authorization": "Bearer wkf_none"}).status_code == 401
    assert server.api.get("/sessions/another/followups?wait=20").status_code == 404
    assert server.api.head(f"{session.path}/followups?wait=20").status_code == 200


def timed(session: OpenSession, wait: int) -> tuple[list[dict[str, Any]], float]:
    found = session.followups(wait)
    return found, time.time()
