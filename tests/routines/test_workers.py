"""The pool: bounded, never silent, and empty once it was stopped."""

import threading

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from routines.models import Run
from routines.workers import Pool
from tests.conftest import START, HandClock
from tests.routines.firing import queued


@pytest.fixture(autouse=True)
def _stored(store: None, clock: HandClock) -> None:
    User.objects.create_superuser("root")


def test_a_run_is_claimed_only_where_there_is_room_to_work_it(settings: Settings) -> None:
    settings.WAKEFUL_WORKERS = 1
    gate = threading.Event()
    pool = Pool("host:1:abc", lambda: None)
    pool.call(lambda: gate.wait(30))
    run_id = queued()
    assert not pool.begin(run_id, START)
    assert Run.objects.get().worker is None
    gate.set()
    pool.join()
    assert pool.free == 1


def test_room_that_a_claim_did_not_need_is_given_back() -> None:
    pool = Pool("host:1:abc", lambda: None)
    assert not pool.begin("no such run", START)
    assert pool.busy == 0
    pool.join()


def test_work_that_breaks_is_logged_and_its_place_is_free_again(caplog: pytest.LogCaptureFixture) -> None:
    ended: list[int] = []
    pool = Pool("host:1:abc", lambda: ended.append(1))

    def broken() -> None:
        raise ValueError("nobody foresaw this")

    pool.call(broken)
    pool.join()
    assert "nobody foresaw this" in caplog.text
    assert (pool.busy, ended) == (0, [1])


def test_a_stopped_pool_takes_no_run() -> None:
    pool = Pool("host:1:abc", lambda: None)
    pool.stop()
    assert not pool.begin(queued(), START)
    assert Run.objects.get().worker is None
    pool.join()
