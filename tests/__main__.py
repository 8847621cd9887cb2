"""``python -m tests [pytest's arguments]``: the suite on SQLite, then on PostgreSQL where one can be had."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = "postgres://postgres@127.0.0.1:5432/postgres"
ABSENT = "no server lets role postgres in at 127.0.0.1:5432, and no initdb lies under /usr/lib/postgresql"


def main(arguments: list[str]) -> int:
    """Run the suite on each engine; 0 only where every run passed."""
    # Else a terminated run would leave its temporary cluster behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    outcomes: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="wakeful-tests-") as folder:
        outcomes["SQLite"] = run(f"sqlite:///{folder}/main.sqlite3", arguments)
    with postgresql() as url:
        outcomes["PostgreSQL"] = run(url, arguments) if url else f"NOT TESTED: {ABSENT}"
    say("Summary", *(f"{engine}: {outcome}" for engine, outcome in outcomes.items()))
    return 1 if any(outcome.startswith("FAILED") for outcome in outcomes.values()) else 0


def run(url: str, arguments: list[str]) -> str:
    """Run pytest once against a database server or file; what came of it, in words."""
    say(f"Tests on {url.partition(':')[0]}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(cores, 8) if cores > 1 else 0
    command = [sys.executable, "-m", "pytest", "-n", str(workers), *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "DATABASE_URL": url}, check=False)
    return "passed" if done.returncode == 0 else f"FAILED (pytest's exit code {done.returncode})"


@contextlib.contextmanager
def postgresql() -> Iterator[str | None]:
    """The URL of a server that lets us make databases: one running here, else a temporary one, else none."""
    if answers(LOCAL):
        yield LOCAL
        return
    binaries = max(
        (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        key=lambda path: int(path.parent.name),
        default=None,
    )
    if binaries is None:
        yield None
        return
    with cluster(binaries) as url:
        yield url


def answers(url: str) -> bool:
    """Whether the server at ``url`` lets us in without a password."""
    try:
        import psycopg
    except ImportError:
        return False
    try:
        psycopg.connect(url, connect_timeout=3).close()
    except psycopg.OperationalError:
        return False
    return True


@contextlib.contextmanager
def cluster(binaries: Path) -> Iterator[str]:
    """A PostgreSQL server for one run: its files are temporary and it is stopped at the end."""
    # initdb refuses root, so root acts as Debian's postgres, who must then own the folder.
    as_root = os.geteuid() == 0
    prefix = ["runuser", "-u", "postgres", "--"] if as_root else []
    folder = Path(tempfile.mkdtemp(prefix="wakeful-postgresql-"))

    def call(program: str, *arguments: str) -> None:
        # The server keeps what it inherits open for its whole life: a pipe here would never reach its end.
        subprocess.run(
            [*prefix, str(binaries / program), "-D", str(folder / "data"), *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    try:
        if as_root:
            shutil.chown(folder, "postgres", "postgres")
        port = free_port()
        call("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
        # Nothing here outlives the run, so nothing need reach the disk.
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-w", "-m", "fast", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def say(title: str, *lines: str) -> None:
    """A heading that stands out from pytest's output, and what belongs under it."""
    sys.stdout.write("\n".join([f"\n== {title}", *lines, ""]))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
