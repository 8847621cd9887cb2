"""The walk over folders: what it reads, in what order, and what it leaves alone."""

import os
from pathlib import Path

import pytest

from routines import library, memory
from routines.domain import limits
from tests.routines.domain import texts


def put(path: Path, routine_id: str = "") -> Path:
    """A good manifest at that path; its id is its folder's name unless given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(texts.GOOD.replace("nightly-sweep", routine_id or path.parent.name), encoding="utf-8")
    return path


def ids(*paths: Path) -> list[str]:
    return [file.routine.id if file.routine else "?" for file in library.read(paths)]


def faults(*paths: Path) -> list[str]:
    return [fault.message for file in library.read(paths) for fault in file.faults]


def test_a_folder_is_searched_at_any_depth_by_path(tmp_path: Path) -> None:
    for name in ("b/deep/er/cc", "a/.routines/bb", "aa"):
        put(tmp_path / name / "ROUTINE.md")
    put(tmp_path / "README.md")
    put(tmp_path / "aa" / "routine.md")
    assert ids(tmp_path) == ["bb", "aa", "cc"]
    assert [file.id_line for file in library.read([tmp_path])] == [3, 3, 3]


def test_a_file_is_taken_by_any_name_and_once(tmp_path: Path) -> None:
    one = put(tmp_path / "aa" / "ROUTINE.md")
    draft = put(tmp_path / "draft.md", "bb")
    assert ids(one, tmp_path, one, tmp_path / "aa", draft) == ["aa", "bb"]
    assert faults(draft) == []


def test_an_id_is_compared_with_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "aa" / "ROUTINE.md", "bb")
    monkeypatch.chdir(tmp_path / "aa")
    [file] = library.read(["ROUTINE.md"])
    assert file.routine is not None
    assert [(fault.code, fault.warning) for fault in file.faults] == [("routine_id_mismatch", True)]


def test_links_lead_nowhere_outside(tmp_path: Path) -> None:
    put(tmp_path / "outside" / "ROUTINE.md")
    inside = tmp_path / "inside"
    real = put(inside / "aa" / "ROUTINE.md")
    (inside / "folder").symlink_to(tmp_path / "outside", target_is_directory=True)
    (inside / "round").symlink_to(inside, target_is_directory=True)
    (inside / "zz").mkdir()
    (inside / "zz" / "ROUTINE.md").symlink_to(real)
    assert ids(inside) == ["aa"]
    (inside / "bb").mkdir()
    (inside / "bb" / "ROUTINE.md").symlink_to(tmp_path / "outside" / "ROUTINE.md")
    assert ids(inside) == ["aa", "?"]
    assert "symbolic link" in faults(inside)[0]
    # Whoever names a link means what it leads to.
    assert ids(inside / "folder") == ["outside"]


def test_what_cannot_be_read_is_a_fault_and_stops_no_other(tmp_path: Path) -> None:
    put(tmp_path / "ok" / "ROUTINE.md")
    for name in ("broken", "bytes", "large", "pipe"):
        (tmp_path / name).mkdir()
    (tmp_path / "broken" / "ROUTINE.md").symlink_to(tmp_path / "nothing")
    (tmp_path / "bytes" / "ROUTINE.md").write_bytes(b"---\n\xff")
    (tmp_path / "large" / "ROUTINE.md").write_bytes(b"x" * (limits.MAX_BYTES + 1))
    os.mkfifo(tmp_path / "pipe" / "ROUTINE.md")
    assert ids(tmp_path) == ["?", "?", "?", "ok", "?"]
    assert [message.split(";")[0].split(":")[0] for message in faults(tmp_path)] == [
        "This cannot be read",
        "The file is not UTF-8",
        "The file is larger than 256 KiB",
        "This is neither a file nor a folder",
    ]


def test_a_large_file_is_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = tmp_path / "ROUTINE.md"
    with large.open("wb") as opened:
        opened.truncate(2**40)
    monkeypatch.setattr(Path, "open", None)
    assert faults(large) == [limits.TOO_LARGE]


@pytest.mark.parametrize("name", ["nothing", "a\0b", "x" * 5000])
def test_a_named_path_that_is_none_is_a_fault(tmp_path: Path, name: str) -> None:
    [message] = faults(tmp_path / name)
    assert message.startswith("This cannot be read: ")
    assert faults(Path("/dev/null")) == [memory.NOT_FILE]


def test_a_walk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        put(tmp_path / f"r{number}" / "ROUTINE.md")
    monkeypatch.setattr(library, "MOST_FILES", 3)
    assert sum(one != "?" for one in ids(tmp_path)) == 3
    assert any("the rest was left out" in message for message in faults(tmp_path))
    monkeypatch.setattr(library, "MOST_FILES", 9)
    monkeypatch.setattr(library, "MOST_FOLDERS", 2)
    assert any("the rest was left out" in message for message in faults(tmp_path))
