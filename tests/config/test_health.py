"""Liveness, readiness, the API's description and its viewer: open to all."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.http import HttpResponse

from config import health
from schedules.models import OwnerHeartbeat
from tests.asgi_calls import Call
from tests.conftest import START, Client, HandClock


def beat(at: int, *, lag: int = 0, owner: str = "host-1") -> None:
    OwnerHeartbeat.objects.create(id=owner, started_at=at, beat_at=at, lag_ms=lag)


@contextmanager
def outage() -> Iterator[None]:
    """The database gone: every query fails as it would then."""

    def fail(*_: Any) -> None:
        raise OperationalError("could not connect to server 10.0.0.7")

    with connection.execute_wrapper(fail):
        yield


def test_a_live_process_says_so_even_without_its_database(anonymous: Client) -> None:
    with outage():
        answer = anonymous.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_ready_is_a_database_and_a_living_owner(anonymous: Client, clock: HandClock) -> None:
    beat(START, lag=120)
    clock.advance(seconds=5)
    answer = anonymous.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "database": "ok",
        "owner": {"status": "alive", "beatAt": "2026-12-01T00:00:00.000Z", "lagMs": 120},
    }


def test_of_several_owners_the_newest_beat_and_the_worst_lag_count(anonymous: Client, clock: HandClock) -> None:
    beat(START - 60_000, lag=9_000, owner="dead")
    beat(START - 1_000, lag=7)
    beat(START - 2_000, lag=30, owner="host-2")
    assert anonymous.get("/readyz").json()["owner"] == {
        "status": "alive",
        "beatAt": "2026-11-30T23:59:59.000Z",
        "lagMs": 30,
    }


def test_without_an_owner_nothing_is_delivered(anonymous: Client, clock: HandClock) -> None:
    answer = anonymous.get("/readyz")
    assert (answer.status_code, answer.json()["owner"]) == (503, {"status": "absent"})


@pytest.mark.parametrize("seconds", [15.001, -15.001])
def test_an_owner_that_fell_silent_is_not_ready(anonymous: Client, clock: HandClock, seconds: float) -> None:
    beat(START)
    clock.advance(seconds=seconds)
    answer = anonymous.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "unavailable"
    assert answer.json()["owner"] == {"status": "silent", "beatAt": "2026-12-01T00:00:00.000Z"}


def test_without_its_database_nothing_is_ready_and_no_address_is_shown(anonymous: Client) -> None:
    with outage():
        answer = anonymous.get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (503, "unreachable")
    assert b"10.0.0.7" not in answer.content


async def nobody(*_: Any) -> None:
    raise AssertionError("a probe is answered before it comes here")


def probe(*calls: Call) -> list[Call]:
    """The answers to probes that come together, as a server gives them."""

    async def main() -> list[Call]:
        probes = health.Probes(nobody)
        return await asyncio.gather(*(call.of(probes) for call in calls))

    return asyncio.run(asyncio.wait_for(main(), 30))


def test_the_server_answers_as_the_views_do(anonymous: Client, clock: HandClock) -> None:
    beat(START, lag=120)
    for path in ("/healthz", "/readyz"):
        (answer,) = probe(Call("GET", path))
        shown = anonymous.get(path)
        assert (answer.status, answer.body) == (shown.status_code, shown.json())
        assert answer.answered[b"content-type"].decode() == shown["Content-Type"]


@pytest.mark.usefixtures("store")
def test_a_database_that_does_not_answer_delays_no_probe_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    back = threading.Event()
    asked = []

    def wait() -> health.Health:
        asked.append(1)
        back.wait(30)
        return health.ALIVE

    monkeypatch.setattr(health, "readiness", wait)
    monkeypatch.setattr(health, "READY_SECONDS", 0.05)

    async def main() -> None:
        probes = health.Probes(nobody)
        ready = [asyncio.create_task(Call("GET", "/readyz").of(probes)) for _ in range(30)]
        await asyncio.sleep(0)
        try:
            assert (await Call("GET", "/healthz").of(probes)).status == 200
            answers = await asyncio.gather(*ready)
        finally:
            back.set()
        assert [(answer.status, answer.body["database"]) for answer in answers] == [(503, "unreachable")] * 30
        assert len(asked) == 1

    asyncio.run(asyncio.wait_for(main(), 30))


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_balancer_may_probe_with_head(anonymous: Client, clock: HandClock, path: str) -> None:
    beat(START)
    assert anonymous.head(path).status_code == 200
    assert [answer.status for answer in probe(Call("HEAD", path))] == [200]


@pytest.mark.parametrize("address", ["/healthz", "/readyz", "/schema", "/docs"])
def test_a_wrong_token_shuts_no_open_door(anonymous: Client, address: str, clock: HandClock) -> None:
    beat(START)
    assert anonymous.get(address, HTTP_AUTHORIZATION="Bearer wrong").status_code == 200


def test_the_description_is_json_and_names_the_ways_to_authenticate(anonymous: Client) -> None:
    answer = anonymous.get("/schema")
    description = answer.json()
    assert description["openapi"].startswith("3.1")
    assert {"/healthz", "/readyz"} <= set(description["paths"])


def test_the_viewer_needs_no_other_network(anonymous: Client) -> None:
    page = anonymous.get("/docs").content.decode()
    sources = re.findall(r"""(?:src|href)=["']([^"']+)""", page)
    assert sources
    assert all(source.startswith("/static/") for source in sources)
    for source in sources:
        answer: HttpResponse = anonymous.get(source)
        assert answer.status_code == 200
        answer.close()


def test_there_are_no_trailing_slashes(anonymous: Client) -> None:
    answer = anonymous.get("/healthz/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_admin_asks_for_a_login_and_keeps_its_own_pages(anonymous: Client) -> None:
    assert anonymous.get("/admin")["Location"] == "/admin/"
    assert anonymous.get("/admin/")["Location"].startswith("/admin/login/")
