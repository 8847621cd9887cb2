"""The threads of the loops: whatever happens to a loop, it is logged and it goes on."""

import logging
import threading

import pytest

from config import delivery


class Broken:
    """An owner that breaks twice, and then runs until it is stopped."""

    def __init__(self) -> None:
        self.runs = 0
        self.steady = threading.Event()
        self.stopped = threading.Event()

    def run(self) -> None:
        self.runs += 1
        if self.runs < 3:
            raise ValueError("nobody foresaw this")
        self.steady.set()
        self.stopped.wait(10)

    def stop(self) -> None:
        self.stopped.set()


def test_a_loop_that_breaks_is_logged_and_starts_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(delivery, "_RESTART_SECONDS", (0,))
    owner = Broken()
    running = delivery.Keeper("owner", owner)
    with caplog.at_level(logging.INFO):
        running.start()
        assert owner.steady.wait(10)
        running.stop()
        running.join()

    assert caplog.text.count("the owner broke") == 2
    assert "the owner has stopped" in caplog.text


def test_stopping_does_not_wait_for_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_RESTART_SECONDS", (3600,))
    running = delivery.Keeper("owner", Broken())
    running.start()
    running.stop()
    running.join()


def test_one_that_never_started_is_stopped_at_once() -> None:
    running = delivery.Delivery()
    running.stop()
    running.join()
