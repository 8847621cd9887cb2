"""Real git repositories with worktrees, made in a few words."""

import os
import subprocess
from pathlib import Path

_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def run(folder: Path, *arguments: str, may_fail: bool = False) -> str:
    """What a git command says."""
    settings = ("-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, env=_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert may_fail or done.returncode == 0, done.stderr
    return done.stdout


def made(folder: Path) -> Path:
    """A repository with one commit, on `main`."""
    folder.mkdir(parents=True)
    run(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "README", "Hello.\n")
    return folder


def commit(folder: Path, name: str, text: str) -> None:
    """One more commit, with this file."""
    (folder / name).write_text(text)
    run(folder, "add", "--force", "--", name)
    run(folder, "commit", "--quiet", "--message", f"Write {name}")


def linked(repository: Path, folder: Path, branch: str | None = None) -> Path:
    """A linked worktree, on a new branch of its own or on none."""
    on = ("--detach",) if branch is None else ("-b", branch)
    run(repository, "worktree", "add", "--quiet", *on, str(folder))
    return folder
