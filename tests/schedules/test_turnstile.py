"""The queue of SQLite's writers: bounded, given back by the dead, and shared by whoever shares the database."""

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pytest_django import Settings

from schedules import transaction, turnstile
from schedules.sessions.errors import PersistenceUncertain

HOLDER = (
    "import sys, time\n"
    "from schedules import turnstile\n"
    "with turnstile.turn(sys.argv[1], 5):\n"
    "    print('in', flush=True)\n"
    "    time.sleep(60)\n"
)


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A file to queue for; what it holds does not matter here."""
    path = tmp_path / "some.sqlite3"
    path.touch()
    return str(path)


@contextmanager
def held_elsewhere(database: str) -> Iterator[subprocess.Popen[str]]:
    """Another process has its turn; it never gives it back by itself."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, database], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "in\n"
        try:
            yield holder
        finally:
            holder.kill()


def test_a_wait_for_another_process_is_bounded(database: str) -> None:
    with held_elsewhere(database):
        started = time.monotonic()
        with pytest.raises(TimeoutError), turnstile.turn(database, 0.3):
            pass
        assert 0.3 <= time.monotonic() - started < 3


def test_a_wait_for_another_thread_is_bounded(database: str) -> None:
    problems: list[type[BaseException]] = []

    def wait() -> None:
        try:
            with turnstile.turn(database, 0.1):
                pass
        except TimeoutError as error:
            problems.append(type(error))

    with turnstile.turn(database, 1):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert problems == [TimeoutError]


def test_a_process_that_is_killed_gives_its_turn_back(database: str) -> None:
    with held_elsewhere(database) as holder:
        holder.kill()
        with turnstile.turn(database, 5):
            pass


def test_one_that_gave_up_left_nothing_behind(database: str) -> None:
    with held_elsewhere(database):
        for _ in range(2):
            with pytest.raises(TimeoutError), turnstile.turn(database, 0.01):
                pass
    with turnstile.turn(database, 5):
        pass


def test_whoever_may_write_the_database_may_queue(database: str) -> None:
    os.chmod(database, 0o664)
    with turnstile.turn(database, 1):
        pass
    assert stat.S_IMODE(os.stat(f"{database}-queue").st_mode) == 0o664


def test_a_database_in_memory_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:memorydb_default?mode=memory&cache=shared"):
        with turnstile.turn(name, 1):
            pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.engine("sqlite3")
def test_a_call_whose_turn_does_not_come_answers_that_nothing_is_known(store: None, settings: Settings) -> None:
    settings.LOCK_SECONDS = 0.2
    with held_elsewhere(str(settings.DATABASES["default"]["NAME"])):
        started = time.monotonic()
        with pytest.raises(PersistenceUncertain), transaction.barrier():
            pass
        assert time.monotonic() - started < 3
