"""Waiting for what knows no limit: its answer, its exception, or the end of the time."""

import threading

import pytest

from schedules import patience


def test_an_answer_in_time_is_given() -> None:
    assert patience.within(60, lambda: "done") == "done"


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        patience.within(60, lambda: 1 // 0)


@pytest.mark.parametrize("seconds", [-1, 0, 0.05])
def test_nobody_waits_longer_than_so_long(seconds: float) -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError):
        patience.within(seconds, never.wait)
    never.set()
