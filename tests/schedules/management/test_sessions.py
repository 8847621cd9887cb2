"""``manage.py sessions``: lists, views, logs in and out; exit codes that scripts can rely on."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from schedules import live, tools
from schedules.models import Session
from schedules.sessions import log
from tests.conftest import START, HandClock

pytestmark = pytest.mark.usefixtures("store", "clock")

PROJECT = Path(__file__).resolve().parents[3]


def run(*arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command("sessions", *arguments, stdout=out, **options)
    return out.getvalue()


def refused(*arguments: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return error.value.returncode, str(error.value)


def make(user: User, name: str, *, opened: bool = False, **given: Any) -> log.Header:
    header = log.Header(id=name, owner_id=user.pk, created_at=START, **given)
    live.create(header, live.Opening(holder="host") if opened else None)
    return header


def test_a_list_has_a_line_for_each_session(user: User) -> None:
    make(user, "one", opened=True, title="a\u2028\x1b[31mtitle")
    make(user, "two")
    assert run("list").splitlines() == [
        "two  2026-12-01T00:00:00.000Z  cold  0 reminders  ada",
        'one  2026-12-01T00:00:00.000Z  live  0 reminders  ada  "a\\u2028\\u001b[31mtitle"',
    ]


def test_a_list_as_json_is_a_page(user: User) -> None:
    for name in ("a", "b", "c"):
        make(user, name)
    first = json.loads(run("list", "--json", "--limit", "2"))
    assert [row["id"] for row in first["results"]] == ["c", "b"]
    rest = json.loads(run("list", "--json", "--limit", "2", "--cursor", first["next"]))
    assert [row["id"] for row in rest["results"]] == ["a"]
    assert rest["next"] is None
    assert first["next"] in run("list", "--limit", "2")


def test_a_list_can_be_narrowed(user: User, stranger: User, clock: HandClock) -> None:
    make(user, "one", opened=True)
    make(stranger, "two", origin="routine:r")
    tools.create("one", {"prompt": "p", "after_seconds": 1})
    clock.advance(seconds=2)
    for given, found in (
        (["--live"], ["one"]),
        (["--overdue"], ["one"]),
        (["--origin", "routine:r"], ["two"]),
        (["--owner", "mallory"], ["two"]),
        (["--owner", "mallory", "--live"], []),
    ):
        assert [row["id"] for row in json.loads(run("list", "--json", *given))["results"]] == found


@pytest.mark.parametrize("limit", ["0", "1001", "x", "-1", "٥", "9" * 99])
def test_a_limit_that_is_none_is_misuse(limit: str) -> None:
    assert refused("list", f"--limit={limit}")[0] == 2


def test_a_cursor_that_is_none_is_misuse() -> None:
    code, said = refused("list", "--cursor", "x")
    assert (code, said.startswith("--cursor")) == (2, True)


def test_a_session_is_shown(user: User) -> None:
    make(user, "one", title="T")
    shown = json.loads(run("show", "one", "--json"))
    assert (shown["id"], shown["title"], shown["openTurn"], shown["exhausted"]) == ("one", "T", None, [])
    assert "title: T\n" in run("show", "one")


@pytest.mark.parametrize("name", ["nobody", "a\0b", "\udcff"])
@pytest.mark.parametrize("command", ["show", "export"])
def test_an_unknown_session_is_an_error_without_a_trace(command: str, name: str) -> None:
    code, said = refused(command, name)
    assert (code, said.split(":")[0]) == (1, "not_found")


def test_a_refusal_as_json_is_a_code_and_a_message() -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit) as left:
        call_command("sessions", "show", "nobody", "--json", stdout=out)
    assert left.value.code == 1
    assert json.loads(out.getvalue())["code"] == "not_found"


def test_an_export_imports_as_the_same_log(user: User, tmp_path: Path) -> None:
    make(user, "one", opened=True, title="T")
    file = tmp_path / "log.jsonl"
    run("export", "one", str(file))
    assert file.read_text() == run("export", "one")
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]
    file.write_text(file.read_text().replace('"id":"one"', '"id":"two"'))
    assert run("import", str(file), "--owner", "ada") == "Imported the session two.\n"
    assert run("export", "two").replace('"id":"two"', '"id":"one"') == run("export", "one")


def test_an_import_says_what_it_made(user: User, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(f'{{"type":"session","version":0,"id":"one","createdAt":{START},"delegationDepth":0}}\n')
    shown = json.loads(run("import", str(file), "--owner", "ada", "--json"))
    assert (shown["id"], shown["owner"]) == ("one", "ada")
    assert refused("import", str(file), "--owner", "ada")[1].startswith("session_exists")


def test_a_malformed_log_names_its_file_and_line(user: User, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("{}\n")
    code, said = refused("import", str(file), "--owner", "ada")
    assert code == 1
    assert said.startswith(f"{file}, line 1: ")
    assert Session.objects.count() == 0


def test_a_file_that_cannot_be_read_or_written_is_an_error(user: User, tmp_path: Path) -> None:
    make(user, "one")
    assert refused("import", str(tmp_path / "none"), "--owner", "ada")[0] == 1
    assert refused("import", str(tmp_path), "--owner", "ada")[0] == 1
    assert refused("export", "one", str(tmp_path / "none" / "log"))[0] == 1


def test_an_export_to_a_device_does_not_replace_it(user: User) -> None:
    make(user, "one")
    run("export", "one", "/dev/null")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["nobody", "\0", "\udcff"])
def test_an_owner_who_is_none_is_an_error(name: str, tmp_path: Path) -> None:
    assert refused("list", "--owner", name)[0] == 1
    assert refused("import", str(tmp_path), "--owner", name)[1].startswith("not_found")


def test_djangos_own_options_may_follow_the_subcommand(user: User) -> None:
    make(user, "one")
    assert "one" in run("list", "--verbosity", "0", "--no-color", "--skip-checks", "--settings=config.settings")
    assert "one" in run("list", verbosity=0)


def test_misuse_of_the_command_line_is_refused() -> None:
    for arguments in ([], ["nothing"], ["show"], ["list", "--nothing"], ["import", "x"]):
        with pytest.raises((CommandError, SystemExit)):
            run(*arguments)


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    """A real process: its end writes to a pipe that nobody reads."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}"}
    manage = [sys.executable, str(PROJECT / "manage.py")]
    subprocess.run([*manage, "migrate", "-v0"], env=environment, check=True)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [*manage, "sessions", "list", "--json"], env=environment, stdout=gone, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")
