"""When a failed run is tried again."""

from routines.domain import manifest
from schedules.domain import instants


def next_attempt(retry: manifest.Retry, *, attempt: int, failure: manifest.FailureClass, ended_at: int) -> int | None:
    """The instant of the next attempt, in ms since the epoch; None where the run has failed for good.

    attempt: which attempt failed, from 1.
    failure: how it failed.
    ended_at: when it ended, in ms. The wait counts from then, so it is the same after a restart.
    """
    if attempt >= retry.max_attempts or (retry.on is not None and failure not in retry.on):
        return None
    return min(ended_at + wait(retry, attempt), instants.MAX)


def wait(retry: manifest.Retry, attempt: int) -> int:
    """The wait after the attempt of that number (from 1) failed, in ms: never over `max_ms`.

    `fixed` waits `initial_ms` each time, `linear` once as much more each time, `exponential` twice as much.
    """
    factor = {"fixed": 1, "linear": attempt, "exponential": 1 << (attempt - 1)}[retry.backoff]
    return min(retry.initial_ms * factor, retry.max_ms)
