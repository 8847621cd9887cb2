"""The core's figures on the database of ``DATABASE_URL``, which must be empty.

Run by ``python -m tests.benchmarks``.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402

from schedules import clock, live, tools  # noqa: E402
from schedules.owner import Owner  # noqa: E402
from schedules.sessions import log, lossless  # noqa: E402
from tests.benchmarks import idle, replay, seeds, server  # noqa: E402
from tests.benchmarks.table import SMALL, row, size  # noqa: E402


def length(user: User) -> None:
    """What a tool call costs on a short log and on a long one."""
    calls = 300
    medians: dict[str, list[float]] = {"schedule_list": [], "schedule_create": []}
    reminder: lossless.Json = {"prompt": "look", "after_seconds": 86_400}
    for events in (100, size(1_000_000)):
        session = seeds.long_session(user.pk, events)
        listing, creating = partial(tools.list_, session, {}), partial(tools.create, session, reminder)
        medians["schedule_list"].append(statistics.median(_times(listing, calls)) * 1000)
        medians["schedule_create"].append(statistics.median(_times(creating, calls)) * 1000)
    for name, (short, long) in medians.items():
        detail = f"{short:.2f} ms at 100 events, {long:.2f} ms at {size(1_000_000):,}"
        row(f"{name}, p50, long to short", detail, long / short, "≤ 1.2")


def http(user: User) -> None:
    """Durable creates over HTTP."""
    rate = server.creates_per_second(user, connections=16, calls=size(8_000))
    row("durable creates over HTTP, 16 connections", "", rate, "≥ 400 a second")


def burst(user: User) -> None:
    """Many live sessions fall due at once."""
    sessions = size(10_000)
    due = clock.sample() + 3_600_000
    with clock.set_to(lambda: due - 1000):
        for _ in range(sessions):
            session = log.new_id()
            header = log.Header(id=session, owner_id=user.pk, created_at=due)
            live.create(header, live.Opening(holder="benchmark", seconds=7200))
            tools.create(session, {"prompt": "look", "after_seconds": 1})
    start = time.perf_counter()
    lateness: list[float] = []
    owner = Owner()
    # Its clock starts at the instant at which all fall due.
    with clock.set_to(lambda: due + int((time.perf_counter() - start) * 1000)):
        start = time.perf_counter()
        drive = owner.drive_once()
        while drive.admitted:
            lateness += [time.perf_counter() - start] * drive.admitted
            drive = owner.drive_once()
    aim = "≥ 3,000 a second" if os.environ["DATABASE_URL"].startswith("postgres") else "≥ 5,000 a second"
    row(f"{sessions:,} sessions due at once", f"{len(lateness):,} admitted", len(lateness) / lateness[-1], aim)
    p50, p99 = statistics.median(lateness), statistics.quantiles(lateness, n=100)[98]
    row("their lateness", f"p50 {p50:.3f} s, p99 {p99:.3f} s, max {lateness[-1]:.3f} s")


def fold(user: User) -> None:
    """A full replay of a stored log, beside the reference implementation."""
    for events in (size(100_000), size(1_000_000)):
        ours, theirs = replay.events_per_second(user.pk, events)
        beside = "no Node to compare with" if theirs is None else f"the reference on Node: {theirs:,.0f}"
        row(f"replay of {events:,} events from stored text", beside, ours, "≥ 300,000 a second")


def at_rest(user: User) -> None:
    """An owner with much to wait for."""
    seeds.waiting(user.pk, sessions=size(100_000), reminders=10)
    found = idle.measure(seconds=3 if SMALL else 20)
    row("owner at rest: memory", "", found.megabytes, "≤ 150 MB")
    row("owner at rest: processor", f"{found.processor:.2%} of a core", None, "≤ 1%")
    row("owner: from start to armed", "", found.armed_after, "≤ 1 s")


def fork(user: User) -> None:
    """A fork of a short session and of a long one."""
    medians = []
    for events in (100, size(1_000_000)):
        header = log.header(seeds.long_session(user.pk, events))
        if header is None:
            raise LookupError("the session that was just made")
        medians.append(statistics.median(_times(partial(_fork, header, user), 100)) * 1000)
    short, long = medians
    row("fork, p50", f"{short:.2f} ms of 100 events, {long:.2f} ms of {size(1_000_000):,}", long / short, "about 1")


def _fork(parent: log.Header, user: User) -> None:
    live.fork(parent, session_id=log.new_id(), owner_id=user.pk)


def _times(call: Callable[[], object], calls: int) -> Sequence[float]:
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    person = User.objects.create_user("benchmark")
    measures = {"length": length, "http": http, "burst": burst, "replay": fold, "idle": at_rest, "fork": fork}
    for name in sys.argv[1:]:
        measures[name](person)
