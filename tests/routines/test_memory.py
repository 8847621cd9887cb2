"""Looks at workspaces: what changed is seen, what did not is not read again, and what is away is not gone."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from routines import library
from tests.routines import workspaces

HOUR_NS = 3_600 * 10**9


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "w" / ".routines").mkdir(parents=True)
    return tmp_path / "w"


def later() -> library.Library:
    """One that looks an hour after all was written."""
    return library.Library(lambda: time.time_ns() + HOUR_NS)


def ids(scan: library.Scan) -> list[str]:
    return sorted(file.routine.id if file.routine else "?" for file in scan.files)


def messages(scan: library.Scan) -> list[str]:
    return [fault.message for file in scan.files for fault in file.faults]


def test_what_stands_still_is_neither_listed_nor_opened_again(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("aa", "team/bb", "team/deep/cc"):
        workspaces.put(workspace, name)
    shelf = later()
    before = shelf.scan([str(workspace)])
    assert ids(before) == ["aa", "bb", "cc"]
    monkeypatch.setattr(os, "scandir", None)
    monkeypatch.setattr(Path, "open", None)
    after = shelf.scan([str(workspace)])
    assert after.mark == before.mark
    assert [id(file) for file in after.files] == [id(file) for file in before.files]


def test_what_was_written_just_now_is_read_again_since_its_times_cannot_tell(workspace: Path) -> None:
    path = workspaces.put(workspace, "aa", description="one")
    shelf = library.Library()
    before = shelf.scan([str(workspace)])
    times = os.stat(path)
    # As long, with the same times as far as one can set them: only the bytes differ.
    workspaces.put(workspace, "aa", description="two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = shelf.scan([str(workspace)])
    assert after.mark != before.mark
    assert [file.routine.description for file in after.files if file.routine] == ["two"]


def test_times_that_were_set_back_hide_no_edit(workspace: Path) -> None:
    path = workspaces.put(workspace, "aa", description="one")
    os.utime(path, (0, 0))
    shelf = later()
    shelf.scan([str(workspace)])
    workspaces.put(workspace, "aa", description="two")
    os.utime(path, (0, 0))
    [file] = shelf.scan([str(workspace)]).files
    assert file.routine is not None
    assert file.routine.description == "two"


@pytest.mark.parametrize("make", [library.Library, later])
def test_new_times_alone_change_nothing(workspace: Path, make: Any) -> None:
    path = workspaces.put(workspace, "aa")
    shelf = make()
    before = shelf.scan([str(workspace)])
    os.utime(path, (1, 1))
    path.write_bytes(path.read_bytes())
    after = shelf.scan([str(workspace)])
    assert after.mark == before.mark
    assert after.files[0] is before.files[0]


@pytest.mark.parametrize("make", [library.Library, later])
def test_every_change_gives_another_mark(workspace: Path, make: Callable[[], library.Library]) -> None:
    shelf = make()
    marks = [shelf.scan([str(workspace)]).mark]

    def look() -> library.Scan:
        scan = shelf.scan([str(workspace)])
        marks.append(scan.mark)
        assert shelf.scan([str(workspace)]).mark == scan.mark
        return scan

    path = workspaces.put(workspace, "aa")
    assert ids(look()) == ["aa"]
    workspaces.put(workspace, "aa/below/bb")
    assert ids(look()) == ["aa", "bb"]
    workspaces.spoil(path)
    assert ids(look()) == ["?", "bb"]
    path.rename(path.with_name("elsewhere.md"))
    assert look().gone
    path.with_name("elsewhere.md").rename(path)
    assert not look().gone
    workspaces.remove(workspace, "aa")
    assert ids(look()) == []
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize("make", [library.Library, later])
def test_a_workspace_without_routines_is_fine(workspace: Path, make: Any) -> None:
    shelf = make()
    assert shelf.scan([str(workspace)]).files == ()
    (workspace / ".routines").rmdir()
    (workspace / "README.md").touch()
    assert shelf.scan([str(workspace)]).files == ()
    workspaces.put(workspace, "aa")
    assert ids(shelf.scan([str(workspace)])) == ["aa"]


@pytest.mark.parametrize("away", ["nothing", "empty", "a file", "a link to nothing", "routines a link to nothing"])
def test_a_workspace_that_is_away_is_a_fault_of_the_folder(workspace: Path, away: str) -> None:
    shutil.rmtree(workspace)
    if away == "a file":
        workspace.touch()
    elif away == "a link to nothing":
        workspace.symlink_to(workspace.parent / "nothing")
    elif away != "nothing":
        workspace.mkdir()
        if away.startswith("routines"):
            (workspace / ".routines").symlink_to(workspace.parent / "nothing")
    [file] = library.Library().scan([str(workspace)]).files
    assert (file.path, file.folder, file.routine) == (str(workspace), True, None)
    # A new workspace is empty too, so that is no error.
    assert [fault.warning for fault in file.faults] == [away == "empty"]


def test_the_routines_of_a_workspace_lie_inside_it(workspace: Path) -> None:
    elsewhere = workspace.parent / "elsewhere"
    workspaces.put(elsewhere, "aa")
    (workspace / ".routines").rmdir()
    (workspace / ".routines").symlink_to(elsewhere / ".routines")
    scan = library.Library().scan([str(workspace)])
    assert ids(scan) == ["?"]
    assert "leads out of the workspace" in messages(scan)[0]
    (workspace / ".routines").unlink()
    (elsewhere / ".routines").rename(workspace / "automation")
    (workspace / ".routines").symlink_to("automation")
    assert ids(library.Library().scan([str(workspace)])) == ["aa"]


def test_a_link_that_leads_elsewhere_now_is_seen(workspace: Path) -> None:
    for name in ("aa", "bb"):
        workspaces.put(workspace, name)
        (workspace / ".routines" / name / library.NAME).rename(workspace / ".routines" / f"{name}.md")
    link = workspace / ".routines" / "aa" / library.NAME
    link.symlink_to(workspace / ".routines" / "aa.md")
    shelf = later()
    assert ids(shelf.scan([str(workspace)])) == ["aa"]
    link.unlink()
    link.symlink_to(workspace / ".routines" / "bb.md")
    assert ids(shelf.scan([str(workspace)])) == ["bb"]


def test_the_same_folder_by_two_names_is_read_once(workspace: Path) -> None:
    workspaces.put(workspace, "aa")
    (workspace.parent / "again").symlink_to(workspace)
    scan = library.Library().scan([str(workspace), str(workspace.parent / "again"), f"{workspace}/"])
    assert ids(scan) == ["aa"]
    assert {file.workspace for file in scan.files} == {os.path.realpath(workspace)}


def test_a_workspace_that_moved_behind_its_link_is_read_anew(workspace: Path) -> None:
    workspaces.put(workspace, "aa")
    shutil.copytree(workspace, workspace.parent / "w2")
    link = workspace.parent / "current"
    link.symlink_to(workspace)
    shelf = later()
    before = shelf.scan([str(link)])
    link.unlink()
    link.symlink_to(workspace.parent / "w2")
    after = shelf.scan([str(link)])
    assert after.mark != before.mark
    assert [file.workspace for file in after.files] == [os.path.realpath(workspace.parent / "w2")]


def test_a_path_that_no_database_keeps_is_a_fault(workspace: Path) -> None:
    os.makedirs(os.fsencode(workspace / ".routines") + b"/\xff")
    good = workspaces.put(workspace, "aa")
    shutil.copy(os.fsencode(good), os.fsencode(workspace / ".routines") + b"/\xff/ROUTINE.md")
    scan = library.Library().scan([str(workspace)])
    assert ids(scan) == ["?", "aa"]
    assert "not UTF-8" in messages(scan)[-1] + messages(scan)[0]


def test_a_scan_is_bounded_and_what_it_left_out_is_not_gone(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("aa", "bb", "cc"):
        workspaces.put(workspace, name)
    monkeypatch.setattr(library, "MOST_FILES", 2)
    scan = library.Library().scan([str(workspace)])
    [left_out] = [file for file in scan.files if file.folder]
    assert left_out.path == str(workspace / ".routines")
    assert ids(scan) == ["?", "aa", "bb"]


def test_what_was_written_just_now_is_not_read_for_ever(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns = time.time_ns()
    shelf = library.Library(lambda: now_ns)
    workspaces.put(workspace, "aa")
    before = shelf.scan([str(workspace)])
    now_ns += HOUR_NS
    shelf.scan([str(workspace)])
    monkeypatch.setattr(os, "scandir", None)
    monkeypatch.setattr(Path, "open", None)
    assert shelf.scan([str(workspace)]).mark == before.mark
