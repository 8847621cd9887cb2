"""Finds ROUTINE.md files below named folders, and reads them: with bounds, and without leaving those folders."""

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from routines import memory
from routines.domain import errors, reconcile
from schedules.sessions import lossless

NAME = memory.NAME
FOLDER = ".routines"

#: How many manifests, and how many folders, one walk takes.
MOST_FILES = 100_000
MOST_FOLDERS = 100_000

_NOT_FOLDER = "This is no folder; put a folder here, or name another workspace in the settings."
_EMPTY = (
    "The workspace is empty, as where its disk is away, so the routines that it had are kept; to remove them, take it "
    "out of the settings."
)
_LEADS_OUT = "This is a symbolic link that leads out of the folder; put the file itself here."
_FOLDER_LEADS_OUT = "This is a symbolic link that leads out of the workspace; put the folder itself here."
_NO_TEXT = "The name of the file or of a folder above it is not UTF-8; rename it."
_TOO_MANY = (
    f"There are more than {MOST_FILES:,} routines or {MOST_FOLDERS:,} folders here, and the rest was left out; name "
    "fewer or smaller folders."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What workspaces hold.

    files: every manifest, and every folder that could not be searched. What did not change is the same object as in
        the scan before.
    mark: the same number as long as nothing changes.
    gone: whether a file is not there any more that was in the scan before.
    """

    files: Sequence[reconcile.Declared]
    mark: int
    gone: bool


def read(paths: Iterable[str | Path]) -> list[reconcile.Declared]:
    """Every manifest of the named files and folders, by path, each file once.

    A folder is searched at any depth for files named ROUTINE.md. Links to folders are not followed; a link to a file
    is, within the folder. Never raises: what cannot be read is there with its fault.
    """
    walk = _Walk(memory=memory.Memory(now_ns=time.time_ns()))
    for path in paths:
        walk.name(str(Path(path)))
    return sorted(walk.found.values(), key=lambda file: file.path)


def real(workspace: str | Path) -> str:
    """The real path of a workspace: what a job keeps, whatever link its setting names."""
    return os.path.realpath(workspace)


class Library:
    """The manifests of workspaces, kept in memory so that a look costs little. For one thread at a time."""

    def __init__(self, now_ns: Callable[[], int] = time.time_ns) -> None:
        """now_ns: the time by which files were changed, in nanoseconds: the machine's own."""
        self._now_ns = now_ns
        self._memory = memory.Memory(now_ns=now_ns())
        self._names: Sequence[str] | None = None
        self._found: Mapping[str, reconcile.Declared] = {}
        self._files: Sequence[reconcile.Declared] = ()
        self._mark = 0

    def scan(self, workspaces: Iterable[str]) -> Scan:
        """Look at `<workspace>/.routines` of each. Never raises: what cannot be read is there with its fault."""
        names = tuple(str(Path(workspace)) for workspace in workspaces)
        if names == self._names and self._memory.stands():
            return Scan(files=self._files, mark=self._mark, gone=False)
        self._names = names
        walk = _Walk(memory=memory.Memory(now_ns=self._now_ns(), before=self._memory))
        for workspace in names:
            walk.workspace(workspace)
        walk.memory.before = None
        self._memory = walk.memory
        before, self._found, self._files = self._found, walk.found, tuple(walk.found.values())
        if len(before) != len(walk.found) or any(before.get(path) is not file for path, file in walk.found.items()):
            self._mark += 1
        gone = any(path not in walk.found and not file.folder for path, file in before.items())
        return Scan(files=self._files, mark=self._mark, gone=gone)


@dataclass(slots=True, kw_only=True)
class _Walk:
    """What was found so far, by path.

    memory: what is known of it.
    seen: the real paths of the files, so that one named twice counts once.
    folders: how many were looked into.
    """

    memory: memory.Memory
    found: dict[str, reconcile.Declared] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    folders: int = 0

    def name(self, path: str) -> None:
        """Take in a path that somebody named: it may be a link itself."""
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as problem:
            self._note(path, memory.unreadable(problem), None)
            return
        if stat.S_ISDIR(mode):
            self._search(path, os.path.realpath(path), None)
        elif stat.S_ISREG(mode):
            self._take(path, os.path.realpath(path), None)
        else:
            self._note(path, memory.fault(memory.NOT_FILE), None)

    def workspace(self, path: str) -> None:
        """Take in the routines of a workspace. One that cannot be looked into has not lost them: a disk comes back."""
        workspace = real(path)
        top = os.path.join(path, FOLDER)
        if workspace != path or os.path.islink(top):
            self.memory.whole = False  # the times of a folder do not tell that a link leads to another now
        try:
            if not stat.S_ISDIR(os.stat(path).st_mode):
                self._note(path, memory.fault(_NOT_FOLDER), workspace, folder=True)
                return
            try:
                mode = os.stat(top).st_mode
            except FileNotFoundError:
                self.memory.whole = False  # nothing is known of which times could tell
                if not os.listdir(path):
                    self._note(path, memory.fault(_EMPTY, warning=True), workspace, folder=True)
                elif os.path.islink(top):
                    raise
                return
        except (OSError, ValueError) as problem:
            self._note(path, memory.unreadable(problem), workspace, folder=True)
            return
        if not stat.S_ISDIR(mode):
            self._note(top, memory.fault(_NOT_FOLDER), workspace, folder=True)
        elif not _inside(real(top), workspace):
            self._note(top, memory.fault(_FOLDER_LEADS_OUT), workspace, folder=True)
        else:
            self._search(top, real(top), workspace)

    def _search(self, top: str, inside: str, workspace: str | None) -> None:
        """Take in all that lies below a folder, whose real path is `inside`."""
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            self.folders += 1
            if self.folders > MOST_FOLDERS or len(self.seen) >= MOST_FILES:
                self._note(top, memory.fault(_TOO_MANY), workspace, folder=True)
                return
            try:
                listing = self.memory.listing(folder, follow=folder == top)
            except FileNotFoundError:
                continue  # gone since it was seen
            except OSError as problem:
                self._note(folder, memory.unreadable(problem), workspace, folder=True)
                continue
            # The last first: the next to be taken is the end of the list.
            waiting += listing.folders
            if listing.file is not None:
                self._below(listing.file, top, inside, workspace, linked=listing.linked)

    def _below(self, path: str, top: str, inside: str, workspace: str | None, *, linked: bool) -> None:
        """Take in a file of a folder, unless it is a link out of it."""
        # No link lies between the top and a file that is none, since links to folders are not followed.
        if linked:
            self.memory.whole = False
        at = os.path.realpath(path) if linked else inside + path[len(top) :]
        if linked and not _inside(at, inside):
            self._note(path, memory.fault(_LEADS_OUT), workspace)
        elif workspace is not None and not lossless.is_unicode(path + workspace):
            # No database keeps such a path.
            self._note(path, memory.fault(_NO_TEXT), workspace)
        else:
            self._take(path, at, workspace)

    def _take(self, path: str, at: str, workspace: str | None) -> None:
        """Take in a file, once."""
        if at not in self.seen:
            self.seen.add(at)
            self.found[path] = self.memory.declared(path, workspace)

    def _note(self, path: str, fault: errors.Fault, workspace: str | None, *, folder: bool = False) -> None:
        self.found[path] = self.memory.fault(path, fault, workspace, folder=folder)


def _inside(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))
