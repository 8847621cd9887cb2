"""``manage.py rebuild_projections``: write the projections anew from the log, or check them against it."""

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand

from schedules import transaction
from schedules.management import subcommands
from schedules.projection import rebuild
from schedules.sessions import lossless


class Command(BaseCommand):
    help = "Rebuilds the projections of every session, or of one, from its log; the system may go on meanwhile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing; say each difference")
        parser.add_argument("--session", metavar="ID", help="this session alone")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        with subcommands.answering(), subcommands.writing(self.stdout):
            name = options["session"]
            sessions = rebuild.all_sessions() if name is None else [subcommands.header(name).id]
            if options["check"]:
                self._check(sessions, as_json=options["json"])
            else:
                self._rebuild(sessions, as_json=options["json"])

    def _rebuild(self, sessions: Iterable[str], *, as_json: bool) -> None:
        count = 0
        for session_id in sessions:
            with transaction.barrier():
                rebuild.rebuild(session_id)
            count += 1
        self.stdout.write(lossless.dumps({"rebuilt": count}) if as_json else f"Rebuilt {count} sessions.")

    def _check(self, sessions: Iterable[str], *, as_json: bool) -> None:
        count = 0
        found: dict[str, list[str]] = {}
        for session_id in sessions:
            with transaction.barrier():
                differences = rebuild.check(session_id)
            count += 1
            if differences:
                found[session_id] = differences
                if not as_json:
                    self.stdout.writelines(f"{session_id}: {difference}\n" for difference in differences)
        if as_json:
            self.stdout.write(lossless.dumps({"checked": count, "differences": found}))
        else:
            self.stdout.write(f"Checked {count} sessions: {len(found)} differ from their logs.")
        if found:
            raise SystemExit(subcommands.FAILED)
