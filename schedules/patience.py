"""Waiting no longer than so long for what knows no time limit of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Answer = TypeVar("Answer")


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """What ``call`` gives or raises; TimeoutError once ``seconds`` are over.

    It runs in a thread of its own, which is left alone when the time is over: give it only what ends by itself, and
    what needs no connection to the database.
    """
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as problem:  # noqa: BLE001  it belongs to the one who waits
            future.set_exception(problem)

    # Not a pool's: the interpreter waits for those when it ends.
    threading.Thread(target=run, name="within", daemon=True).start()
    return future.result(max(0.0, seconds))
