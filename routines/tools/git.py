"""Git, asked without hooks, prompts and the system's settings: its worktrees, and whether one may go."""

import os
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from routines.tools import environment, processes

# Git takes bytes of output in one piece; a listing that is longer is not judged by its half.
_MOST_OUTPUT = 16 * 1024 * 1024
_SECONDS = 60
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.pager=cat",
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}


class Unanswered(Exception):
    """Git did not answer, or not so that it can be understood; the message says what to do about it."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A worktree as git lists it.

    path: its folder.
    main: whether it is the repository's own, not a linked one.
    head: the id of the commit that it stands at; None where there is none yet.
    branch: the branch that it is on, without `refs/heads/`; None where on none.
    bare: whether it has no files.
    locked: whether somebody asked git to keep it.
    prunable: whether git misses its folder.
    """

    path: str
    main: bool
    head: str | None = None
    branch: str | None = None
    bare: bool = False
    locked: bool = False
    prunable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Git on this host.

    program: its path.
    seconds: how long one question may take.
    cancelled: set once nobody wants the answers any more.
    """

    program: str
    seconds: float
    cancelled: threading.Event

    def says(self, folder: str, *arguments: str) -> str:
        """What a command that succeeds says. Raises Unanswered."""
        code, said = self._run(folder, arguments)
        if code != 0:
            raise _failed(arguments)
        return said

    def agrees(self, folder: str, *arguments: str) -> bool:
        """Whether a command exits with 0 rather than with 1. Raises Unanswered for any other exit."""
        code, _ = self._run(folder, arguments)
        if code not in (0, 1):
            raise _failed(arguments)
        return code == 0

    def _run(self, folder: str, arguments: Sequence[str]) -> tuple[int, str]:
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        done = processes.run(
            [self.program, *settings, *arguments],
            cwd=folder,
            env={**environment.clean(), **_ENVIRONMENT},
            seconds=self.seconds,
            most_output=_MOST_OUTPUT,
            cancelled=self.cancelled,
        )
        if done.timed_out:
            raise Unanswered(f"git {_verb(arguments)} took longer than {self.seconds:g} s here.", timed_out=True)
        if done.code is None:
            raise Unanswered(f"git {_verb(arguments)} did not run to its end here.")
        if len(done.output.encode()) > _MOST_OUTPUT:
            raise Unanswered(f"git {_verb(arguments)} says too much here to be judged.")
        return done.code, done.output


def find(seconds: float, cancelled: threading.Event) -> Git | None:
    """Git, if this host has it; ``seconds`` is how long the whole work may take."""
    program = shutil.which("git", path=environment.clean()["PATH"])
    return None if program is None else Git(program=program, seconds=min(seconds, _SECONDS), cancelled=cancelled)


def common_folder(git: Git, folder: str) -> str:
    """The real path of the repository's own folder: `.git`, or all of a bare one. Raises Unanswered."""
    return os.path.realpath(_line(git.says(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")))


def own_folder(git: Git, folder: str) -> str:
    """The real path of the folder in which a worktree keeps what is its alone. Raises Unanswered."""
    return os.path.realpath(_line(git.says(folder, "rev-parse", "--absolute-git-dir")))


def top(git: Git, folder: str) -> str:
    """The real path of the worktree that a folder lies in. Raises Unanswered."""
    return os.path.realpath(_line(git.says(folder, "rev-parse", "--path-format=absolute", "--show-toplevel")))


def main_branch(git: Git, common: str) -> str | None:
    """The branch of the main worktree; None where it is on none. Raises Unanswered."""
    if not git.agrees(common, f"--git-dir={common}", "symbolic-ref", "--quiet", "HEAD"):
        return None
    return _short(_line(git.says(common, f"--git-dir={common}", "symbolic-ref", "--quiet", "HEAD")))


def tip(git: Git, common: str, branch: str) -> str | None:
    """The id of a branch's commit; None where there is no such branch. Raises Unanswered."""
    asked = (f"--git-dir={common}", "show-ref", "--verify")
    reference = f"refs/heads/{branch}"
    if not git.agrees(common, *asked, "--quiet", "--", reference):
        return None
    return _line(git.says(common, *asked, "--hash", "--", reference))


def merged(git: Git, common: str, commit: str, into: str) -> bool:
    """Whether a commit is one of those that another builds on, or that one itself. Raises Unanswered."""
    return git.agrees(common, f"--git-dir={common}", "merge-base", "--is-ancestor", commit, into)


def worktrees(git: Git, folder: str) -> list[Worktree]:
    """The repository's worktrees, the main one first. Raises Unanswered."""
    listed = git.says(folder, "worktree", "list", "--porcelain", "-z")
    return [_worktree(record, main=index == 0) for index, record in enumerate(listed.split("\0\0")) if record]


def _worktree(record: str, *, main: bool) -> Worktree:
    pairs = [line.partition(" ")[::2] for line in record.split("\0")]
    if pairs[0][0] != "worktree":
        raise Unanswered("git worktree lists what is not understood here; run it in that folder to see.")
    told = dict(pairs)
    head = told.get("HEAD", "")
    return Worktree(
        path=told["worktree"],
        main=main,
        head=head if head.strip("0") else None,
        branch=_short(told["branch"]) if "branch" in told else None,
        bare="bare" in told,
        locked="locked" in told,
        prunable="prunable" in told,
    )


def _failed(arguments: Sequence[str]) -> Unanswered:
    return Unanswered(f"git {_verb(arguments)} failed here; run it in that folder to see why.")


def _verb(arguments: Sequence[str]) -> str:
    return next(word for word in arguments if not word.startswith("-"))


def _short(reference: str) -> str:
    return reference.removeprefix("refs/heads/")


def _line(said: str) -> str:
    line = said.removesuffix("\n")
    if not line or "\n" in line:
        raise Unanswered("git says what is not understood here; it warns, or a folder's name holds a line's end.")
    return line
