"""What the commands share: subcommands with Django's options, plain refusals, output that may break off."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from schedules import transaction
from schedules.domain import errors
from schedules.sessions import log, lossless
from schedules.sessions.errors import Refusal

FAILED, MISUSED = 1, 2

Action = Callable[..., None]


class Subcommands(BaseCommand):
    """A command of the form ``NAME SUBCOMMAND ...``. A refusal ends it with 1 and the reason."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        self.add_subcommands(parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND"))

    def add_subcommands(self, subparsers: Any) -> None:
        """Add each with :meth:`subcommand`."""
        raise NotImplementedError

    def subcommand(self, subparsers: Any, name: str, action: Action, about: str) -> argparse.ArgumentParser:
        """The parser of a subcommand that ``action`` runs with the options."""
        parser: argparse.ArgumentParser = subparsers.add_parser(name, help=about, description=about)
        parser.set_defaults(action=action)
        parser.add_argument("--json", action="store_true", help="print JSON")
        # Django reads its own options before the subcommand only. Suppressed: else a default here would undo
        # what stood there.
        base: dict[str, Any] = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
        parser.add_argument("-v", "--verbosity", type=int, choices=(0, 1, 2, 3), **base)
        for option in ("--settings", "--pythonpath"):
            parser.add_argument(option, **base)
        for option in ("--traceback", "--no-color", "--force-color", "--skip-checks"):
            parser.add_argument(option, action="store_true", **base)
        return parser

    def handle(self, *_: Any, **options: Any) -> None:
        action: Action = options["action"]
        with writing(self.stdout), answering():
            try:
                action(**options)
            except (Refusal, errors.ScheduleError) as refused:
                if not options["json"]:
                    raise
                self.say({"code": refused.code, "message": refused.message})
                sys.exit(FAILED)

    def say(self, value: object) -> None:
        """Print a value as JSON, in ASCII, on one line."""
        self.stdout.write(lossless.dumps(value))


@contextmanager
def answering() -> Iterator[None]:
    """Turn a refusal, or a database that does not answer, into the end of the command."""
    try:
        with transaction.asking():
            yield
    except (Refusal, errors.ScheduleError) as refused:
        raise CommandError(f"{refused.code}: {refused.message}", returncode=FAILED) from None


@contextmanager
def writing(stdout: OutputWrapper) -> Iterator[None]:
    """Print whatever a session holds on any terminal, and end quietly where the reader goes away."""
    reconfigure = getattr(stdout._out, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    try:
        yield
        stdout.flush()
    except BrokenPipeError:
        # Else Python's own flush at exit fails again, with a trace.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)


def header(session_id: str) -> log.Header:
    """The header of a session named on the command line. Raises Refusal ``not_found``."""
    # No database takes these in a query, so no session has such an id.
    found = log.header(session_id) if "\0" not in session_id and lossless.is_unicode(session_id) else None
    if found is None:
        raise Refusal("not_found", f"There is no session {line(session_id)}.")
    return found


def line(text: object) -> str:
    """A text that stays on its line and does nothing to a terminal: as it is, or escaped where it would."""
    plain = str(text)
    return plain if plain.isprintable() else lossless.dumps(plain)
