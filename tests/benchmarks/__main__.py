"""``python -m tests.benchmarks core|routines``: figures on SQLite and, where there is one, on PostgreSQL.

Each engine is measured in a process and a database of its own. Absolute figures are the machine's; the aims are named
beside them.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.__main__ import postgresql

SUITES = {
    "core": ("length", "http", "burst", "replay", "idle", "fork"),
    "routines": ("reconcile",),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--only", metavar="MEASURE", action="append", help="measure only this; may be repeated")
    parser.add_argument("--small", action="store_true", help="a hundredth of the sizes: does it run at all?")
    options = parser.parse_args()
    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    measures = options.only or list(SUITES[options.suite])
    if unknown := set(measures) - set(SUITES[options.suite]):
        parser.error(f"{options.suite} measures {', '.join(SUITES[options.suite])}; not {', '.join(unknown)}")
    with tempfile.TemporaryDirectory(prefix="wakeful-benchmark-") as folder:
        url = f"sqlite:///{Path(folder) / 'benchmark.sqlite3'}"
        code = _measure(options.suite, "SQLite", url, measures, small=options.small)
    with postgresql() as server:
        if server is None:
            print("\nPostgreSQL: none to be had here, not measured")
            return code
        name = f"wakeful_benchmark_{os.getpid()}"
        _psql(server, f"CREATE DATABASE {name}")
        try:
            url = server.rpartition("/")[0] + f"/{name}"
            return code | _measure(options.suite, "PostgreSQL", url, measures, small=options.small)
        finally:
            _psql(server, f"DROP DATABASE {name} WITH (FORCE)")


def _measure(suite: str, engine: str, url: str, measures: list[str], *, small: bool) -> int:
    print(f"\n== {engine}", flush=True)
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": "of a benchmark",
        "WAKEFUL_MAX_REMINDERS": "1000000",
        "BENCHMARK_SMALL": "1" if small else "",
    }
    command = [sys.executable, "-m", f"tests.benchmarks.{suite}", *measures]
    return subprocess.run(command, env=environment, check=False).returncode


def _psql(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


if __name__ == "__main__":
    sys.exit(main())
