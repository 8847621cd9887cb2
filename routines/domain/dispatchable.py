"""Why a routine gets no job, where its manifest alone shows it: valid, but not for this host or not now."""

from routines.domain import errors, manifest

# The last part of a path below /routine-defs/{id} is the verb, so an id that ends in one could not be told from it.
VERBS = frozenset({"trigger", "pause", "resume", "runs", "next"})

_SELF_SCHEDULING = ("cron_", "routine_")


def refusal(routine: manifest.Routine) -> errors.Fault | None:
    """Why it gets no job; None where nothing in it stands against one."""
    if not routine.enabled:
        return errors.Fault(
            code="routine_disabled", field="enabled", message="The routine is disabled; write enabled: true to run it."
        )
    if (words := unaddressable(routine.id)) is not None:
        return errors.Fault(code="routine_invalid", field="id", message=words)
    return undispatchable(routine.target)


def unaddressable(routine_id: str) -> str | None:
    """Why no route can name the id, in plain words; None where one can."""
    parts = routine_id.split("/")
    if "." in parts or ".." in parts:
        return "No part of an id may be . or .., because paths lose such parts; give the routine another id."
    if parts[-1] in VERBS:
        return f"The id ends in {parts[-1]}, which routes take for a verb; give the routine another id."
    return None


def is_self_scheduling(tool: str) -> bool:
    """Whether a tool creates, fires or deletes jobs: neither a routine nor a workflow of one may call it."""
    return tool.startswith(_SELF_SCHEDULING)


def undispatchable(target: manifest.Target) -> errors.Fault | None:
    """Why this runtime never fires the target; None where it may. Triggers ask this too."""
    if isinstance(target, manifest.ActionTarget):
        return _unresolvable(
            "target.action", "Actions are not dispatched by this runtime; target the tool that does the work."
        )
    if isinstance(target, manifest.WorkflowTarget) and target.form in ("ref", "inline"):
        return _unresolvable(
            f"target.workflow.{target.form}",
            f"Workflows by {target.form} are not dispatched by this runtime; save the workflow as a file of the "
            "workspace and write workflow: {file: PATH}.",
        )
    if isinstance(target, manifest.ToolTarget) and is_self_scheduling(target.tool):
        return _unresolvable(
            "target.tool",
            "A routine may not target the tools that create, fire or delete jobs (cron_*, routine_*); target the "
            "tool that does the work.",
        )
    return None


def _unresolvable(field: str, message: str) -> errors.Fault:
    return errors.Fault(code="routine_target_unresolvable", field=field, message=message)
