"""Finds ROUTINE.md files below named folders, and reads them: with bounds, and without leaving those folders."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from routines.domain import errors, frontmatter, limits, parse, reconcile

NAME = "ROUTINE.md"

#: How many manifests, and how many folders, one walk takes.
MOST_FILES = 100_000
MOST_FOLDERS = 100_000

_NOT_FILE = "This is neither a file nor a folder; name a ROUTINE.md or a folder that holds some."
_LEADS_OUT = "This is a symbolic link that leads out of the folder; put the file itself here."
_TOO_MANY = (
    f"There are more than {MOST_FILES:,} routines or {MOST_FOLDERS:,} folders here, and the rest was left out; name "
    "fewer or smaller folders."
)


def read(paths: Iterable[str | Path]) -> list[reconcile.Declared]:
    """Every manifest of the named files and folders, by path, each file once.

    A folder is searched at any depth for files named ROUTINE.md. Links to folders are not followed; a link to a file
    is, within the folder. Never raises: what cannot be read is there with its fault.
    """
    walk = _Walk()
    for path in paths:
        walk.name(Path(path))
    found = (_declared(path, fault) for path, fault in walk.found.items())
    return sorted(found, key=lambda file: file.path)


def real(workspace: str | Path) -> str:
    """The real path of a workspace: what a job keeps, whatever link its setting names."""
    return os.path.realpath(workspace)


@dataclass(slots=True)
class _Walk:
    """What was found so far: each path, with the fault for which it is not read.

    seen: the real paths of the files, so that one named twice counts once.
    folders: how many were looked into.
    """

    found: dict[Path, errors.Fault | None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    folders: int = 0

    def name(self, path: Path) -> None:
        """Take in a path that somebody named: it may be a link itself."""
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as problem:
            self.found[path] = _unreadable(problem)
            return
        if stat.S_ISDIR(mode):
            self.folder(path)
        elif stat.S_ISREG(mode):
            self.take(path, os.path.realpath(path))
        else:
            self.found[path] = _fault(_NOT_FILE)

    def folder(self, top: Path) -> None:
        """Take in all that lies below a folder."""
        inside = os.path.join(os.path.realpath(top), "")
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            self.folders += 1
            if self.folders > MOST_FOLDERS or len(self.seen) >= MOST_FILES:
                self.found[top] = _fault(_TOO_MANY)
                return
            try:
                # The last first: the next to be taken is the end of the list.
                for entry in _entries(folder):
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    elif entry.name == NAME:
                        self.below(Path(entry.path), inside)
            except OSError as problem:
                self.found[folder] = _unreadable(problem)

    def below(self, path: Path, inside: str) -> None:
        """Take in a file of a folder, unless it is a link out of it."""
        real = os.path.realpath(path)
        if real.startswith(inside):
            self.take(path, real)
        else:
            self.found[path] = _fault(_LEADS_OUT)

    def take(self, path: Path, real: str) -> None:
        """Take in a file, once."""
        if real not in self.seen:
            self.seen.add(real)
            self.found[path] = None


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from sorted(entries, key=lambda entry: entry.name, reverse=True)


def _declared(path: Path, fault: errors.Fault | None) -> reconcile.Declared:
    try:
        if fault is not None:
            raise errors.Invalid([fault])
        text = frontmatter.decode(_bytes(path))
    except errors.Invalid as invalid:
        return reconcile.Declared(path=str(path), routine=None, faults=invalid.faults)
    # A file by another name, which somebody named, need not lie in a folder of its own.
    folder = Path(os.path.abspath(path)).parent.name if path.name == NAME else ""
    reading = parse.read_routine(text, folder or None)
    return reconcile.Declared(path=str(path), routine=reading.routine, faults=reading.faults, id_line=reading.id_line)


def _bytes(path: Path) -> bytes:
    """A file's bytes. Raises `errors.Invalid`, for a large one before it is opened."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise errors.Invalid([_fault(_NOT_FILE)])
        if status.st_size > limits.MAX_BYTES:
            raise errors.Invalid([_fault(limits.TOO_LARGE)])
        with path.open("rb") as opened:
            return opened.read(limits.MAX_BYTES + 1)
    except OSError as problem:
        raise errors.Invalid([_unreadable(problem)]) from None


def _unreadable(problem: OSError | ValueError) -> errors.Fault:
    words = problem.strerror if isinstance(problem, OSError) else None
    return _fault(f"This cannot be read: {words or 'no path is so'}.")


def _fault(message: str) -> errors.Fault:
    return errors.Fault(code="routine_invalid", message=message)
