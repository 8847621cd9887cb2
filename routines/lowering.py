"""From a routine's target to the one form that is called: a tool's name and its inputs (AIP-41, lowering)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from routines.domain import dispatchable, jsonvalues, manifest, placeholders
from routines.domain.jsonvalues import Frozen
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

AGENT_START = "agent_start"
WORKFLOW_RUN_FILE = "workflow_run_file"


class Unlowerable(ValueError):
    """A target that cannot be called as it stands; the message says why and what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A call, ready to be made.

    tool: the tool's name.
    inputs: its inputs, every placeholder filled.
    secrets: what of them came from the vault.
    """

    tool: str
    inputs: dict[str, Json]
    secrets: frozenset[str]


def tool_of(target: manifest.Target) -> str:
    """The name of the tool that a target calls. Raises Unlowerable where this runtime does not dispatch it."""
    if (fault := dispatchable.undispatchable(target)) is not None:
        raise Unlowerable(fault.message)
    match target:
        case manifest.ToolTarget():
            return target.tool
        case manifest.AgentTarget():
            return AGENT_START
        case manifest.WorkflowTarget():
            return WORKFLOW_RUN_FILE
        case manifest.ActionTarget():
            raise Unlowerable("Actions are not dispatched by this runtime.")
        case _:
            assert_never(target)


def unfilled(routine: manifest.Routine, workspace: str | None) -> dict[str, Frozen]:
    """The inputs of the tool that a target calls, placeholders and all. Raises Unlowerable.

    workspace: the real path of the routine's own workspace; None where it has none.
    """
    target = routine.target
    if (fault := dispatchable.undispatchable(target)) is not None:
        raise Unlowerable(fault.message)
    match target:
        case manifest.ToolTarget():
            return dict(target.inputs)
        case manifest.AgentTarget():
            # Nobody waits for the agent beyond its first turn, whatever the manifest says.
            options = {name: value for name, value in target.options.items() if name != "wait"}
            origin: dict[str, Frozen] = {"origin": f"routine:{routine.id}"}
            return {"adapter": target.adapter, "prompt": target.prompt, **origin, **options}
        case manifest.WorkflowTarget():
            return _workflow(target, workspace)
        case manifest.ActionTarget():
            raise Unlowerable("Actions are not dispatched by this runtime.")
        case _:
            assert_never(target)


def lower(routine: manifest.Routine, workspace: str | None, context: placeholders.Context) -> Lowered:
    """The call that a firing makes. Raises Unlowerable, and `placeholders.Unfilled` where a value is not there."""
    filled = placeholders.fill(unfilled(routine, workspace), context)
    if not isinstance(filled.value, dict):
        raise Unlowerable("The inputs of a target are an object.")
    return Lowered(tool=tool_of(routine.target), inputs=filled.value, secrets=filled.secrets)


def within(workspace: str, path: str) -> str:
    """The real path of a file of a workspace, which need not be there. Raises Unlowerable where it leads out of it.

    A relative path is taken from the workspace; neither `..` nor a symbolic link may leave it.
    """
    if "\0" in path or not lossless.is_unicode(path):
        raise Unlowerable("A path holds no U+0000 and no lone surrogate; write whole characters.")
    root = os.path.realpath(workspace)
    real = os.path.realpath(os.path.join(root, path))
    if real != root and not real.startswith(os.path.join(root, "")):
        raise Unlowerable(f"The path {path} leads out of the routine's workspace; name a file inside it.")
    return real


def _workflow(target: manifest.WorkflowTarget, workspace: str | None) -> dict[str, Frozen]:
    path = target.workflow
    if not isinstance(path, str):
        raise Unlowerable("A workflow is named by the path of its file; write workflow: {file: PATH}.")
    if workspace is None:
        raise Unlowerable("A workflow's file lies in the routine's workspace, and this routine has none.")
    file = within(workspace, path)
    if not Path(file).is_file():
        raise Unlowerable(f"There is no workflow file {path} in the routine's workspace.")
    given: Mapping[str, Frozen] = target.inputs
    return {
        "path": file,
        "input": jsonvalues.freeze_object({"repoRoot": os.path.realpath(workspace), **jsonvalues.thaw_object(given)}),
        "cwd": os.path.realpath(workspace),
    }
