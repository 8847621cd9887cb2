"""`agent_start`: an adapter run in a session of its own, whose log tells all of it."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from routines.agentsessions import MOST_OUTPUT
from routines.models import AgentSession
from routines.tools.agent import agent_start
from schedules.access import models as access
from schedules.sessions import lossless
from schedules.sessions.models import Session
from tests.conftest import HandClock
from tests.routines.agenthost import ECHO, python, read, start, told, when_a_turn_begins


@pytest.fixture(autouse=True)
def clock_stands(clock: HandClock) -> None:
    """Every instant is the hand clock's."""


def value(result: Any) -> dict[str, Any]:
    assert isinstance(result.value, dict)
    return result.value


def test_the_adapter_that_is_always_there_says_what_it_was_told(user: User) -> None:
    result = start(user.pk, prompt="Good morning.")
    assert (result.ok, result.summary) == (True, "echo exited with 0.")
    assert value(result) == {"sessionId": value(result)["sessionId"], "exitCode": 0, "output": "Good morning."}


def test_the_sessions_log_tells_the_turn_the_exit_and_the_end(user: User) -> None:
    session_id = value(start(user.pk, prompt="Good morning."))["sessionId"]
    assert told(session_id) == [
        "session/opened",
        "turn/start user",
        "user/message",
        "wakeful:agent-exit",
        "assistant/message",
        "turn/end completed",
        "session/closed closed",
    ]
    opened, _, said, ended, answered, *_ = read(session_id)
    assert opened.data == {"holder": "wakeful-agents"}
    assert said.data["text"] == answered.data["text"] == "Good morning."
    assert ended.data == {
        "adapter": "echo",
        "exitCode": 0,
        "timedOut": False,
        "durationMs": ended.data["durationMs"],
    }


def test_the_session_is_the_users_and_says_where_it_comes_from(user: User, tmp_path: Path) -> None:
    start(user.pk, title="Tidy up", metadata={"team": "a", "depth": 99}, workspace=str(tmp_path))
    session = Session.objects.get()
    assert (session.owner, session.origin, session.title, session.cwd) == (
        user,
        "routine:tidy",
        "Tidy up",
        str(tmp_path.resolve()),
    )
    assert lossless.loads_trusted(session.metadata) == {"team": "a", "runId": "run-1", "depth": 2}


def test_a_manifest_may_name_another_origin(user: User) -> None:
    start(user.pk, origin="routine:other")
    assert Session.objects.get().origin == "routine:other"


def test_nothing_is_left_where_nothing_waits(user: User) -> None:
    start(user.pk)
    assert not AgentSession.objects.exists()
    assert not access.Token.objects.filter(revoked_at=None).exists()


def test_an_adapter_that_fails_fails_the_turn_and_the_call(user: User, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"broken": python("print('I cannot.'); raise SystemExit(3)")}
    result = start(user.pk, adapter="broken")
    assert (result.ok, result.summary, result.failure) == (False, "broken exited with 3.", "error")
    assert (value(result)["exitCode"], value(result)["output"]) == (3, "I cannot.")
    assert "turn/end failed" in told(value(result)["sessionId"])


def test_an_adapter_that_takes_too_long_is_ended(user: User, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {
        "slow": python("import time; print('Let me think.', flush=True); time.sleep(600)", seconds=900)
    }
    result = start(user.pk, adapter="slow", timeout_seconds=1)
    assert (result.ok, result.failure) == (False, "timeout")
    assert result.summary == "slow was ended: it took longer than 1 s."
    assert value(result)["output"] == "Let me think."
    ended = read(value(result)["sessionId"])[3]
    assert (ended.data["exitCode"], ended.data["timedOut"]) == (None, True)


def test_the_output_is_bounded(user: User, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"loud": python("print('begin' + 'x' * 5_000_000 + 'end')")}
    output = value(start(user.pk, adapter="loud"))["output"]
    assert len(output) < MOST_OUTPUT + 100
    assert output.startswith("begin")
    assert output.endswith("end")
    assert "bytes are cut out here" in output


def test_what_is_filled_in_is_never_filled_again(user: User) -> None:
    prompt = "Use {model} in {cwd}; {prompt} \\1 \\g<0> $HOME `id`"
    assert value(start(user.pk, prompt=prompt, model="large"))["output"] == prompt


def test_model_folder_and_session_are_filled_in(user: User, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    show = "import os, sys; print(*sys.argv[1:], os.getcwd(), sep='|')"
    settings.WAKEFUL_AGENT_ADAPTERS = {"show": python(show, "--model={model}", "{cwd}", "{session}")}
    found = value(start(user.pk, adapter="show", model="large", workspace=str(tmp_path), cwd="sub"))
    folder = str((tmp_path / "sub").resolve())
    assert found["output"] == f"--model=large|{folder}|{found['sessionId']}|{folder}"


def test_an_adapter_without_the_placeholder_reads_the_prompt(user: User, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"reader": python("import sys; print(sys.stdin.read()[::-1])")}
    assert value(start(user.pk, adapter="reader", prompt="abc" * 100_000))["output"].endswith("cba")


def test_characters_that_no_argument_can_hold_are_replaced_and_the_log_keeps_them(user: User) -> None:
    found = value(start(user.pk, prompt="a\0b\ud800c"))
    assert found["output"] == "a\ufffdb\ufffdc"
    assert read(found["sessionId"])[2].data["text"] == "a\0b\ud800c"


def test_without_a_workspace_it_runs_in_an_empty_folder_that_is_gone_afterwards(user: User, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"where": python("import os; print(os.getcwd(), os.listdir())")}
    folder, _, listed = value(start(user.pk, adapter="where"))["output"].rpartition(" ")
    assert listed == "[]"
    assert not Path(folder).exists()


@pytest.mark.parametrize("cwd", ["..", "/", "link", "missing", "file", "a\ud800"])
def test_it_runs_in_a_folder_of_its_workspace_or_not_at_all(user: User, tmp_path: Path, cwd: str) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path)
    (workspace / "file").touch()
    result = start(user.pk, workspace=str(workspace), cwd=cwd)
    assert not result.ok
    assert not Session.objects.exists()


def test_a_folder_without_a_workspace_is_refused(user: User) -> None:
    result = start(user.pk, cwd="anywhere")
    assert (result.ok, "leave cwd out" in result.summary) == (False, True)


def test_an_unknown_adapter_is_refused_with_those_there_are(user: User, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"echo": ECHO, "broken": {"command": []}}
    for name in ("nobody", "broken"):
        result = start(user.pk, adapter=name)
        assert not result.ok
        assert "there are: broken, echo" in result.summary
    assert not Session.objects.exists()


def test_a_program_that_is_not_there_fails_the_turn(user: User, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"gone": {"command": ["/no/such/program"]}}
    result = start(user.pk, adapter="gone")
    assert (result.ok, result.summary) == (False, "The program of the adapter gone cannot be started.")
    assert "turn/end failed" in told(value(result)["sessionId"])


def test_its_environment_is_small_and_reaches_its_session(
    user: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    monkeypatch.setenv("WAKEFUL_VAULT_KEY", "secret")
    settings.WAKEFUL_URL = "http://wakeful.example:8000"
    settings.WAKEFUL_AGENT_ADAPTERS = {
        "env": python("import json, os; print(json.dumps(dict(os.environ)))", env={"MY_KEY": "mine"})
    }
    found = value(start(user.pk, adapter="env"))
    shown = json.loads(found["output"])
    assert shown["MY_KEY"] == "mine"
    assert (shown["WAKEFUL_URL"], shown["WAKEFUL_SESSION"]) == ("http://wakeful.example:8000", found["sessionId"])
    assert "secret" not in found["output"]
    assert "SECRET_KEY" not in shown


def test_its_token_stands_in_no_log_and_no_result(user: User, settings: Any, tmp_path: Path) -> None:
    program = "import os; t = os.environ['WAKEFUL_TOKEN']; open('token', 'w').write(t); print('It is', t)"
    settings.WAKEFUL_AGENT_ADAPTERS = {"leaky": python(program)}
    found = value(start(user.pk, adapter="leaky", workspace=str(tmp_path)))
    secret = (tmp_path / "token").read_text()
    assert secret.startswith("wkf_")
    assert found["output"] == "It is [WAKEFUL_TOKEN]"
    assert secret not in str(read(found["sessionId"]))


def test_one_that_is_cancelled_is_ended_and_its_session_closed(user: User, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"slow": python("import time; time.sleep(600)")}
    cancelled = threading.Event()
    with when_a_turn_begins(lambda session_id: cancelled.set()):
        result = start(user.pk, adapter="slow", cancelled=cancelled)
    assert not result.ok
    assert told(value(result)["sessionId"])[-2:] == ["turn/end aborted", "session/closed closed"]
    assert not AgentSession.objects.exists()


def test_a_user_at_the_limit_gets_no_session_and_leaves_nothing(user: User, settings: Any) -> None:
    settings.WAKEFUL_MAX_SESSIONS = 0
    result = start(user.pk)
    assert (result.ok, result.summary) == (False, "A user can have 0 sessions.")
    assert not AgentSession.objects.exists()


@pytest.mark.parametrize(
    ("inputs", "path"),
    [
        ({"prompt": "p"}, "inputs"),
        ({"adapter": "echo"}, "inputs"),
        ({"adapter": "echo", "prompt": ""}, "prompt"),
        ({"adapter": "echo", "prompt": "p", "wait": True}, "inputs"),
        ({"adapter": "echo", "prompt": "p", "title": "a\0b"}, "title"),
        ({"adapter": "echo", "prompt": "p", "timeout_seconds": 0}, "timeout_seconds"),
        ({"adapter": "echo", "prompt": "p", "timeout_seconds": 3601}, "timeout_seconds"),
        ({"adapter": "echo", "prompt": "p", "metadata": []}, "metadata"),
        ({"adapter": "echo", "prompt": "p", "origin": "r" * 129}, "origin"),
    ],
)
def test_inputs_are_checked_by_its_schema(inputs: dict[str, Any], path: str) -> None:
    problem = agent_start.problem(inputs)
    assert problem is not None
    assert problem.startswith(f"{path}: ")
