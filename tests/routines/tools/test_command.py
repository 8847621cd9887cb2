"""`command_execute`: the programs that the settings allow, in the workspace, with none of the host's secrets."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from routines.tools.command import command_execute
from routines.tools.registry import Result
from tests.routines.tools import calls


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.WAKEFUL_ALLOWED_COMMANDS = [sys.executable, "sh", "bin/sh", "no-such-program", "/no/such/program"]


def python(code: str, *arguments: str, **given: Any) -> Result:
    return calls.call(command_execute, command=sys.executable, args=["-c", code, *arguments], **given)


def name() -> str:
    return os.path.basename(sys.executable)


def test_a_program_that_exits_with_0_is_good() -> None:
    assert python("print('done')") == Result(
        ok=True, summary=f"{name()} exited with 0.", value={"exitCode": 0, "output": "done\n"}
    )


def test_any_other_exit_is_a_failure_with_its_output() -> None:
    assert python("print('broken'); raise SystemExit(3)") == Result(
        ok=False, summary=f"{name()} exited with 3.", value={"exitCode": 3, "output": "broken\n"}
    )


def test_a_program_that_a_signal_ended_says_so() -> None:
    told = python("import os; os.kill(os.getpid(), 9)")
    assert (told.ok, told.summary) == (False, f"{name()} was ended by signal 9.")


def test_a_bare_name_is_found_on_the_path() -> None:
    assert calls.call(command_execute, command="sh", args=["-c", "exit 0"]).ok


@pytest.mark.parametrize("command", ["bash", "/bin/sh", "sh ", "SH", "./sh"])
def test_what_is_not_listed_word_for_word_does_not_run(command: str) -> None:
    told = calls.call(command_execute, command=command)
    assert not told.ok
    assert "WAKEFUL_ALLOWED_COMMANDS" in told.summary


def test_nothing_is_allowed_unless_an_operator_says_so(settings: Settings) -> None:
    settings.WAKEFUL_ALLOWED_COMMANDS = []
    assert not calls.call(command_execute, command="sh", args=["-c", "exit 0"]).ok


def test_a_listed_relative_path_does_not_run_whatever_it_may_be_relative_to(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    told = calls.call(command_execute, command="bin/sh", workspace=tmp_path)
    assert (told.ok, "absolute path" in told.summary) == (False, True)


def test_no_program_is_found_in_the_folder_that_it_runs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    planted = tmp_path / "planted"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    settings.WAKEFUL_ALLOWED_COMMANDS = ["planted"]
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}:")
    monkeypatch.chdir(tmp_path)
    assert not calls.call(command_execute, command="planted", workspace=tmp_path).ok


@pytest.mark.parametrize("command", ["no-such-program", "/no/such/program"])
def test_a_listed_program_that_is_not_there_is_a_failure(command: str) -> None:
    assert not calls.call(command_execute, command=command).ok


def test_arguments_are_passed_as_they_are() -> None:
    told = python("import sys; print(sys.argv[1:])", "$HOME; `id` *", "", "ü\n")
    assert told.value == {"exitCode": 0, "output": "['$HOME; `id` *', '', 'ü\\n']\n"}


@pytest.mark.parametrize("argument", ["a\0b", "\ud800"])
def test_an_argument_that_no_program_takes_is_refused(argument: str) -> None:
    told = python("", argument)
    assert (told.ok, "U+0000" in told.summary) == (False, True)


def test_it_reads_what_it_is_given(tmp_path: Path) -> None:
    assert python("print(ascii(input()))", stdin="grüße\0\n").value == {
        "exitCode": 0,
        "output": "'gr\\xfc\\xdfe\\x00'\n",
    }
    assert not python("", stdin="\ud800").ok


def test_its_environment_holds_none_of_the_hosts_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in ("SECRET_KEY", "DATABASE_URL", "WAKEFUL_VAULT_KEY", "WAKEFUL_IDENTITIES", "LD_PRELOAD", "GIT_DIR"):
        monkeypatch.setenv(secret, "")
    told: Any = python("import json, os; print(json.dumps(dict(os.environ)))").value
    seen = set(json.loads(told["output"]))
    assert seen <= {"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
    assert {"PATH", "LANG"} <= seen


WHERE = "import os; print(os.getcwd())"


def test_it_runs_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    assert python(WHERE, workspace=tmp_path).value == {"exitCode": 0, "output": f"{tmp_path.resolve()}\n"}
    inner: Any = python(WHERE, workspace=tmp_path, cwd="inner").value
    assert inner["output"] == f"{(tmp_path / 'inner').resolve()}\n"
    assert python(WHERE, workspace=tmp_path, cwd=str(tmp_path.resolve() / "inner")).value == inner


def test_without_a_workspace_it_runs_in_a_folder_that_is_gone_afterwards() -> None:
    told: Any = python(f"{WHERE}; open('left', 'w').close()").value
    assert not Path(told["output"].rstrip()).exists()
    assert Path(told["output"].rstrip()) != Path.cwd()


@pytest.mark.parametrize("cwd", ["..", "/", "link", "inner/../..", "nowhere", "file", "\0", "\ud800"])
def test_it_does_not_run_outside_of_the_workspace(tmp_path: Path, cwd: str) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "inner").mkdir(parents=True)
    (workspace / "file").touch()
    (workspace / "link").symlink_to(tmp_path)
    ran = tmp_path / "ran"
    told = python("import sys; open(sys.argv[1], 'w')", str(ran), workspace=workspace, cwd=cwd)
    assert (told.ok, ran.exists()) == (False, False)


def test_a_cwd_without_a_workspace_is_refused() -> None:
    assert not python("", cwd="/").ok


def test_one_that_takes_too_long_is_ended_as_a_timeout() -> None:
    told = python("import time; print('begun', flush=True); time.sleep(600)", timeout_seconds=1)
    assert told == Result(
        ok=False,
        summary=f"{name()} was ended: it took longer than 1 s.",
        value={"exitCode": None, "output": "begun\n"},
        failure="timeout",
    )


def test_the_calls_own_limit_holds_too() -> None:
    assert python("import time; time.sleep(600)", seconds=1, timeout_seconds=600).failure == "timeout"


def test_one_whose_answer_no_longer_counts_is_ended() -> None:
    cancelled = threading.Event()
    cancelled.set()
    told = python("import time; time.sleep(600)", cancelled=cancelled)
    assert (told.ok, told.failure) == (False, "error")


def test_much_output_is_bounded() -> None:
    told: Any = python("print('x' * 10_000_000)").value
    assert len(told["output"]) < 70_000


@pytest.mark.parametrize("seconds", [0, 601, True, "5"])
def test_its_time_is_bounded(seconds: Any) -> None:
    assert command_execute.problem({"command": "sh", "timeout_seconds": seconds}) is not None
