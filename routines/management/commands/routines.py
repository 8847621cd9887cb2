"""``manage.py routines``: check manifests, and carry a crontab over into some."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from routines import library
from routines.domain import crontab, errors, limits, reconcile
from schedules.domain import zones
from schedules.management.subcommands import FAILED, MISUSED, Subcommands, line
from schedules.sessions.lossless import Json

STREAM = "-"


class Command(Subcommands):
    help = "Checks ROUTINE.md files, and makes some of a crontab."

    def add_subcommands(self, subparsers: Any) -> None:
        checked = self.subcommand(subparsers, "validate", self._validate, "Check ROUTINE.md files.")
        checked.add_argument("paths", metavar="PATH", nargs="+", help="a file, or a folder to search at any depth")

        taken = self.subcommand(
            subparsers, "import-crontab", self._import_crontab, "Write a ROUTINE.md for each entry of a crontab."
        )
        taken.add_argument("file", metavar="FILE", help="a user's crontab; - for standard input")
        taken.add_argument("--into", metavar="DIR", default=".routines", help="where to write (.routines)")
        taken.add_argument("--timezone", metavar="ZONE", default="UTC", help="in which the machine's cron runs (UTC)")

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
