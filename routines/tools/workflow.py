"""`workflow_run_file`: runs the steps of a WORKFLOW.md (AIP-15) of the routine's workspace."""

import os
import stat
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import connection

from routines import lowering
from routines.domain import dispatchable, errors, frontmatter, jsonvalues, limits
from routines.tools import registry
from routines.tools.registry import Call, Result, Tool
from routines.workflow import parse, references, run, schemas, stepfields, steps
from schedules.sessions.lossless import Json

NAME = "workflow_run_file"
Find = Callable[[str], Tool | None]

#: What the lowering of a routine adds to its input, whether the workflow asks for it or not.
_ADDED = "repoRoot"

INPUTS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["path"],
    "properties": {
        "path": {
            "type": "string",
            "minLength": 1,
            "maxLength": 4096,
            "description": "The workflow's file, in the routine's workspace.",
        },
        "input": {"type": "object", "description": "What the workflow reads as $input."},
        "cwd": {
            "type": "string",
            "minLength": 1,
            "maxLength": 4096,
            "description": "The folder of the workspace in which its tools run, where a step names none.",
        },
    },
}


@registry.tool(
    name=NAME,
    description="Run a workflow, a file with steps that call other tools.",
    inputs=INPUTS,
    seconds=stepfields.MOST_MS / 1000,
)
def workflow_run_file(call: Call, inputs: dict[str, Any]) -> Result:
    """Good where the workflow came to its end; the value is its output."""
    return run_file(call, inputs, registry.find)


def run_file(call: Call, inputs: Mapping[str, Any], find: Find) -> Result:
    """What the tool does, with the tools that ``find`` knows."""
    if call.workspace is None:
        return _refused("A workflow's file lies in the routine's workspace, and this one has none.")
    try:
        cwd = _folder(call.workspace, inputs["cwd"]) if "cwd" in inputs else None
        workflow = read(call.workspace, inputs["path"])
    except lowering.Unlowerable as problem:
        return _refused(str(problem))
    except errors.Invalid as invalid:
        return _refused("; ".join(errors.describe(fault) for fault in invalid.faults if not fault.warning))
    given = schemas.with_defaults(workflow.inputs, inputs.get("input", {}))
    problems = [*refusals(workflow, find, call.allowed, cwd)]
    if (words := _misfit(workflow, given)) is not None:
        problems.append(f"The input does not fit: {words}")
    if problems:
        return _refused("; ".join(problems))

    outcome = run.run(
        workflow, given, _Tools(told=call, find=find, cwd=cwd), seconds=call.seconds, cancelled=call.cancelled
    )
    if not outcome.ok:
        return Result(ok=False, summary=outcome.words, failure=outcome.failure)
    return Result(ok=True, summary=_summary(workflow, outcome), value=outcome.value)


def read(workspace: str, path: str) -> steps.Workflow:
    """The workflow of a file of a workspace. Raises `lowering.Unlowerable` and `errors.Invalid`."""
    return parse.parse_workflow(frontmatter.decode(_bytes(lowering.within(workspace, path), path)))


def refusals(workflow: steps.Workflow, find: Find, allowed: Callable[[str], bool], cwd: str | None = None) -> list[str]:
    """Why a host does not run a workflow for an identity, a line for each reason; none where it may start."""
    found = [f"requires: {words}" for name in workflow.tools if (words := _barred(name, find, allowed)) is not None]
    for step in steps.tool_steps(workflow.steps):
        words = _barred(step.tool, find, allowed)
        tool = find(step.tool)
        if words is None and tool is not None and not any(references.within(step.inputs)):
            words = tool.problem(_placed(tool, jsonvalues.thaw_object(step.inputs), cwd))
        if words is not None:
            found.append(f"step {step.id}: {words}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tools:
    """What the steps of one run may call.

    told: what the workflow's own tool was told.
    find: the tools of the host.
    cwd: the folder of the run; None where none was named.
    """

    told: Call
    find: Find
    cwd: str | None

    def seconds(self, name: str) -> float:
        tool = self.find(name)
        return self.told.seconds if tool is None else tool.seconds

    def call(self, name: str, inputs: dict[str, Json], seconds: float, cancelled: threading.Event) -> run.Answer:
        try:
            placed = _placed(self.find(name), inputs, self.cwd)
            result = self.told.invoke(name, placed, seconds=seconds, cancelled=cancelled)
        finally:
            # Each call has a thread of its own, and so has its connection.
            connection.close()
        return run.Answer(
            ok=result.ok,
            summary=result.summary,
            value=result.value,
            failure=result.failure,
            skipped=result.skipped,
        )


def _barred(name: str, find: Find, allowed: Callable[[str], bool]) -> str | None:
    """Why a step may not call a tool; None where it may."""
    if dispatchable.is_self_scheduling(name):
        return f"{name} creates, fires or deletes jobs, which no routine may; call the tool that does the work."
    if name == NAME:
        return "A workflow calls no other here; write the other's steps into this one."
    if find(name) is None:
        return f"This host has no tool {name}; name one that it has."
    if not allowed(name):
        return f"The identity that fires may not use {name}; grant it in WAKEFUL_IDENTITIES."
    return None


def _misfit(workflow: steps.Workflow, given: dict[str, Json]) -> str | None:
    """What is wrong with an input; None where it fits, with or without what the lowering added."""
    words = schemas.problem(workflow.inputs, given)
    if words is None or _ADDED not in given:
        return words
    own: dict[str, Json] = {name: value for name, value in given.items() if name != _ADDED}
    return None if schemas.problem(workflow.inputs, own) is None else words


def _placed(tool: Tool | None, inputs: dict[str, Json], cwd: str | None) -> dict[str, Json]:
    """A tool's inputs, with the folder of the run where it takes one and the step names none."""
    takes = tool is not None and "cwd" in tool.inputs.get("properties", {})
    return {"cwd": cwd, **inputs} if takes and cwd is not None else inputs


def _folder(workspace: str, path: str) -> str:
    real = lowering.within(workspace, path)
    if not os.path.isdir(real):
        raise lowering.Unlowerable(f"There is no folder {path} in the routine's workspace.")
    return real


def _bytes(real: str, path: str) -> bytes:
    """A file's bytes, one more than are taken at the most. Raises `lowering.Unlowerable`."""
    with suppress(OSError, ValueError):
        # Not waiting for a writer where it is a pipe, and not by a link that was put there a moment ago.
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as opened:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return opened.read(limits.MAX_BYTES + 1)
    raise lowering.Unlowerable(f"There is no workflow file {path} in the routine's workspace that can be read.")


def _summary(workflow: steps.Workflow, outcome: run.Outcome) -> str:
    words = f"{outcome.ran:,} step{'' if outcome.ran == 1 else 's'}, completed"
    if outcome.skipped:
        words += f", {outcome.skipped:,} with nothing to do"
    if (misfit := schemas.problem(workflow.outputs, outcome.value)) is not None:
        words += f"; the output is not what outputs says: {misfit}"
    return words


def _refused(words: str) -> Result:
    return Result(ok=False, summary=f"Nothing was run. {words}")
