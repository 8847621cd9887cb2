"""Disks that are full, and files that may only be read, for a server that runs on them."""

import contextlib
import os
import resource
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.acceptance.processes import Process

_SIZE = "4m"
_BLOCK = 4096

#: What a command is started with so that file modes count for it: to root they mean nothing otherwise.
BOUND_BY_MODES: Sequence[str] = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--") if os.geteuid() == 0 else ()
)


class Disk:
    """A folder on which a process can be told that there is no more space.

    Here by the largest size of a file that the process may write, which needs no rights.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, process: Process) -> None:
        """Take the last space away."""
        self._limit(process, 0)

    def free(self, process: Process) -> None:
        """Give it back."""
        self._limit(process, resource.RLIM_INFINITY)

    def _limit(self, process: Process, size: int) -> None:
        _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most if size == resource.RLIM_INFINITY else size, most))


class SmallDisk(Disk):
    """The same by a small file system of its own, filled to its last byte."""

    def fill(self, process: Process) -> None:
        with contextlib.suppress(OSError), open(self._ballast, "ab", buffering=0) as ballast:
            while True:
                ballast.write(bytes(_BLOCK))

    def free(self, process: Process) -> None:
        self._ballast.unlink(missing_ok=True)

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"


@contextlib.contextmanager
def small(folder: Path) -> Iterator[Disk]:
    """A small file system mounted at ``folder``; where nothing may be mounted, a limit that refuses as well."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "wakeful-test", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        yield Disk(folder)
        return
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextlib.contextmanager
def limited(folder: Path) -> Iterator[Disk]:
    """A folder of the ordinary disk, refused to a process by a limit."""
    yield Disk(folder)


#: The ways in which a disk can be full.
FULL: dict[str, Callable[[Path], contextlib.AbstractContextManager[Disk]]] = {"small": small, "limited": limited}


@contextlib.contextmanager
def read_only(*paths: Path) -> Iterator[None]:
    """Take from everybody the right to write to these files and folders while the block runs."""
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def cpu_seconds(process: Process) -> float:
    """How long a process has had a processor so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
