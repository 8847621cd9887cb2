"""Workspaces on the disk, and a host whose tools are few and its own."""

import shutil
from pathlib import Path
from typing import Any

from routines import library
from routines.domain import rendering
from routines.tools import registry
from routines.tools.registry import Call, Result
from tests.routines.domain import texts

PATH = "tests.routines.workspaces"


@registry.tool(
    name="greet",
    description="Says hello.",
    inputs={
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 2}, "times": {"type": "integer"}},
        "required": ["name"],
        "additionalProperties": False,
    },
)
def greet(call: Call, inputs: dict[str, Any]) -> Result:
    return Result(ok=True, summary=f"Hello, {inputs['name']}.")


@registry.tool(
    name="agent_start",
    description="Stands for the built-in one.",
    inputs={
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("adapter", "prompt", "model", "origin")},
        "required": ["adapter", "prompt"],
        "additionalProperties": False,
    },
)
def agent_start(call: Call, inputs: dict[str, Any]) -> Result:
    return Result(ok=True, summary="Started.")


@registry.tool(name="workflow_run_file", description="Stands for the built-in one.", inputs={"type": "object"})
def workflow_run_file(call: Call, inputs: dict[str, Any]) -> Result:
    return Result(ok=True, summary="Run.")


@registry.tool(name="broken_schema", description="Its schema refers to nothing.", inputs={"$ref": "#/$defs/nothing"})
def broken_schema(call: Call, inputs: dict[str, Any]) -> Result:
    return Result(ok=True, summary="Never.")


def put(workspace: Path, name: str, **fields: Any) -> Path:
    """Write the manifest of a routine; its id is its folder's name unless given."""
    path = workspace / ".routines" / name / library.NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    given = texts.good(**{"id": name.rsplit("/", 1)[-1], **fields})
    path.write_text(rendering.to_text(given), encoding="utf-8")
    return path


def spoil(path: Path) -> None:
    """Leave a file as if it were half written."""
    path.write_text("---\nschema: routine/v1\nid: ", encoding="utf-8")


def remove(workspace: Path, name: str) -> None:
    """Delete a routine, folder and all."""
    shutil.rmtree(workspace / ".routines" / name)
