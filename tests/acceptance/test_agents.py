"""Agents as real programs that reach a real server: they make their own reminders and are woken by them."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.processes import Server, Worker, until

# An agent: the first time it asks to be woken, then it says that it was. It notes whom it may not call.
AGENT = """
import json, os, sys, time, urllib.error, urllib.request
def call(path, body):
    request = urllib.request.Request(
        os.environ["WAKEFUL_URL"] + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["WAKEFUL_TOKEN"]},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
mine = "/sessions/" + os.environ["WAKEFUL_SESSION"]
if "SCHEDULE REMINDER" in sys.argv[1]:
    folder = os.path.dirname(__file__)
    if os.path.exists(folder + "/hang"):
        open(folder + "/hanging", "w").write(str(os.getpid()))
        time.sleep(600)
    print("I was woken.")
else:
    made = call(mine + "/tools/schedule_create", {"prompt": "Wake up.", "after_seconds": 1})
    seen = [session["id"] for session in call("/sessions", None)[1]["results"]]
    refused = [call("/sessions/other", None)[0], call(mine + "/fork", {})[0], call("/sessions", {})[0]]
    print(json.dumps({"made": made, "seen": seen, "refused": refused}))
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with the agent's program in it."""
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


@contextmanager
def working(job: str, *arguments: Any, server: Server, workspace: Path, clock: Path | None = None) -> Iterator[Worker]:
    """A process beside the server's that does an agent's job."""
    environment = {"WAKEFUL_AGENT_ADAPTERS": adapters(workspace), "WAKEFUL_URL": server.url}
    with Worker(job, *arguments, database=server.database, clock=clock, **environment) as worker:
        yield worker.go()


def adapters(workspace: Path) -> str:
    """The setting that names the agent's program."""
    return json.dumps({"python": {"command": [sys.executable, str(workspace / "agent.py"), "{prompt}"]}})


def start(server: Server, workspace: Path) -> dict[str, Any]:
    """Start the agent; what it said of its calls, and its session's id."""
    inputs = {"adapter": "python", "prompt": "Have yourself woken."}
    with working("start_agent", inputs, server=server, workspace=workspace) as worker:
        done = worker.value()
    assert done["ok"], done
    return {"id": done["value"]["sessionId"], **json.loads(done["value"]["output"])}


def events(server: Server, session_id: str, kind: str) -> list[Any]:
    """The data of a session's events of a type."""
    found = server.api.get(f"/sessions/{session_id}/events", params={"limit": 1000}).json()["results"]
    return [event["data"] for event in found if event["type"] == kind]


def test_an_agent_makes_a_reminder_by_its_own_token_and_is_woken_by_it(fresh_database: str, workspace: Path) -> None:
    with Server(database=fresh_database, WAKEFUL_AGENT_ADAPTERS=adapters(workspace)) as server:
        server.api.post("/sessions", json={"id": "other"})
        said = start(server, workspace)
        assert said["made"][0] == 200
        assert said["made"][1]["id"] == "schedule-1"
        assert said["seen"] == [said["id"]]
        assert said["refused"] == [404, 403, 403]

        until(lambda: events(server, said["id"], "session/closed"))
        assert [message["text"] for message in events(server, said["id"], "assistant/message")][1:] == ["I was woken."]
        assert events(server, said["id"], "session/closed") == [{"reason": "closed"}]


def test_another_process_answers_for_one_that_was_killed_in_the_turn(fresh_database: str, workspace: Path) -> None:
    with Server("--no-deliver", database=fresh_database) as server:
        said = start(server, workspace)
        hang, hanging, later = workspace / "hang", workspace / "hanging", workspace / "later"
        hang.touch()
        with working("answer_agents", server=server, workspace=workspace) as worker:
            agent = int(until(lambda: hanging.read_text() if hanging.exists() else None))
            worker.send(signal.SIGKILL)
            worker.wait()
        os.kill(agent, signal.SIGKILL)
        hang.unlink()

        later.write_text("60000")
        with working("answer_agents", server=server, workspace=workspace, clock=later) as worker:
            assert worker.value() == 1
        assert [turn.get("attempt") for turn in events(server, said["id"], "turn/start")] == [None, 1, 2]
        assert [turn["outcome"] for turn in events(server, said["id"], "turn/end")] == [
            "completed",
            "interrupted",
            "completed",
        ]
