"""`agent_start`: puts a prompt to an agent, in a session of its own that it can make reminders in."""

import json
import os
from typing import Any

from routines import adapters, agentsessions, lowering
from routines.agentsessions import Answer, Task
from routines.events import DEPTH
from routines.tools import registry
from routines.tools.registry import Call, Result
from schedules.sessions import log, lossless
from schedules.sessions.errors import Refusal

# No database takes U+0000 in a column of text.
_LINE = r"^[^\u0000]*$"

INPUTS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["adapter", "prompt"],
    "properties": {
        "adapter": {
            "type": "string",
            "minLength": 1,
            "maxLength": adapters.MOST_NAME,
            "description": "The name of one in WAKEFUL_AGENT_ADAPTERS.",
        },
        "prompt": {"type": "string", "minLength": 1, "description": "What the agent is told."},
        "model": {"type": "string", "maxLength": 200, "description": "Fills the adapter's {model}."},
        "cwd": {
            "type": "string",
            "minLength": 1,
            "maxLength": 4096,
            "pattern": _LINE,
            "description": "The folder it runs in, inside the workspace; the workspace itself unless given.",
        },
        "title": {"type": "string", "maxLength": 500, "pattern": _LINE, "description": "The session's title."},
        "metadata": {"type": "object", "description": "The session's metadata; runId and depth are added."},
        "timeout_seconds": {
            "type": "integer",
            "minimum": 1,
            "maximum": adapters.MOST_SECONDS,
            "description": "How long a turn may take, if less than the adapter's own limit.",
        },
        "origin": {
            "type": "string",
            "minLength": 1,
            "maxLength": 128,
            "pattern": _LINE,
            "description": "What started the session; the routine unless given.",
        },
    },
}


@registry.tool(
    name="agent_start",
    description="Start an agent in a new session; the reminders that it makes come back to it as later turns.",
    inputs=INPUTS,
    seconds=adapters.MOST_SECONDS + agentsessions.MARGIN_SECONDS,
)
def agent_start(call: Call, inputs: dict[str, Any]) -> Result:
    """Good where the adapter exits with 0; the value is `{sessionId, exitCode, output}`."""
    adapter = adapters.find(inputs["adapter"])
    if adapter is None:
        known = ", ".join(adapters.names())
        return Result(ok=False, summary=f"There is no adapter of that name that works; there are: {known}.")
    if not all(lossless.is_unicode(inputs.get(name, "")) for name in ("cwd", "title", "origin")):
        return Result(ok=False, summary="cwd, title and origin hold no lone surrogates; write whole characters.")
    try:
        cwd = _folder(call.workspace, inputs.get("cwd"))
    except lowering.Unlowerable as problem:
        return Result(ok=False, summary=str(problem))
    made = log.Header(
        id=log.new_id(),
        owner_id=call.user_id,
        created_at=call.now,
        origin=inputs.get("origin", call.origin),
        title=inputs.get("title"),
        cwd=cwd,
        metadata=lossless.dumps({**inputs.get("metadata", {}), "runId": call.run_id, DEPTH: call.depth}),
    )
    limit = min(adapter.seconds, inputs.get("timeout_seconds", adapter.seconds), max(1, int(call.seconds)))
    task = Task(adapter=adapter.name, seconds=limit, model=inputs.get("model"), cwd=cwd)
    try:
        answer = agentsessions.start(made, task, inputs["prompt"], run_id=call.run_id, cancelled=call.cancelled)
    except Refusal as refusal:
        lost = refusal.code == "lease_lost"
        return Result(ok=False, summary="Another took the agent's session over." if lost else refusal.message)
    return Result(
        ok=answer.exit_code == 0,
        summary=_summary(adapter.name, limit, answer),
        value={"sessionId": made.id, "exitCode": answer.exit_code, "output": answer.output},
        failure="timeout" if answer.timed_out else "error",
    )


def _folder(workspace: str | None, cwd: str | None) -> str | None:
    """The real path of the folder to run in; None for one that is made for it. Raises Unlowerable."""
    if workspace is None:
        if cwd is None:
            return None
        raise lowering.Unlowerable("cwd lies inside the routine's workspace, and this call has none; leave cwd out.")
    folder = lowering.within(workspace, cwd or ".")
    if not os.path.isdir(folder):
        raise lowering.Unlowerable(f"There is no folder {json.dumps(cwd)} in the routine's workspace; make it first.")
    return folder


def _summary(adapter: str, limit: int, answer: Answer) -> str:
    if answer.timed_out:
        return f"{adapter} was ended: it took longer than {limit} s."
    if answer.cancelled:
        return f"{adapter} was ended: its answer no longer counted."
    if answer.exit_code is None:
        return answer.output
    return f"{adapter} exited with {answer.exit_code}."
