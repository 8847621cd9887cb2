"""``manage.py reconcile``: make the jobs equal to what the workspaces' files want, now."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from routines import registrar
from routines.domain import errors
from schedules.management import subcommands
from schedules.management.subcommands import line
from schedules.sessions import lossless


class Command(BaseCommand):
    help = "Reads the workspaces' ROUTINE.md files and makes the registered jobs equal to what they want."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        with subcommands.answering(), subcommands.writing(self.stdout):
            report = registrar.OWN.reconcile()
            if options["json"]:
                self.stdout.write(lossless.dumps(report.to_json()))
            else:
                self._tell(report)
        if not report.good:
            raise SystemExit(subcommands.FAILED)

    def _tell(self, report: registrar.Report) -> None:
        for skipped in report.skipped:
            self.stdout.write(f"{skipped.routine_id}: skipped: {line(skipped.reason.message)}")
        for problem in report.errors:
            weight = "warning" if problem.fault.warning else "error"
            self.stdout.write(f"{line(problem.path)}: {weight}: {line(errors.describe(problem.fault))}")
        self.stdout.write(
            f"Registered: {len(report.registered)}. Skipped: {len(report.skipped)}. Removed: {len(report.removed)}. "
            f"Errors and warnings: {len(report.errors)}."
        )
