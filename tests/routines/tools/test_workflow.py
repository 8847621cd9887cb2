"""`workflow_run_file`: a file of the workspace, checked as a whole before its first step, then run by other tools."""

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import routines
from routines import lowering
from routines.domain import limits, parse, placeholders
from routines.tools import noop, registry, workflow
from routines.tools.registry import Call, Result, Tool
from schedules.sessions.lossless import Json
from tests.routines.workflow.texts import text, tool_step

EXAMPLES = Path(routines.__file__).parent / "examples"


def echo(call: Call, inputs: dict[str, Any]) -> Result:
    return Result(ok=True, summary="", value={"inputs": inputs, "seconds": call.seconds})


def made(name: str, function: registry.Function = echo, **properties: Any) -> Tool:
    """A tool of that name, whose inputs are these."""
    inputs = {"type": "object", "additionalProperties": not properties, "properties": properties}
    return registry.tool(name=name, description="For the tests.", inputs=inputs)(function)


class Host:
    """A workspace, and the tools that its routines may call."""

    def __init__(self, workspace: Path, *tools: Tool, allowed: Mapping[str, bool] | None = None) -> None:
        self.tools = {tool.name: tool for tool in (noop.lifecycle_noop, *tools)}
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.call = Call(
            now=0,
            seconds=60,
            user_id=1,
            origin="routine:x",
            run_id="run",
            workspace=str(workspace),
            invoke=self.invoke,
            allowed=lambda name: (allowed or {}).get(name, True),
        )

    def invoke(self, name: str, inputs: Mapping[str, Json], *, seconds: float, cancelled: threading.Event) -> Result:
        self.called.append((name, dict(inputs)))
        tool = self.tools[name]
        if (words := tool.problem(dict(inputs))) is not None:
            return Result(ok=False, summary=words)
        return tool.run(replace(self.call, seconds=seconds, cancelled=cancelled), dict(inputs))

    def run(self, path: str = "WORKFLOW.md", **inputs: Any) -> Result:
        return workflow.run_file(self.call, {"path": path, **inputs}, self.tools.get)


def write(workspace: Path, listed: str, *more: str, inputs: str = "{type: object}") -> None:
    (workspace / "WORKFLOW.md").write_text(text(listed, *more).replace("inputs: {type: object}", f"inputs: {inputs}"))


def test_the_registry_takes_it_as_a_tool() -> None:
    assert workflow.workflow_run_file.name == "workflow_run_file"
    assert workflow.workflow_run_file.problem({"path": "a", "input": {}, "cwd": "b"}) is None
    assert workflow.workflow_run_file.problem({"input": {}}) is not None


def test_a_workflow_of_the_workspace_runs_and_its_output_is_the_value(tmp_path: Path) -> None:
    write(tmp_path, tool_step("one", "lifecycle_noop", inputs="{a: $input.a}"), "result: {b: $steps.one.a}")
    result = Host(tmp_path).run(input={"a": [1]})
    assert (result.ok, result.summary, result.value) == (True, "1 step, completed", {"b": [1]})


def test_a_failed_step_is_named_and_its_class_passed_on(tmp_path: Path) -> None:
    bad = made("bad", lambda call, inputs: Result(ok=False, summary="It is slow.", failure="timeout"))
    write(tmp_path, tool_step("build", "bad"))
    result = Host(tmp_path, bad).run()
    assert (result.ok, result.summary, result.failure) == (False, "step build: It is slow.", "timeout")


def test_what_a_called_tool_breaks_on_is_a_failed_step(tmp_path: Path) -> None:
    write(tmp_path, tool_step("one", "strict", inputs="{a: $input.a}"))
    result = Host(tmp_path, made("strict", a={"type": "integer"})).run(input={"a": "x"})
    assert (result.ok, result.summary) == (False, "step one: a: 'x' is not of type 'integer'")


def test_a_skipped_step_and_an_unfit_output_are_told(tmp_path: Path) -> None:
    busy = made("busy", lambda call, inputs: Result(ok=True, summary="Busy.", skipped=True))
    write(tmp_path, tool_step("one", "busy") + tool_step("two", "busy"))
    result = Host(tmp_path, busy).run()
    assert result.ok
    assert not result.skipped
    assert result.summary.startswith("2 steps, completed, 2 with nothing to do; the output is not what outputs says:")


def test_a_tool_is_given_the_time_and_the_event_of_its_step(tmp_path: Path) -> None:
    write(tmp_path, tool_step("one", "echo", timeout_ms="2000"))
    result = Host(tmp_path, made("echo")).run()
    assert isinstance(result.value, dict)
    assert 0 < result.value["seconds"] <= 2  # type: ignore[operator]


def test_all_that_stands_against_a_run_is_told_before_its_first_step(tmp_path: Path) -> None:
    steps = (
        tool_step("ok", "lifecycle_noop")
        + tool_step("unknown", "nowhere")
        + tool_step("denied", "secret")
        + tool_step("jobs", "cron_create")
        + tool_step("again", "workflow_run_file")
        + tool_step("wrong", "strict", inputs="{a: x}")
    )
    write(tmp_path, steps, "requires: {tools: [elsewhere]}", inputs="{required: [n]}")
    host = Host(tmp_path, made("secret"), made("strict", a={"type": "integer"}), allowed={"secret": False})
    result = host.run()
    assert not result.ok
    assert host.called == []
    assert result.summary.startswith("Nothing was run. ")
    for words in (
        "requires: This host has no tool elsewhere",
        "step unknown: This host has no tool nowhere",
        "step denied: The identity that fires may not use secret",
        "step jobs: cron_create creates, fires or deletes jobs",
        "step again: A workflow calls no other here",
        "step wrong: a: 'x' is not of type 'integer'",
        "The input does not fit: 'n' is a required property",
    ):
        assert words in result.summary


def test_every_fault_of_the_file_is_told_and_nothing_runs(tmp_path: Path) -> None:
    write(tmp_path, tool_step("one", "lifecycle_noop", next="two") + "- {id: three, kind: loop}\n", "entry: a.ts")
    host = Host(tmp_path)
    result = host.run()
    assert not result.ok
    assert host.called == []
    assert "line 12: No step of this list" in result.summary
    assert "line 13: Steps of the kind loop" in result.summary
    assert "line 15: No code beside the file" in result.summary


def test_the_input_is_checked_and_filled_up_by_what_the_workflow_declares(tmp_path: Path) -> None:
    inputs = "{additionalProperties: false, properties: {n: {type: integer}, more: {default: 5}}}"
    write(tmp_path, tool_step("one", "lifecycle_noop", inputs="{n: $input.n, more: $input.more}"), inputs=inputs)
    host = Host(tmp_path)
    assert host.run(input={"n": 1}).value == {"n": 1, "more": 5}
    assert (
        host.run(input={"n": "1"}).summary == "Nothing was run. The input does not fit: n: '1' is not of type 'integer'"
    )
    assert not host.run(input={"n": 1, "x": 2}).ok


def test_what_the_lowering_adds_to_every_input_needs_no_declaration(tmp_path: Path) -> None:
    write(tmp_path, tool_step("one", "lifecycle_noop"), inputs="{additionalProperties: false, properties: {n: {}}}")
    assert Host(tmp_path).run(input={"n": 1, "repoRoot": str(tmp_path)}).ok


def test_tools_run_in_the_folder_of_the_run_where_their_step_names_none(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "other").mkdir()
    program = made("program", cwd={"type": "string"})
    write(tmp_path, tool_step("one", "program") + tool_step("two", "program", inputs="{cwd: other}"))
    host = Host(tmp_path, program, made("echo"))
    assert host.run(cwd="part").ok
    assert host.called == [("program", {"cwd": str(tmp_path / "part")}), ("program", {"cwd": "other"})]
    assert host.run(cwd="nowhere").summary == "Nothing was run. There is no folder nowhere in the routine's workspace."
    assert "leads out" in host.run(cwd="..").summary


@pytest.mark.parametrize("path", ["../outside.md", "link.md", "linked/outside.md", "/etc/passwd", "a/../../outside.md"])
def test_a_path_that_leads_out_of_the_workspace_is_refused(tmp_path: Path, path: str) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "outside.md").write_text(text(tool_step("one", "lifecycle_noop")))
    (workspace / "link.md").symlink_to(tmp_path / "outside.md")
    (workspace / "linked").symlink_to(tmp_path)
    host = Host(workspace)
    result = host.run(path)
    assert not result.ok
    assert "leads out of the routine's workspace" in result.summary
    assert host.called == []


def test_a_path_may_be_absolute_or_a_link_inside_the_workspace(tmp_path: Path) -> None:
    write(tmp_path, tool_step("one", "lifecycle_noop"))
    (tmp_path / "link.md").symlink_to(tmp_path / "WORKFLOW.md")
    host = Host(tmp_path)
    assert host.run(str(tmp_path / "WORKFLOW.md")).ok
    assert host.run("link.md").ok


def test_what_is_no_file_that_can_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    host = Host(tmp_path)
    for path in ("folder", "pipe", "nowhere.md", "x" * 300):
        assert host.run(path).summary.startswith("Nothing was run. There is no workflow file")
    for path in ("a\0b", "a\ud800b"):
        assert host.run(path).summary.startswith("Nothing was run. A path holds no U+0000")


def test_a_file_over_256_kib_or_not_in_utf_8_is_refused(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (tmp_path / "WORKFLOW.md").write_bytes(b"---\n" + b"#" * limits.MAX_BYTES)
    assert host.run().summary == f"Nothing was run. {limits.TOO_LARGE}"
    (tmp_path / "WORKFLOW.md").write_bytes(b"---\nname: \xff\n---\n")
    assert "not UTF-8" in host.run().summary


def test_without_a_workspace_there_is_no_file_to_run(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.call = replace(host.call, workspace=None)
    assert not host.run().ok


def test_a_cancelled_call_runs_no_step(tmp_path: Path) -> None:
    write(tmp_path, tool_step("one", "lifecycle_noop"))
    host = Host(tmp_path)
    host.call.cancelled.set()
    assert host.run().summary == "step one: the run was cancelled before it"
    assert host.called == []


@pytest.mark.parametrize(
    ("name", "log", "called"),
    [
        ("monthly-review", "a1 Mend the door\n", ["agent_start"]),
        ("monthly-review", "", ["lifecycle_noop"]),
        ("release-notes", "a1 Mend the door\n", ["command_execute", "command_execute", "agent_start"]),
    ],
)
def test_the_workflows_of_the_example_routines_run(name: str, log: str, called: list[str]) -> None:
    host = Host(
        EXAMPLES,
        made("command_execute", lambda call, inputs: Result(ok=True, summary="", value={"exitCode": 0, "output": log})),
        made("worktree_gc", lambda call, inputs: Result(ok=True, summary="", value={"plan": [], "removed": []})),
        made("agent_start", lambda call, inputs: Result(ok=True, summary="", value={"sessionId": "s", "output": ""})),
    )
    routine = parse.parse_routine((EXAMPLES / name / "ROUTINE.md").read_text("utf-8"))
    fired = placeholders.Context(
        now=0, routine_id=name, run_id="run", scheduled_for=0, event=None, vault=lambda secret: f"the {secret}"
    )
    lowered = lowering.lower(routine, str(EXAMPLES), fired)
    assert workflow.workflow_run_file.problem(lowered.inputs) is None
    result = workflow.run_file(host.call, lowered.inputs, host.tools.get)
    assert result.ok, result.summary
    assert result.summary.endswith("steps, completed")
    assert [tool for tool, _ in host.called][-len(called) :] == called
