"""A call of a tool, as a routine's run makes it."""

import threading
from pathlib import Path
from typing import Any

from routines.tools.registry import Call, Result, Tool
from tests.conftest import START


def call(
    tool: Tool,
    *,
    user_id: int = 0,
    workspace: Path | None = None,
    seconds: float | None = None,
    cancelled: threading.Event | None = None,
    **inputs: Any,
) -> Result:
    """What the tool answers to inputs that its schema takes."""
    made = Call(
        now=START,
        seconds=tool.seconds if seconds is None else seconds,
        user_id=user_id,
        origin="routine:tidy",
        run_id="run-1",
        workspace=None if workspace is None else str(workspace.resolve()),
        cancelled=cancelled or threading.Event(),
        invoke=lambda name, given: Result(ok=False, summary="This call calls no other."),
    )
    assert tool.problem(inputs) is None
    return tool.run(made, inputs)
