"""``manage.py routines``: check manifests, look at what is registered, fire, pause, resume, make up for slots."""

import getpass
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from routines import library, operating, reading, runs, trigger
from routines.domain import crontab, errors, limits, reconcile
from schedules import clock
from schedules.domain import instants, zones
from schedules.management.subcommands import FAILED, MISUSED, Subcommands, line
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

STREAM = "-"
_PAGE = 1_000
_NEXT = 5
# Whoever started it here may wait for its end; the tool's own limit bounds it.
_PATIENCE_SECONDS = 24 * 3600
_RECENT = 10


class Command(Subcommands):
    help = "Checks ROUTINE.md files, makes some of a crontab, and looks at and fires what is registered."

    def add_subcommands(self, subparsers: Any) -> None:
        checked = self.subcommand(subparsers, "validate", self._validate, "Check ROUTINE.md files.")
        checked.add_argument("paths", metavar="PATH", nargs="+", help="a file, or a folder to search at any depth")

        taken = self.subcommand(
            subparsers, "import-crontab", self._import_crontab, "Write a ROUTINE.md for each entry of a crontab."
        )
        taken.add_argument("file", metavar="FILE", help="a user's crontab; - for standard input")
        taken.add_argument("--into", metavar="DIR", default=".routines", help="where to write (.routines)")
        taken.add_argument("--timezone", metavar="ZONE", default="UTC", help="in which the machine's cron runs (UTC)")

        shown = self.subcommand(subparsers, "list", self._list, "List what the registrar knows.")
        shown.add_argument("--after", metavar="ID", default="", help="only those whose ids come later")
        for name, action, about in (
            ("show", self._show, "Show a routine, its job and its newest runs."),
            ("next", self._next, "Show a routine's next times, before jitter."),
            ("trigger", self._trigger, "Fire a routine now, as its file says now, and wait for the first attempt."),
            ("pause", self._pause, "Let a routine rest until it is resumed."),
            ("resume", self._resume, "Have a paused routine fire again, from its next slot on."),
            ("backfill", self._backfill, "Queue a run for each slot of a past span that never had one."),
        ):
            named = self.subcommand(subparsers, name, action, about)
            named.add_argument("routine", metavar="ID")
            if name == "trigger":
                named.add_argument("--dry-run", action="store_true", help="only say what would be called")
            elif name == "pause":
                named.add_argument("--reason", default="", help="why, for whoever looks")
            elif name == "backfill":
                for end in ("from", "to"):
                    named.add_argument(
                        f"--{end}", dest=end, metavar="INSTANT", required=True, help="with Z or an offset"
                    )

    def _list(self, *, after: str, json: bool, **options: Any) -> None:
        found = reading.page(after=after, limit=_PAGE)
        following = found[-1]["id"] if len(found) == _PAGE else None
        if json:
            self.say({"results": found, "next": following})
            return
        for one in found:
            self.stdout.write(_stated(one))
        if following is not None:
            self.stdout.write(f"More: --after {line(following)}")

    def _show(self, *, routine: str, json: bool, **options: Any) -> None:
        found = reading.one(routine)
        if json:
            self.say(found)
            return
        self.stdout.write(_stated(found))
        self.stdout.write(f"  file {line(found['file'])}")
        for run in runs.history(routine, before=None, limit=_RECENT):
            self.stdout.write(
                f"  {run['scheduledFor']} {run['trigger']} {run['status']}, attempt {run['attempt']}: "
                f"{line(run['summary'] or '')}"
            )

    def _next(self, *, routine: str, json: bool, **options: Any) -> None:
        found: Json = [instants.render(slot) for slot in reading.following(routine, clock.sample(), _NEXT)]
        if json:
            self.say({"next": found})
        else:
            self.stdout.write("\n".join(map(str, found)) if found else "No time fires it.")  # type: ignore[arg-type]

    def _trigger(self, *, routine: str, dry_run: bool, json: bool, **options: Any) -> None:
        try:
            done = trigger.trigger(routine, by=_actor(), dry_run=dry_run, wait=_PATIENCE_SECONDS)
        except KeyboardInterrupt:
            trigger.stop()
            raise
        except errors.Invalid as invalid:
            if json:
                self.say({"code": invalid.faults[0].code, "errors": [errors.to_json(one) for one in invalid.faults]})
                sys.exit(FAILED)
            raise CommandError(line(str(invalid)), returncode=FAILED) from None
        if json:
            self.say(done.to_json())
        else:
            self.stdout.write(line(done.summary) + (f" {line(lossless.dumps(done.call))}" if done.call else ""))
        if done.ok is False:
            sys.exit(FAILED)

    def _pause(self, *, routine: str, reason: str, json: bool, **options: Any) -> None:
        operating.pause(routine, by=_actor(), reason=reason)
        self._done({"id": routine, "paused": True}, f"{line(routine)} is paused.", json=json)

    def _resume(self, *, routine: str, json: bool, **options: Any) -> None:
        operating.resume(routine, by=_actor())
        self._done({"id": routine, "paused": False}, f"{line(routine)} fires again.", json=json)

    def _backfill(self, *, routine: str, json: bool, **options: Any) -> None:
        span = [instants.parse_offset(options[end]) for end in ("from", "to")]
        if span[0] is None or span[1] is None:
            raise CommandError("--from and --to take an instant such as 2030-01-31T09:00:00Z.", returncode=MISUSED)
        queued = operating.backfill(routine, span[0], span[1], by=_actor())
        self._done({"id": routine, "queued": queued}, f"Runs queued: {queued}.", json=json)

    def _done(self, value: Json, words: str, *, json: bool) -> None:
        if json:
            self.say(value)
        else:
            self.stdout.write(words)

    def _validate(self, *, paths: list[str], json: bool, **options: Any) -> None:
        files = library.read(paths)
        faults = _faults(files)
        bad = [path for path, found in faults.items() if not all(fault.warning for fault in found)]
        if json:
            shown = [
                {"file": path, "valid": path not in bad, "errors": [errors.to_json(fault) for fault in found]}
                for path, found in faults.items()
            ]
            self.say({"valid": not bad, "files": shown})
            if bad:
                sys.exit(FAILED)
            return
        for path, found in faults.items():
            for fault in found:
                self.stdout.write(_told(path, fault))
        if bad:
            raise CommandError(f"{len(bad)} of {len(files)} files are not valid.", returncode=FAILED)
        told = f"All of {len(files)} files are valid." if files else f"There is no {library.NAME} there."
        self.stdout.write(told)

    def _import_crontab(self, *, file: str, into: str, timezone: str, json: bool, **options: Any) -> None:
        zone = zones.canonical(timezone)
        if zone is None:
            raise CommandError(
                '--timezone takes "UTC" or an IANA name with a slash, such as Europe/Paris.', returncode=MISUSED
            )
        read = crontab.read(_text(file), zone)
        notes = list(read.notes)
        written: list[tuple[Path, crontab.Imported]] = []
        for imported in read.manifests:
            path = Path(into) / imported.name / library.NAME
            problem = _write(path, imported.text)
            if problem is None:
                written.append((path, imported))
            else:
                notes.append(crontab.Note(line=imported.line, message=problem, refused=True))
        self._tell(file, written, sorted(notes, key=lambda note: note.line), json=json)

    def _tell(
        self, file: str, written: list[tuple[Path, crontab.Imported]], notes: list[crontab.Note], *, json: bool
    ) -> None:
        refused = sum(note.refused for note in notes)
        if json:
            made: Json = [{"id": one.name, "file": str(path), "line": one.line} for path, one in written]
            noted: Json = [{"line": note.line, "message": note.message, "refused": note.refused} for note in notes]
            self.say({"written": made, "notes": noted})
            if refused:
                sys.exit(FAILED)
            return
        for path, imported in written:
            self.stdout.write(f"Wrote {line(path)} of line {imported.line}.")
        for note in notes:
            self.stdout.write(f"{line(file)}:{note.line}: {line(note.message)}")
        if refused:
            raise CommandError(f"{refused} of the crontab's lines could not be carried over.", returncode=FAILED)


def _actor() -> str:
    """Who runs the command, for the audit."""
    return f"command:{getpass.getuser()}"


def _stated(one: dict[str, Json]) -> str:
    """A routine's state on one line."""
    parts = [line(one["id"]), str(one["state"])]
    if one["reason"] is not None:
        parts.append(line(one["reason"]))
    if one.get("pausedAt") is not None:
        parts.append(f"paused: {line(one['pausedReason'] or 'no reason given')}")
    elif one.get("nextFiring") is not None:
        parts.append(f"next {one['nextFiring']}")
    return "  ".join(parts)


def _faults(files: list[reconcile.Declared]) -> dict[str, list[errors.Fault]]:
    """What is wrong with each file, the ids that several of them claim included."""
    found: dict[str, list[errors.Fault]] = {file.path: [] for file in files}
    for problem in reconcile.plan(files, (), lambda routine, file: None).errors:
        found[problem.path].append(problem.fault)
    return found


def _told(path: str, fault: errors.Fault) -> str:
    """``file:line: field: message``, without what a fault of the whole file lacks."""
    place = line(path) if fault.line is None else f"{line(path)}:{fault.line}"
    parts = [place, *(["warning"] if fault.warning else []), *([] if fault.field is None else [line(fault.field)])]
    return ": ".join([*parts, line(fault.message)])


def _text(file: str) -> str:
    try:
        if file == STREAM:
            data = sys.stdin.buffer.read(limits.MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(limits.MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise CommandError(f"{line(file)} cannot be read: {_reason(problem)}.", returncode=FAILED) from None
    if len(data) > limits.MAX_BYTES:
        raise CommandError(f"{line(file)} is larger than {limits.MAX_BYTES // 1024} KiB.", returncode=FAILED)
    # An entry that is not UTF-8 is left out with a note; the others need not suffer for it.
    return data.decode("utf-8", "surrogateescape")


def _write(path: Path, text: str) -> str | None:
    """Write a file that is not there yet; why not, where it could not be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as made:
            made.write(text)
    except FileExistsError:
        return f"{path} is there already and was left as it is; move it away, or write --into another folder."
    except (OSError, ValueError) as problem:
        return f"{path} cannot be written: {_reason(problem)}."
    return None


def _reason(problem: OSError | ValueError) -> str:
    return (problem.strerror if isinstance(problem, OSError) else None) or "no path is so"
