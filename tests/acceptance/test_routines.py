"""Routines fire through a running server: each kind of target, for real."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.processes import Process, Server, until

ROUTINE = """---
schema: routine/v1
id: {id}
description: Tried out.
schedule: {{kind: interval, every: 5s}}
target: {target}
---
"""
WORKFLOW = """---
id: greet
name: Greet
description: Greets.
version: 1.0.0
inputs: {type: object}
outputs: {type: object}
steps:
  - id: say
    kind: tool
    tool: command_execute
    inputs: {command: echo, args: ["$input.words"]}
---
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    targets = {
        "noop": "{tool: lifecycle_noop}",
        "program": "{tool: command_execute, inputs: {command: echo, args: [hello]}}",
        "agent": '{agent: {adapter: echo, prompt: "hello from ${{ routine.id }}"}}',
        "workflow": "{workflow: greet/WORKFLOW.md, inputs: {words: hello}}",
    }
    for name, target in targets.items():
        folder = tmp_path / ".routines" / name
        folder.mkdir(parents=True)
        (folder / "ROUTINE.md").write_text(ROUTINE.format(id=name, target=target))
    (tmp_path / "greet").mkdir()
    (tmp_path / "greet" / "WORKFLOW.md").write_text(WORKFLOW)
    return tmp_path


def test_a_tool_a_program_an_agent_and_a_workflow_fire_by_themselves(fresh_database: str, workspace: Path) -> None:
    environment: dict[str, Any] = {"WAKEFUL_WORKSPACES": str(workspace), "WAKEFUL_ALLOWED_COMMANDS": "echo"}

    def shown(routine: str) -> list[dict[str, str]]:
        with Process("routines", "show", routine, "--json", database=fresh_database, **environment) as command:
            assert command.wait() in (0, 1), command.errors
            runs: list[dict[str, str]] = json.loads(command.output).get("runs", [])
            return [run for run in runs if run["status"] != "running"]

    with Server(database=fresh_database, **environment) as server:
        for routine, summary in (
            ("noop", "Nothing to do."),
            ("program", "echo exited with 0."),
            ("agent", "echo exited with 0."),
            ("workflow", "1 step, completed"),
        ):
            until(lambda routine=routine: shown(routine))  # type: ignore[misc]  # the routine of this round
            run = shown(routine)[-1]
            assert (run["status"], run["trigger"], run["summary"]) == ("completed", "schedule", summary), run
        sessions = server.api.get("/sessions", params={"origin": "routine:agent"}).json()["results"]
        events = server.api.get(f"/sessions/{sessions[-1]['id']}/events").json()["results"]
        assert [event["data"]["text"] for event in events if event["type"].endswith("/message")] == [
            "hello from agent",
            "hello from agent",
        ]
        assert server.stop() == 0
