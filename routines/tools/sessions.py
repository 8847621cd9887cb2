"""The tools that reach into a live session: the three of its reminders, and `session_prompt`.

They reach the sessions of the user who fires, and no others.
"""

from collections.abc import Callable
from typing import Any

from routines.tools import registry
from routines.tools.registry import Call, Result
from schedules import tools, transaction, turns
from schedules.domain import toolbox
from schedules.sessions import log
from schedules.sessions.errors import Refusal
from schedules.sessions.lossless import Json

_CATALOGUE: dict[str, Any] = {str(one["name"]): one for one in toolbox.TOOLS}
_SESSION_ID = {
    "type": "string",
    "pattern": "^[A-Za-z0-9._:-]{1,128}$",
    "description": "The live session, one of the user's own.",
}


def _described(name: str) -> str:
    return f"In the session of that id: {_CATALOGUE[name]['description']}"


def _inputs(name: str) -> dict[str, Any]:
    """The inputs of a session's own tool, and which session."""
    own = _CATALOGUE[name]["inputSchema"]
    return {
        **own,
        "properties": {"session_id": _SESSION_ID, **own["properties"]},
        "required": ["session_id", *own["required"]],
    }


@registry.tool(
    name="schedule_create", description=_described("schedule_create"), inputs=_inputs("schedule_create"), seconds=60
)
def schedule_create(call: Call, inputs: dict[str, Any]) -> Result:
    """The value is the view of the new reminder."""
    return _answer(call, inputs, tools.create, lambda value: f"{value['id']} comes at {value['scheduledAt']}.")


@registry.tool(
    name="schedule_list", description=_described("schedule_list"), inputs=_inputs("schedule_list"), seconds=60
)
def schedule_list(call: Call, inputs: dict[str, Any]) -> Result:
    """The value is the views of the active reminders."""
    return _answer(call, inputs, tools.list_, lambda value: f"The session has {len(value)} active reminders.")


@registry.tool(
    name="schedule_delete", description=_described("schedule_delete"), inputs=_inputs("schedule_delete"), seconds=60
)
def schedule_delete(call: Call, inputs: dict[str, Any]) -> Result:
    """The value says whether the reminder was there; that it was not is no failure."""

    def summary(value: Any) -> str:
        return f"{value['id']} is deleted." if value["deleted"] else "There was no active reminder of that id."

    return _answer(call, inputs, tools.delete, summary)


@registry.tool(
    name="session_prompt",
    description="Put a prompt to a live session: its host gets it as the next turn. A busy session is left alone.",
    inputs={
        "type": "object",
        "additionalProperties": False,
        "required": ["session_id", "prompt"],
        "properties": {
            "session_id": _SESSION_ID,
            "prompt": {"type": "string", "minLength": 1, "description": "What the host gets, as it is."},
        },
    },
    seconds=60,
)
def session_prompt(call: Call, inputs: dict[str, Any]) -> Result:
    """The value is `{sessionId, followupId}`; skipped where a turn is open or a follow-up waits."""
    session_id = inputs["session_id"]
    try:
        _own(call, session_id)
        followup_id = turns.queue_prompt(session_id, inputs["prompt"])
    except Refusal as refusal:
        return Result(ok=False, summary=refusal.message)
    if followup_id is None:
        return Result(ok=True, skipped=True, summary="The session is busy, so the prompt was not put to it.")
    return Result(
        ok=True,
        summary="The prompt waits for the session's host.",
        value={"sessionId": session_id, "followupId": followup_id},
    )


def _answer(
    call: Call,
    inputs: dict[str, Any],
    tool: Callable[[str, Json], tools.Answer],
    summary: Callable[[Any], str],
) -> Result:
    arguments = {name: value for name, value in inputs.items() if name != "session_id"}
    try:
        _own(call, inputs["session_id"])
        answer = tool(inputs["session_id"], arguments)
    except Refusal as refusal:
        return Result(ok=False, summary=refusal.message)
    value: Any = answer.value
    if answer.code is not None:
        return Result(ok=False, summary=value["message"], value=value)
    return Result(ok=True, summary=summary(value), value=value)


def _own(call: Call, session_id: str) -> None:
    """Refuse a session that is not there or another's, in the same words."""
    with transaction.asking():
        header = log.header(session_id)
    # A session keeps its owner for good, so that this holds for the call that follows.
    if header is None or header.owner_id != call.user_id:
        raise Refusal("not_found", "There is no such session.")
