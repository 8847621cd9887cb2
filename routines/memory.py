"""What was read of folders and files, and how to see cheaply that it still stands.

A folder whose times stand still is not listed again, nor is such a file opened again; of what changed, the bytes
decide whether it is read anew.
"""

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from routines.domain import errors, frontmatter, limits, parse, reconcile

NAME = "ROUTINE.md"

NOT_FILE = "This is neither a file nor a folder; name a ROUTINE.md or a folder that holds some."

# Two changes within one tick of a file system's clock leave the same times, so what changed lately is read again.
# FAT's ticks are the longest, two seconds.
_TICK_NS = 2_000_000_000

_Times = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What of a folder counts.

    folders: the paths of the folders in it, the last by name first.
    file: the path of its manifest; None where it has none.
    linked: whether that is a link.
    """

    folders: tuple[str, ...]
    file: str | None
    linked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A file as it was read.

    times: its times, size and place on the disk; None where it had changed too lately for these to tell.
    digest: of its bytes.
    declared: what it says.
    """

    times: _Times | None
    digest: bytes
    declared: reconcile.Declared


@dataclass(slots=True, kw_only=True)
class Memory:
    """What one walk learnt.

    now_ns: the machine's own time, by which its files were changed, when the walk began.
    whole: whether times alone can tell that all of it still stands.
    before: what the walk before it learnt; None where there was none.
    listings: the folders whose times stood still.
    files: the files that could be read.
    faulty: what could not be.
    """

    now_ns: int
    whole: bool = True
    before: "Memory | None" = None
    listings: dict[str, tuple[_Times, Listing]] = field(default_factory=dict)
    files: dict[str, _Kept] = field(default_factory=dict)
    faulty: dict[str, reconcile.Declared] = field(default_factory=dict)

    def listing(self, folder: str, *, follow: bool = False) -> Listing:
        """What a folder holds; follow: where it may be a link. Raises OSError."""
        status = os.stat(folder, follow_symlinks=follow)
        times = _times(status)
        known = None if self.before is None else self.before.listings.get(folder)
        if known is None or known[0] != times:
            known = (times, _listed(folder))
        if self._stood_still(status):
            self.listings[folder] = known
        else:
            self.whole = False
        return known[1]

    def stands(self) -> bool:
        """Whether nothing of it has changed, by all that times can tell; False where they cannot."""
        if not self.whole or self.faulty:
            return False
        look = os.stat
        try:
            for path, (times, _) in self.listings.items():
                if _times(look(path)) != times:
                    return False
            for path, kept in self.files.items():
                if _times(look(path)) != kept.times:
                    return False
        except OSError:
            return False
        return True

    def declared(self, path: str, workspace: str | None) -> reconcile.Declared:
        """What a file declares, or its fault. Never raises."""
        known = None if self.before is None else self.before.files.get(path)
        if known is not None and known.declared.workspace != workspace:
            known = None
        try:
            status = os.stat(path)
            times = _times(status)
            if known is None or known.times != times:
                data = _bytes(path, status)
                digest = hashlib.sha256(data).digest()
                if known is None or known.digest != digest:
                    declared = _declared(path, data, workspace)
                else:
                    declared = known.declared
                known = _Kept(times=times if self._stood_still(status) else None, digest=digest, declared=declared)
        except OSError as problem:
            return self.fault(path, unreadable(problem), workspace)
        except errors.Invalid as invalid:
            return self.fault(path, invalid.faults[0], workspace)
        self.files[path] = known
        return known.declared

    def fault(
        self, path: str, fault: errors.Fault, workspace: str | None, *, folder: bool = False
    ) -> reconcile.Declared:
        """What stands for a file that cannot be read, or a folder that cannot be searched: as before, if it was so."""
        made = reconcile.Declared(path=path, routine=None, faults=(fault,), workspace=workspace, folder=folder)
        known = None if self.before is None else self.before.faulty.get(path)
        if known is not None and known == made:
            made = known
        self.faulty[path] = made
        return made

    def _stood_still(self, status: os.stat_result) -> bool:
        return max(status.st_mtime_ns, status.st_ctime_ns) < self.now_ns - _TICK_NS


def unreadable(problem: OSError | ValueError) -> errors.Fault:
    """The fault of what the system would not give."""
    words = problem.strerror if isinstance(problem, OSError) else None
    return fault(f"This cannot be read: {words or 'no path is so'}.")


def fault(message: str, *, warning: bool = False) -> errors.Fault:
    """A fault of a file as a whole."""
    return errors.Fault(code="routine_invalid", message=message, warning=warning)


def _listed(folder: str) -> Listing:
    folders: list[str] = []
    file: str | None = None
    linked = False
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name == NAME:
                file, linked = entry.path, entry.is_symlink()
    return Listing(folders=tuple(sorted(folders, reverse=True)), file=file, linked=linked)


def _declared(path: str, data: bytes, workspace: str | None) -> reconcile.Declared:
    """What the bytes of a file say. Raises `errors.Invalid` for those that are no text."""
    text = frontmatter.decode(data)
    # A file by another name, which somebody named, need not lie in a folder of its own.
    above, name = os.path.split(os.path.abspath(path))
    folder = os.path.basename(above) if name == NAME else ""
    reading = parse.read_routine(text, folder or None)
    return reconcile.Declared(
        path=path, routine=reading.routine, faults=reading.faults, id_line=reading.id_line, workspace=workspace
    )


def _bytes(path: str, status: os.stat_result) -> bytes:
    """A file's bytes. Raises OSError, and `errors.Invalid`, for a large one before it is opened."""
    if not stat.S_ISREG(status.st_mode):
        raise errors.Invalid([fault(NOT_FILE)])
    if status.st_size > limits.MAX_BYTES:
        raise errors.Invalid([fault(limits.TOO_LARGE)])
    with Path(path).open("rb") as opened:
        return opened.read(limits.MAX_BYTES + 1)


def _times(status: os.stat_result) -> _Times:
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)
