"""The routines' figures on the database of ``DATABASE_URL``, which must be empty.

Run by ``python -m tests.benchmarks``.
"""

import logging
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from routines import registrar, watch  # noqa: E402
from routines.domain import rendering  # noqa: E402
from routines.models import Job  # noqa: E402
from schedules import clock  # noqa: E402
from schedules.sessions.lossless import Json  # noqa: E402
from tests.benchmarks.table import SMALL, row, size  # noqa: E402


def reconcile() -> None:
    """Many manifests: to register them, to find them unchanged, and how soon an edit counts."""
    manifests = size(10_000)
    with tempfile.TemporaryDirectory(prefix="wakeful-benchmark-") as folder:
        workspace = Path(folder)
        settings.WAKEFUL_WORKSPACES = [folder]
        for number in range(manifests):
            _put(workspace, number)
        start = time.perf_counter()
        registered = len(registrar.OWN.reconcile().registered)
        row(f"first reconcile of {manifests:,} manifests", f"{registered:,} registered", time.perf_counter() - start)
        time.sleep(2.5)  # what was written a moment ago is read at every look; a library at rest is not
        for what, by in (("by a new process", registrar.Registrar()), ("by the one that watches", registrar.OWN)):
            start = time.perf_counter()
            by.reconcile()
            row("unchanged reconcile", what, time.perf_counter() - start, "≤ 5 s")
        start = time.perf_counter()
        registrar.OWN.look()
        row("a look at them, ms", "", (time.perf_counter() - start) * 1000)
        _edits(workspace, manifests)


def _edits(workspace: Path, manifests: int) -> None:
    """Edits at any moment, while a watcher of its own thread looks and rests as it does in service."""
    end = threading.Event()
    rests: list[float] = []

    def run() -> None:
        watcher = watch.Watcher()
        while not end.is_set():
            rests.append(watcher.step(clock.sample()))
            end.wait(rests[-1])
        connection.close()

    thread = threading.Thread(target=run)
    before = time.process_time(), time.perf_counter()
    thread.start()
    times = []
    for edit in range(3 if SMALL else 20):
        time.sleep(3 + 0.37 * (edit % 7))
        words = f"edit {edit}"
        _put(workspace, edit * 7 % manifests, words)
        start = time.perf_counter()
        while not Job.objects.filter(routine_id=_id(edit * 7 % manifests), document__contains=words).exists():
            time.sleep(0.02)
        times.append(time.perf_counter() - start)
    used = (time.process_time() - before[0]) / (time.perf_counter() - before[1])
    end.set()
    thread.join()
    detail = f"p50 {statistics.median(times):.2f} s of {len(times)}; {used:.1%} of a core; rests to {max(rests):.2f} s"
    row("from an edit to its effect, the longest", detail, max(times), "≤ 2 s")


def _id(number: int) -> str:
    return f"@acme/routines/r{number:05}"


def _put(workspace: Path, number: int, description: str = "Tidies the workspace.") -> None:
    fields: dict[str, Json] = {
        "schema": "routine/v1",
        "id": _id(number),
        "description": description,
        "schedule": {
            "kind": "cron",
            "cron": f"{number % 60} {number % 24} * * 1-5",
            "timezone": "Europe/Berlin",
            "jitter_seconds": 30,
        },
        "target": {"tool": "lifecycle_noop", "inputs": {"folder": "services/api", "since": "${{ now }}"}},
        "retry": {"max_attempts": 3},
        "on_failure": {"create_work_item": True},
        "tags": ["tidy", "nightly"],
        "metadata": {"team": "platform"},
    }
    path = workspace / ".routines" / f"team-{number % 50}" / f"r{number:05}" / "ROUTINE.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(rendering.to_text(fields), encoding="utf-8")


if __name__ == "__main__":
    logging.disable(logging.INFO)
    call_command("migrate", verbosity=0)
    User.objects.create_superuser("benchmark")
    measures = {"reconcile": reconcile}
    for name in sys.argv[1:]:
        measures[name]()
