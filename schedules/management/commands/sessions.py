"""``manage.py sessions``: list and show sessions, import and export their logs."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from schedules import clock, exchange, reading
from schedules.api import paging
from schedules.management.subcommands import FAILED, MISUSED, Subcommands, header, line
from schedules.sessions import lossless
from schedules.sessions.errors import Refusal
from schedules.sessions.lossless import Json

STREAM = "-"


class Command(Subcommands):
    help = "Lists and shows sessions, and imports and exports their logs."

    def add_subcommands(self, subparsers: Any) -> None:
        shown = self.subcommand(subparsers, "list", self._list, "List sessions, the newest first.")
        shown.add_argument("--live", action="store_true", default=None, help="only those that a host holds")
        shown.add_argument("--overdue", action="store_true", default=None, help="only those with a reminder due")
        shown.add_argument("--origin", help="only those that were started so, such as api")
        shown.add_argument("--owner", metavar="USERNAME", help="only those of this user")
        shown.add_argument("--limit", default="50", help="how many at most, 1 to 1000 (50)")
        shown.add_argument("--cursor", help="where the page before said that the next one starts")

        shown = self.subcommand(subparsers, "show", self._show, "Show one session.")
        shown.add_argument("session", metavar="ID")

        taken = self.subcommand(subparsers, "import", self._import, "Import a session log.")
        taken.add_argument("file", metavar="FILE", help="the log, a JSON value a line; - for standard input")
        taken.add_argument("--owner", metavar="USERNAME", required=True, help="whose session it will be")

        given = self.subcommand(subparsers, "export", self._export, "Export a session log.")
        given.add_argument("session", metavar="ID")
        given.add_argument("file", metavar="FILE", nargs="?", default=STREAM, help="standard output by default")

    def _list(self, *, limit: str, cursor: str | None, owner: str | None, **options: Any) -> None:
        size = int(limit) if limit.isascii() and limit.isdigit() and len(limit) < 5 else 0
        if not 1 <= size <= paging.MAX_LIMIT:
            raise CommandError(f"--limit is a whole number from 1 to {paging.MAX_LIMIT}.", returncode=MISUSED)
        found, following = reading.page(
            None if owner is None else _user_id(owner),
            clock.sample(),
            live=options["live"],
            overdue=options["overdue"],
            origin=options["origin"],
            after=_after(cursor),
            limit=size,
        )
        more = None if following is None else paging.encode_cursor(following)
        if options["json"]:
            self.say(paging.page(found, more))
            return
        for row in found:
            self.stdout.write(_summary(row))
        if more is not None:
            self.stdout.write(f"There may be more: --cursor {more}")

    def _show(self, *, session: str, **options: Any) -> None:
        shown = reading.view(header(session), clock.sample())
        if options["json"]:
            self.say(shown)
            return
        for key, value in shown.items():
            self.stdout.write(f"{key}: {line(value) if isinstance(value, str) else lossless.dumps(value)}")

    def _import(self, *, file: str, owner: str, **options: Any) -> None:
        owner_id = _user_id(owner)
        try:
            with _source(file) as lines:
                made = exchange.import_log(lines, owner_id=owner_id)
        except exchange.Malformed as fault:
            raise CommandError(f"{line(file)}, {fault}", returncode=FAILED) from None
        except OSError as problem:
            raise CommandError(f"{line(file)} cannot be read: {problem.strerror}.", returncode=FAILED) from None
        shown = reading.view(made, clock.sample())
        if options["json"]:
            self.say(shown)
        else:
            self.stdout.write(f"Imported the session {made.id}.")
        if shown["corrupt"]:
            self.stderr.write("Its schedule/change events do not fold: it is kept as it is, and has no reminders.")

    def _export(self, *, session: str, file: str, **options: Any) -> None:
        lines = exchange.export_log(header(session))
        if file == STREAM:
            self.stdout.writelines(lines)
            return
        try:
            _write(Path(file), lines)
        except OSError as problem:
            raise CommandError(f"{line(file)} cannot be written: {problem.strerror}.", returncode=FAILED) from None
        if options["json"]:
            self.say({"id": session, "file": file})


def _summary(row: dict[str, Json]) -> str:
    counts = row["counts"]
    reminders = counts["reminders"] if isinstance(counts, dict) else 0
    state = "live" if row["live"] else "cold"
    title = "" if row["title"] is None else f"  {line(row['title'])}"
    return f"{row['id']}  {row['createdAt']}  {state}  {reminders} reminders  {line(row['owner'])}{title}"


def _user_id(username: str) -> int:
    users = get_user_model()._default_manager
    known = "\0" not in username and lossless.is_unicode(username)
    user = users.filter(username=username).first() if known else None
    if user is None:
        raise Refusal("not_found", f"There is no user {line(username)}.")
    return int(user.pk)


def _after(cursor: str | None) -> reading.Key | None:
    if cursor is None:
        return None
    try:
        created_at, session_id = paging.decode_cursor(cursor, (int, str))
    except Refusal as refused:
        raise CommandError(f"--{refused.message}", returncode=MISUSED) from None
    return int(created_at), str(session_id)


@contextmanager
def _source(file: str) -> Iterator[IO[bytes]]:
    """The lines of a log in bytes: a binary file ends them at a newline and nothing else."""
    if file == STREAM:
        yield sys.stdin.buffer
    else:
        with Path(file).open("rb") as opened:
            yield opened


def _write(file: Path, lines: Iterable[str]) -> None:
    """Write a file that is whole or not there: a log cut short between lines would pass as a shorter one."""
    if file.exists() and not file.is_file():
        with file.open("w", encoding="ascii") as device:
            device.writelines(lines)
        return
    target = file.resolve()
    with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=target.parent, delete=False) as part:
        try:
            part.writelines(lines)
            part.flush()
            os.fsync(part.fileno())
            os.replace(part.name, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(part.name)
            raise
