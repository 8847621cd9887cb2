"""Tools as an app would add them, for the tests of what calls tools."""

import threading
from typing import Any

from routines.tools import registry
from routines.tools.registry import Call, Result

#: Released by a test to let `test_wait` end.
GATE = threading.Event()


@registry.tool(name="test_answer", description="Answer what it is told to.", inputs={"type": "object"})
def answer(call: Call, inputs: dict[str, Any]) -> Result:
    """Whatever result the inputs describe."""
    return Result(**inputs)


@registry.tool(name="test_break", description="Break with its words.", inputs={"type": "object"})
def broken(call: Call, inputs: dict[str, Any]) -> Result:
    """Raise what no tool should."""
    raise KeyError(inputs["words"])


@registry.tool(
    name="test_strict",
    description="Take a number alone.",
    inputs={"type": "object", "properties": {"number": {"type": "integer"}}, "additionalProperties": False},
)
def strict(call: Call, inputs: dict[str, Any]) -> Result:
    """The number, as text."""
    return Result(ok=True, summary=f"number {inputs.get('number')}")


@registry.tool(name="test_hang", description="Never end by itself.", inputs={"type": "object"}, seconds=0.2)
def hang(call: Call, inputs: dict[str, Any]) -> Result:
    """Wait until it is told to end."""
    call.cancelled.wait(30)
    return Result(ok=False, summary="told to end")


@registry.tool(name="test_wait", description="Wait for the gate or the end.", inputs={"type": "object"}, seconds=30)
def wait(call: Call, inputs: dict[str, Any]) -> Result:
    """Good once the gate is open."""
    while not GATE.wait(0.01):
        if call.cancelled.is_set():
            return Result(ok=bool(inputs.get("stubborn")), summary="told to end")
    return Result(ok=True, summary="through the gate")


@registry.tool(name="test_relay", description="Call another tool.", inputs={"type": "object"})
def relay(call: Call, inputs: dict[str, Any]) -> Result:
    """Whatever that one answers."""
    return call.invoke(inputs["tool"], inputs["inputs"])
