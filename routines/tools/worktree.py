"""`worktree_gc`: finds the git worktrees that nobody needs any more, and removes them where it is told to.

One goes only where nothing can be lost: it is linked, clean, at rest, and all its commits are in the base branch. Files
that git ignores go with it. Branches stay.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from routines import lowering
from routines.tools import git, registry
from routines.tools.git import Git, Worktree
from routines.tools.registry import Call, Result
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

INPUTS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "repo": {
            "type": "string",
            "minLength": 1,
            "maxLength": 4096,
            "description": "A folder of the repository, inside the workspace; the workspace itself unless given.",
        },
        "apply": {"type": "boolean", "description": "Remove them; unless true, they are only listed."},
        "base": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": "The local branch that holds what is merged; the main worktree's own unless given.",
        },
    },
}

# What lies in a worktree's own folder while an operation waits to be continued, or runs right now.
_UNDER_WAY = (
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "index.lock",
)
_GITLINK = "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Where it is looked for worktrees.

    git: asks git.
    workspace: the real path of the routine's workspace.
    folder: the real path of the folder from which git is asked.
    common: the real path of the repository's own folder.
    base: the branch that holds what is merged.
    """

    git: Git
    workspace: str
    folder: str
    common: str
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of a worktree.

    path: its folder.
    branch: the branch that it is on, if any.
    verdict: `remove`, `prunable` where only its folder is missing, or `held`.
    reason: why, as a sentence.
    """

    path: str
    branch: str | None
    verdict: Literal["remove", "prunable", "held"]
    reason: str

    def to_json(self) -> Json:
        """The verdict as the tool's value holds it."""
        return {"path": self.path, "branch": self.branch, "verdict": self.verdict, "reason": self.reason}


class _Refused(ValueError):
    """A call that does nothing; the message says what to do instead."""


class _Held(Exception):
    """A worktree that stays; the message says why."""


@registry.tool(
    name="worktree_gc",
    description="List the git worktrees of a repository that are clean and merged, and with apply remove them.",
    inputs=INPUTS,
    seconds=300,
)
def worktree_gc(call: Call, inputs: dict[str, Any]) -> Result:
    """The value is `{plan: [{path, branch, verdict, reason}], removed: [path]}`."""
    try:
        repository = _repository(call, inputs.get("repo", "."), inputs.get("base"))
        plan = _plan(repository)
    except (_Refused, lowering.Unlowerable) as problem:
        return Result(ok=False, summary=str(problem))
    except git.Unanswered as problem:
        return Result(ok=False, summary=str(problem), failure="timeout" if problem.timed_out else "error")
    removed: list[Json] = []
    if inputs.get("apply", False):
        for index, one in enumerate(plan):
            if one.verdict != "held":
                plan[index] = _removed(repository, one)
                removed += [one.path] if plan[index].verdict != "held" else []
    return Result(
        ok=True,
        summary=_summary(plan, len(removed), apply=inputs.get("apply", False)),
        value={"plan": [one.to_json() for one in plan], "removed": removed},
    )


def _repository(call: Call, repo: str, base: str | None) -> Repository:
    """The repository that a call is about. Raises _Refused, `lowering.Unlowerable` and `git.Unanswered`."""
    if call.workspace is None:
        raise _Refused("worktree_gc looks into the routine's workspace, and this call has none.")
    folder = lowering.within(call.workspace, repo) if lossless.is_unicode(repo) else ""
    if not os.path.isdir(folder):
        raise _Refused("There is no such folder in the routine's workspace; name one of a git repository as repo.")
    found = git.find(call.seconds, call.cancelled)
    if found is None:
        raise _Refused("This host has no git on its PATH; install it.")
    common = git.common_folder(found, folder)
    if not _inside(call.workspace, common):
        raise _Refused("The repository itself lies outside of the routine's workspace; only one inside is touched.")
    branch = base or git.main_branch(found, common)
    if branch is None:
        raise _Refused("The main worktree is on no branch, so name the one that holds what is merged as base.")
    return Repository(git=found, workspace=call.workspace, folder=folder, common=common, base=branch)


def _plan(repository: Repository, path: str | None = None) -> list[Verdict]:
    """A verdict on each worktree, or on that at ``path``, as it stands now. Raises _Refused and `git.Unanswered`."""
    tip = git.tip(repository.git, repository.common, repository.base) if lossless.is_unicode(repository.base) else None
    if tip is None:
        raise _Refused("There is no local branch with commits by the name of base; name one that there is.")
    listed = git.worktrees(repository.git, repository.folder)
    return [_verdict(repository, tree, listed, tip) for tree in listed if path in (None, tree.path)]


def _verdict(repository: Repository, tree: Worktree, listed: Sequence[Worktree], tip: str) -> Verdict:
    verdict: Literal["remove", "prunable", "held"] = "prunable" if tree.prunable else "remove"
    reason = "Its folder is gone." if tree.prunable else f"It is clean, and merged into {repository.base}."
    try:
        _expect_linked(repository, tree)
        if tree.prunable:
            _expect_gone(repository, tree, tip)
        else:
            _expect_alone(repository, tree, listed)
            _expect_merged(repository, tree, tip)
            _expect_at_rest(repository, tree)
            _expect_clean(repository, tree)
    except (_Held, git.Unanswered) as held:
        verdict, reason = "held", str(held)
    return Verdict(path=tree.path, branch=tree.branch, verdict=verdict, reason=reason)


def _expect_linked(repository: Repository, tree: Worktree) -> None:
    if tree.bare or tree.main:
        raise _Held("It is the main worktree.")
    if tree.locked:
        raise _Held("It is locked; git worktree unlock lets it go.")
    if "\ufffd" in tree.path:
        raise _Held("Its path is no UTF-8; remove it by hand.")
    # A folder that is missed outside may be there for others, of another machine or container.
    if os.path.islink(tree.path) or not _inside(repository.workspace, os.path.realpath(tree.path)):
        raise _Held("It lies outside of the routine's workspace; remove it by hand.")


def _expect_gone(repository: Repository, tree: Worktree, tip: str) -> None:
    if os.path.lexists(tree.path):
        raise _Held("Its folder is there but is no worktree any more; git worktree repair may mend it.")
    if tree.branch is None:
        # Nothing else may lead to its commits.
        _expect_merged(repository, tree, tip)


def _expect_alone(repository: Repository, tree: Worktree, listed: Sequence[Worktree]) -> None:
    real = os.path.realpath(tree.path)
    if any(_inside(real, used) for used in (repository.workspace, repository.folder, os.getcwd())):
        raise _Held("It is being worked in right now.")
    if any(_inside(real, os.path.realpath(other.path)) for other in listed if other is not tree):
        raise _Held("Another worktree lies inside it.")
    if git.common_folder(repository.git, real) != repository.common or git.top(repository.git, real) != real:
        raise _Held("Its folder holds something else now; git worktree repair may mend it.")


def _expect_merged(repository: Repository, tree: Worktree, tip: str) -> None:
    if tree.head is None:
        raise _Held("It has no commit yet.")
    if tree.branch == repository.base:
        raise _Held(f"It is on {repository.base} itself.")
    if not git.merged(repository.git, repository.common, tree.head, tip):
        raise _Held(f"It holds commits that are not in {repository.base}.")


def _expect_at_rest(repository: Repository, tree: Worktree) -> None:
    own = git.own_folder(repository.git, tree.path)
    found = next((name for name in _UNDER_WAY if os.path.lexists(os.path.join(own, name))), None)
    if found is not None:
        raise _Held(f"A git operation is under way in it ({found}); end or abort that first.")


def _expect_clean(repository: Repository, tree: Worktree) -> None:
    status = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=none")
    if repository.git.says(tree.path, *status):
        raise _Held("It holds changes or files that are not committed.")
    for entry in repository.git.says(tree.path, "ls-files", "-v", "--stage", "-z").split("\0"):
        tag, _, staged = entry.partition(" ")
        if staged.startswith(_GITLINK):
            raise _Held("It holds submodules, whose own commits nothing vouches for.")
        if entry and tag != "H":
            raise _Held("Some of its files are marked (assume-unchanged, skip-worktree), which can hide changes.")


def _removed(repository: Repository, planned: Verdict) -> Verdict:
    """Remove a worktree if it is as it was when planned; the verdict that then holds."""
    try:
        (again,) = _plan(repository, planned.path) or [_held(planned, "It went away by itself meanwhile.")]
        if again.verdict != planned.verdict:
            return _held(planned, again.reason)
        # Without --force, git itself looks once more whether anything would be lost.
        repository.git.says(repository.folder, "worktree", "remove", "--", planned.path)
    except (_Refused, git.Unanswered) as problem:
        return _held(planned, str(problem))
    return planned


def _held(planned: Verdict, reason: str) -> Verdict:
    return Verdict(path=planned.path, branch=planned.branch, verdict="held", reason=reason)


def _inside(outer: str, path: str) -> bool:
    """Whether a real path is another one or lies below it."""
    return path == outer or path.startswith(os.path.join(outer, ""))


def _summary(plan: Sequence[Verdict], removed: int, *, apply: bool) -> str:
    held = sum(1 for one in plan if one.verdict == "held")
    if apply:
        return f"Of {len(plan)} worktrees {removed} were removed and {held} held."
    return f"Of {len(plan)} worktrees {len(plan) - held} can be removed and {held} are held; apply removes them."
