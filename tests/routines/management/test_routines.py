"""``manage.py routines``: what is printed, what is written, and exit codes that scripts can rely on."""

import io
import json
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

import routines
from routines.domain import parse
from tests.routines.domain import texts

EXAMPLES = Path(routines.__file__).parent / "examples"

CRONTAB = """\
MAILTO=ops@example.invalid
CRON_TZ=Europe/Paris
# Back up the database
30 2 * * MON-FRI /usr/local/bin/backup --full
@daily /usr/local/bin/rotate
"""


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("routines", *arguments, stdout=out)
    return out.getvalue()


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, what was printed, and the reason."""
    capsys.readouterr()
    try:
        call_command("routines", *arguments)
    except CommandError as error:
        return error.returncode, capsys.readouterr().out, str(error)
    except SystemExit as left:
        return int(left.code or 0), capsys.readouterr().out, ""
    pytest.fail("It ended well.")


def put(folder: Path, text: str = texts.GOOD, name: str = "nightly-sweep") -> str:
    path = folder / name / "ROUTINE.md"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


class TestValidate:
    def test_the_examples_are_valid(self) -> None:
        assert run("validate", str(EXAMPLES)) == "All of 7 files are valid.\n"

    def test_each_error_is_a_line_with_its_file_line_and_field(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        good = put(tmp_path, name="a/nightly-sweep")
        bad = put(tmp_path, texts.GOOD.replace("id: nightly-sweep", "id: N").replace("manual", "weekly"), "b")
        code, out, reason = failed(capsys, "validate", str(tmp_path))
        first, second = out.splitlines()
        assert first.startswith(f"{bad}:3: id: id must be 2 to 80")
        assert second.startswith(f"{bad}:6: schedule.kind: ")
        assert (code, reason) == (1, "1 of 2 files are not valid.")
        assert good not in out

    def test_a_fault_of_the_whole_file_has_no_field_and_perhaps_no_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        nothing = tmp_path / "nothing"
        assert failed(capsys, "validate", str(nothing))[1].startswith(f"{nothing}: This cannot be read")
        bare = put(tmp_path, "# no front matter\n")
        assert failed(capsys, "validate", bare)[1].startswith(f"{bare}:1: The file must start with front matter")

    def test_of_two_files_with_one_id_the_second_is_an_error(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first = put(tmp_path, name="a/nightly-sweep")
        second = put(tmp_path, name="b/nightly-sweep")
        code, out, _ = failed(capsys, "validate", second, first)
        assert (code, out.startswith(f"{second}:3: id: The id is already taken by {first}")) == (1, True)
        shown = json.loads(failed(capsys, "validate", str(tmp_path), "--json")[1])
        assert [file["valid"] for file in shown["files"]] == [True, False]
        assert shown["files"][1]["errors"][0]["code"] == "routine_duplicate"

    def test_a_warning_is_printed_and_fails_nothing(self, tmp_path: Path) -> None:
        path = put(tmp_path, name="elsewhere")
        warning, summary = run("validate", path).splitlines()
        assert warning.startswith(f"{path}:3: warning: id: The id ends in nightly-sweep")
        assert summary == "All of 1 files are valid."
        shown = json.loads(run("validate", path, "--json"))
        assert (shown["valid"], shown["files"][0]["errors"][0]["code"]) == (True, "routine_id_mismatch")

    def test_json_holds_every_file_with_its_errors(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = put(tmp_path, texts.with_lines("enabled: off"))
        code, out, _ = failed(capsys, "validate", "--json", path)
        [fault] = json.loads(out)["files"][0]["errors"]
        assert code == 1
        assert json.loads(out) == {"valid": False, "files": [{"file": path, "valid": False, "errors": [fault]}]}
        assert (fault["code"], fault["field"], fault["line"]) == ("routine_invalid", "enabled", 9)

    def test_a_folder_without_any_says_so(self, tmp_path: Path) -> None:
        assert run("validate", str(tmp_path)) == "There is no ROUTINE.md there.\n"
        assert json.loads(run("validate", str(tmp_path), "--json")) == {"valid": True, "files": []}

    def test_a_name_does_nothing_to_a_terminal(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        put(tmp_path, "", "a\x1b[31m\nb\udcff")
        _, out, _ = failed(capsys, "validate", str(tmp_path))
        assert out.isascii()
        assert out.count("\n") == 1
        assert "\\u001b[31m\\nb\\udcff" in out


class TestImport:
    @pytest.fixture
    def crontab(self, tmp_path: Path) -> Path:
        path = tmp_path / "crontab"
        path.write_text(CRONTAB, encoding="utf-8")
        return path

    def test_each_entry_becomes_a_file_that_validates(self, crontab: Path, tmp_path: Path) -> None:
        into = tmp_path / "new" / ".routines"
        out = run("import-crontab", str(crontab), "--into", str(into))
        assert out.splitlines() == [
            f"Wrote {into}/backup/ROUTINE.md of line 4.",
            f"Wrote {into}/rotate/ROUTINE.md of line 5.",
            f"{crontab}:1: MAILTO is not carried over; name whom to tell in on_failure.notify.",
        ]
        assert run("validate", str(into)) == "All of 2 files are valid.\n"
        backup = parse.parse_routine((into / "backup" / "ROUTINE.md").read_text(encoding="utf-8"))
        assert backup.description == "Back up the database"

    def test_the_machines_zone_holds_where_the_crontab_names_none(self, tmp_path: Path) -> None:
        entry = tmp_path / "crontab"
        entry.write_text("0 1 * * * aa\n")
        run("import-crontab", str(entry), "--into", str(tmp_path), "--timezone", "asia/tokyo")
        assert 'timezone: "Asia/Tokyo"' in (tmp_path / "aa" / "ROUTINE.md").read_text()

    def test_a_file_that_is_there_is_never_overwritten(
        self, crontab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        mine = tmp_path / "backup" / "ROUTINE.md"
        mine.parent.mkdir()
        mine.write_text("mine")
        code, out, reason = failed(capsys, "import-crontab", str(crontab), "--into", str(tmp_path))
        assert mine.read_text() == "mine"
        assert f"{crontab}:4: {mine} is there already and was left as it is" in out
        assert (tmp_path / "rotate" / "ROUTINE.md").exists()
        assert (code, reason) == (1, "1 of the crontab's lines could not be carried over.")

    def test_an_entry_that_is_left_out_fails_the_command_and_not_the_others(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        entries = tmp_path / "crontab"
        entries.write_bytes(b"@reboot x\n0 0 30 2 * x\n0 1 * * * \xff\n0 1 * * * good\n")
        code, out, _ = failed(capsys, "import-crontab", str(entries), "--into", str(tmp_path), "--json")
        shown = json.loads(out)
        assert code == 1
        written = str(tmp_path / "good" / "ROUTINE.md")
        assert shown["written"] == [{"id": "good", "file": written, "line": 4}]
        assert [(note["line"], note["refused"]) for note in shown["notes"]] == [(1, True), (2, True), (3, True)]

    def test_standard_input_is_read_for_a_hyphen(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0 1 * * * aa\n")))
        shown = json.loads(run("import-crontab", "-", "--into", str(tmp_path), "--json"))
        assert [one["id"] for one in shown["written"]] == ["aa"]

    def test_what_cannot_be_read_or_written_is_an_error(
        self, crontab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert failed(capsys, "import-crontab", str(tmp_path / "none"))[0] == 1
        assert failed(capsys, "import-crontab", str(tmp_path))[0] == 1
        code, out, _ = failed(capsys, "import-crontab", str(crontab), "--into", str(crontab))
        assert (code, out.count("cannot be written")) == (1, 2)
        crontab.write_bytes(b"#" * 300_000)
        assert "larger than 256 KiB" in failed(capsys, "import-crontab", str(crontab))[2]

    @pytest.mark.parametrize("zone", ["EST", "", "\0", "../etc"])
    def test_a_zone_that_is_none_is_misuse(self, zone: str, crontab: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert failed(capsys, "import-crontab", str(crontab), f"--timezone={zone}")[0] == 2


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["validate"], ["import-crontab"], ["validate", "--nothing"]])
def test_misuse_of_the_command_line_is_refused(arguments: list[str]) -> None:
    with pytest.raises((CommandError, SystemExit)):
        run(*arguments)


def test_no_database_is_asked(tmp_path: Path) -> None:
    """These tests have none: pytest-django would have refused its use."""
    assert run("validate", put(tmp_path)) == "All of 1 files are valid.\n"
    assert any(tmp_path.iterdir())
