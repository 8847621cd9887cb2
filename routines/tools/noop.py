"""`lifecycle_noop`: does nothing, well. For routines that only fire events, and to try a schedule out."""

from typing import Any

from routines.tools import registry
from routines.tools.registry import Call, Result


@registry.tool(
    name="lifecycle_noop",
    description="Do nothing but be recorded; any inputs come back as the value.",
    inputs={"type": "object"},
    seconds=5,
)
def lifecycle_noop(call: Call, inputs: dict[str, Any]) -> Result:
    """The inputs, as they are."""
    return Result(ok=True, summary="Nothing to do.", value=inputs)
