"""`worktree_gc`: what is clean and merged goes, where it is told to; all else is held, and says why."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from routines.tools.registry import Result
from routines.tools.worktree import worktree_gc
from tests.routines.tools import calls, repositories
from tests.routines.tools.repositories import commit, linked, run

MAIN = "It is the main worktree."
CLEAN = "It is clean, and merged into main."
UNCOMMITTED = "It holds changes or files that are not committed."
UNMERGED = "It holds commits that are not in main."


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a repository `repo` in it."""
    repositories.made(tmp_path.resolve() / "workspace" / "repo")
    return tmp_path.resolve() / "workspace"


@pytest.fixture
def repo(workspace: Path) -> Path:
    return workspace / "repo"


@pytest.fixture
def tree(workspace: Path, repo: Path) -> Path:
    """A linked worktree, clean and merged, on the branch `done`."""
    return linked(repo, workspace / "tree", "done")


def collect(workspace: Path, **inputs: Any) -> Result:
    return calls.call(worktree_gc, workspace=workspace, **{"repo": "repo", **inputs})


def verdict(workspace: Path, tree: Path, **inputs: Any) -> tuple[str, str]:
    """What the plan says of one worktree, which is held where it is not removed."""
    value: Any = collect(workspace, **inputs).value
    (one,) = (one for one in value["plan"] if one["path"] == str(tree))
    return one["verdict"], one["reason"]


def stays(workspace: Path, tree: Path, **inputs: Any) -> str:
    """Why a worktree is held, also against `apply`."""
    planned = verdict(workspace, tree, **inputs)
    there = tree.exists()
    assert planned[0] == "held"
    assert verdict(workspace, tree, apply=True, **inputs) == planned
    assert tree.exists() is there
    return planned[1]


def test_what_is_clean_and_merged_is_listed_and_stays(workspace: Path, repo: Path, tree: Path) -> None:
    assert collect(workspace) == Result(
        ok=True,
        summary="Of 2 worktrees 1 can be removed and 1 are held; apply removes them.",
        value={
            "plan": [
                {"path": str(repo), "branch": "main", "verdict": "held", "reason": MAIN},
                {"path": str(tree), "branch": "done", "verdict": "remove", "reason": CLEAN},
            ],
            "removed": [],
        },
    )
    assert tree.exists()


def test_with_apply_it_is_removed_and_its_branch_stays(workspace: Path, repo: Path, tree: Path) -> None:
    done = collect(workspace, apply=True)
    value: Any = done.value
    assert (done.ok, done.summary) == (True, "Of 2 worktrees 1 were removed and 1 held.")
    assert value["removed"] == [str(tree)]
    assert not tree.exists()
    assert str(tree) not in run(repo, "worktree", "list")
    assert "done" in run(repo, "branch")
    assert collect(workspace, apply=True).value["removed"] == []  # type: ignore[index,call-overload]  # a JSON object


def test_one_whose_branch_was_merged_later_goes(workspace: Path, repo: Path, tree: Path) -> None:
    commit(tree, "work", "Done.\n")
    assert stays(workspace, tree) == UNMERGED
    run(repo, "merge", "--quiet", "--no-ff", "--no-edit", "done")
    assert verdict(workspace, tree) == ("remove", CLEAN)


def test_one_on_no_branch_goes_only_if_its_commits_are_merged(workspace: Path, repo: Path) -> None:
    tree = linked(repo, workspace / "loose")
    assert verdict(workspace, tree) == ("remove", CLEAN)
    commit(tree, "work", "Done.\n")
    assert stays(workspace, tree) == UNMERGED


def test_merged_means_into_the_base_that_is_named(workspace: Path, repo: Path, tree: Path) -> None:
    commit(tree, "work", "Done.\n")
    run(repo, "branch", "release", "done")
    assert verdict(workspace, tree, base="release") == ("remove", "It is clean, and merged into release.")
    assert stays(workspace, tree, base="done") == "It is on done itself."


def changed(tree: Path) -> None:
    (tree / "README").write_text("Changed.\n")


def staged(tree: Path) -> None:
    changed(tree)
    run(tree, "add", "README")


def untracked(tree: Path) -> None:
    (tree / "new").touch()


def untracked_in_a_folder_that_the_settings_hide(tree: Path) -> None:
    run(tree, "config", "status.showUntrackedFiles", "no")
    (tree / "folder").mkdir()
    (tree / "folder" / "new").touch()


def missing(tree: Path) -> None:
    (tree / "README").unlink()


def nested(tree: Path) -> None:
    repositories.made(tree / "inner")


@pytest.mark.parametrize(
    "soil", [changed, staged, untracked, untracked_in_a_folder_that_the_settings_hide, missing, nested]
)
def test_one_with_changes_is_held(workspace: Path, tree: Path, soil: Callable[[Path], None]) -> None:
    soil(tree)
    assert stays(workspace, tree) == UNCOMMITTED


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_changes_that_an_index_hides_hold_it(workspace: Path, tree: Path, mark: str) -> None:
    run(tree, "update-index", mark, "README")
    changed(tree)
    assert run(tree, "status", "--porcelain") == ""
    assert stays(workspace, tree).startswith("Some of its files are marked")


def test_ignored_files_go_with_it(workspace: Path, repo: Path, tree: Path) -> None:
    (repo / ".git" / "info" / "exclude").write_text("build/\n")
    (tree / "build").mkdir()
    (tree / "build" / "out").touch()
    assert collect(workspace, apply=True).value["removed"] == [str(tree)]  # type: ignore[index,call-overload]  # a JSON object


def test_an_ignored_file_that_is_tracked_is_looked_at_like_any_other(workspace: Path, repo: Path, tree: Path) -> None:
    (repo / ".git" / "info" / "exclude").write_text("kept\n")
    commit(repo, "kept", "1\n")
    run(tree, "merge", "--quiet", "main")
    assert verdict(workspace, tree) == ("remove", CLEAN)
    (tree / "kept").write_text("2\n")
    assert stays(workspace, tree) == UNCOMMITTED


def test_one_with_submodules_is_held(workspace: Path, repo: Path, tmp_path: Path) -> None:
    other = repositories.made(tmp_path / "other")
    run(repo, "submodule", "--quiet", "add", str(other), "part")
    run(repo, "commit", "--quiet", "--message", "Add a part")
    tree = linked(repo, workspace / "tree", "done")
    assert stays(workspace, tree).startswith("It holds submodules")
    run(tree, "submodule", "--quiet", "update", "--init")
    assert stays(workspace, tree).startswith("It holds submodules")
    (tree / "part" / "new").touch()
    assert stays(workspace, tree) == UNCOMMITTED


def bisect_begun(tree: Path) -> None:
    run(tree, "bisect", "start")


def index_locked(tree: Path) -> None:
    (Path(run(tree, "rev-parse", "--absolute-git-dir").strip()) / "index.lock").touch()


def rebase_stopped(tree: Path) -> None:
    run(tree, "-c", "sequence.editor=sed -i 1ibreak", "rebase", "--quiet", "--interactive", "HEAD~1")


@pytest.mark.parametrize("begin", [bisect_begun, index_locked, rebase_stopped])
def test_one_with_an_operation_under_way_is_held(workspace: Path, repo: Path, begin: Callable[[Path], None]) -> None:
    commit(repo, "more", "More.\n")
    tree = linked(repo, workspace / "tree", "done")
    begin(tree)
    assert run(tree, "status", "--porcelain") == ""
    assert stays(workspace, tree).startswith("A git operation is under way in it")


def test_a_merge_that_changed_nothing_yet_holds_it(workspace: Path, repo: Path, tree: Path) -> None:
    run(repo, "commit", "--quiet", "--allow-empty", "--message", "Say nothing")
    run(tree, "merge", "--quiet", "--no-commit", "--no-ff", "main")
    assert run(tree, "status", "--porcelain") == ""
    assert "MERGE_HEAD" in stays(workspace, tree)


def test_a_locked_one_is_held(workspace: Path, repo: Path, tree: Path) -> None:
    run(repo, "worktree", "lock", "--reason", "mine\nalone", str(tree))
    assert stays(workspace, tree).startswith("It is locked")


def test_one_whose_folder_is_gone_is_taken_off_the_list_alone(workspace: Path, repo: Path, tree: Path) -> None:
    other = linked(repo, workspace / "other", "other")
    run(repo, "worktree", "lock", str(other))
    shutil.rmtree(tree)
    shutil.rmtree(other)
    assert verdict(workspace, tree) == ("prunable", "Its folder is gone.")
    assert str(tree) in run(repo, "worktree", "list")
    done: Any = collect(workspace, apply=True).value
    assert done["removed"] == [str(tree)]
    assert str(tree) not in run(repo, "worktree", "list")
    assert str(other) in run(repo, "worktree", "list")
    assert "done" in run(repo, "branch")


def test_one_whose_folder_is_gone_is_kept_for_commits_that_nothing_else_leads_to(workspace: Path, repo: Path) -> None:
    tree = linked(repo, workspace / "loose")
    commit(tree, "work", "Done.\n")
    shutil.rmtree(tree)
    assert stays(workspace, tree) == UNMERGED


def test_a_folder_that_lost_its_link_is_held(workspace: Path, tree: Path) -> None:
    (tree / ".git").unlink()
    assert stays(workspace, tree).startswith("Its folder is there but is no worktree any more")
    assert (tree / "README").exists()


def test_a_folder_that_is_another_repository_now_is_held(workspace: Path, tree: Path) -> None:
    shutil.rmtree(tree)
    repositories.made(tree)
    assert stays(workspace, tree).startswith("Its folder holds something else now")
    assert (tree / "README").exists()


def test_one_with_another_inside_it_is_held(workspace: Path, repo: Path, tree: Path) -> None:
    (repo / ".git" / "info" / "exclude").write_text("inner/\n")
    inner = linked(repo, tree / "inner", "inner")
    commit(inner, "work", "Done.\n")
    assert stays(workspace, tree) == "Another worktree lies inside it."


def test_one_outside_of_the_workspace_is_held(workspace: Path, repo: Path, tmp_path: Path) -> None:
    tree = linked(repo, tmp_path.resolve() / "outside", "outside")
    assert stays(workspace, tree).startswith("It lies outside of the routine's workspace")
    shutil.rmtree(tree)
    assert stays(workspace, tree).startswith("It lies outside of the routine's workspace")


def test_one_that_became_a_link_is_held(workspace: Path, tree: Path) -> None:
    moved = tree.rename(workspace / "moved")
    tree.symlink_to(moved)
    assert stays(workspace, tree).startswith("It lies outside of the routine's workspace")


def test_the_one_that_is_asked_from_is_held(workspace: Path, repo: Path, tree: Path) -> None:
    (tree / "inner").mkdir()
    assert stays(workspace, tree, repo="tree/inner") == "It is being worked in right now."


def test_a_bare_repository_keeps_the_worktree_of_its_base(workspace: Path, repo: Path) -> None:
    bare = workspace / "bare"
    run(workspace, "clone", "--quiet", "--bare", "repo", "bare")
    run(bare, "worktree", "add", "--quiet", str(workspace / "trunk"), "main")
    tree = linked(bare, workspace / "tree", "done")
    assert verdict(workspace, tree, repo="bare", apply=True) == ("remove", CLEAN)
    assert not tree.exists()
    assert stays(workspace, bare, repo="bare") == MAIN
    assert stays(workspace, workspace / "trunk", repo="bare") == "It is on main itself."


def test_hooks_and_monitors_of_the_repository_do_not_run(workspace: Path, repo: Path, tree: Path) -> None:
    ran = workspace / "ran"
    hook = repo / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    hook.chmod(0o755)
    run(repo, "config", "core.fsmonitor", f"touch '{ran}'; false")
    run(repo, "config", "core.pager", f"touch '{ran}'")
    assert collect(workspace, apply=True).value["removed"] == [str(tree)]  # type: ignore[index,call-overload]  # a JSON object
    assert not ran.exists()


def test_what_changed_since_it_was_planned_is_held(
    workspace: Path, repo: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = workspace / "bin" / "git"
    real = shutil.which("git")
    wrapper.parent.mkdir()
    # Somebody writes a file between the first look at the worktree and the second.
    wrapper.write_text(
        f"#!{sys.executable}\n"
        "import os, subprocess, sys\n"
        f"done = subprocess.run([{real!r}, *sys.argv[1:]]).returncode\n"
        f"if 'ls-files' in sys.argv: open({str(tree / 'new')!r}, 'w').close()\n"
        "raise SystemExit(done)\n"
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:/usr/bin:/bin")
    assert verdict(workspace, tree, apply=True) == ("held", UNCOMMITTED)
    assert (tree / "new").exists()


def test_names_with_blanks_and_line_ends_are_names(workspace: Path, repo: Path) -> None:
    tree = linked(repo, workspace / "-a b'ü", "odd")
    broken = linked(repo, workspace / "two\nlines", "lines")
    assert verdict(workspace, tree, apply=True) == ("remove", CLEAN)
    assert not tree.exists()
    assert stays(workspace, broken).startswith("git says what is not understood here")


@pytest.mark.parametrize("base", ["nowhere", "main~0", "--help", "refs/heads/main", "\0", "\ud800", "../main", " "])
def test_a_base_is_a_local_branch(workspace: Path, tree: Path, base: str) -> None:
    told = collect(workspace, apply=True, base=base)
    assert not told.ok
    assert tree.exists()


def test_without_a_branch_in_the_main_worktree_a_base_is_asked_for(workspace: Path, repo: Path, tree: Path) -> None:
    run(repo, "checkout", "--quiet", "--detach")
    told = collect(workspace)
    assert (told.ok, "as base" in told.summary) == (False, True)
    assert verdict(workspace, tree, base="main") == ("remove", CLEAN)


def test_a_repository_without_commits_has_nothing_to_remove(workspace: Path) -> None:
    (workspace / "empty").mkdir()
    run(workspace / "empty", "init", "--quiet")
    assert not collect(workspace, repo="empty").ok


@pytest.mark.parametrize("where", ["..", "/", "nowhere", "repo/README", "link", "\0", "\ud800", "plain"])
def test_only_a_repository_inside_the_workspace_is_touched(workspace: Path, tree: Path, where: str) -> None:
    (workspace / "plain").mkdir()
    (workspace / "link").symlink_to(repositories.made(workspace.parent / "foreign"))
    told = collect(workspace, repo=where, apply=True)
    assert not told.ok
    assert str(workspace) not in told.summary
    assert tree.exists()


def test_a_workspace_that_is_itself_part_of_a_repository_reaches_none_of_it(repo: Path, workspace: Path) -> None:
    tree = linked(repo, workspace / "tree", "done")
    inner = linked(repo, workspace / "inner", "inner")
    told = calls.call(worktree_gc, workspace=inner, apply=True)
    assert (told.ok, tree.exists()) == (False, True)
    assert "outside of the routine's workspace" in told.summary


def test_without_a_workspace_nothing_is_touched() -> None:
    assert not calls.call(worktree_gc).ok
