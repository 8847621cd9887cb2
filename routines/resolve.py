"""Whether this host can fire a routine: its target resolves here, and its identity may use the tool.

The registrar asks for every routine, a trigger for its one. Nothing is called and nothing is written.
"""

import logging
from dataclasses import dataclass

from django.conf import settings
from jsonschema.exceptions import ValidationError

from routines import identities, lowering
from routines.domain import dispatchable, errors, jsonvalues, manifest
from routines.domain.findings import shown
from routines.tools import registry
from routines.tools.registry import Tool
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)

# What these find follows from an object's keys, an array's length or a value's type, whatever its strings become.
_OF_SHAPE = frozenset(
    {
        "required",
        "additionalProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "minItems",
        "maxItems",
        "type",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """A routine whose inputs were checked.

    routine: the routine itself; kept, so that its `id()` stays its own.
    tool: the tool that takes them.
    fault: what is wrong with them; None where nothing is.
    """

    routine: manifest.Routine
    tool: Tool
    fault: errors.Fault | None


class Resolver:
    """Answers for one look at some routines: each identity is read once."""

    def __init__(self, before: "Resolver | None" = None) -> None:
        """before: the one of the look before, whose checks of inputs hold for routines that are still the same."""
        self._before = {} if before is None else before._checked
        self._checked: dict[int, _Checked] = {}
        self._denied: dict[tuple[str | None, str], str | None] = {}

    def refusal(self, routine: manifest.Routine, workspace: str | None) -> errors.Fault | None:
        """Why this host does not fire a routine; None where it does.

        `routine_target_unresolvable` for what its target names and the host has not, or for inputs that the tool does
        not take; `routine_permission_denied` for an identity without the grant. workspace: its real path.
        """
        return self.target_fault(routine, workspace) or self._identity_fault(routine)

    def target_fault(self, routine: manifest.Routine, workspace: str | None) -> errors.Fault | None:
        """The first of the two alone: for a job that a user made, who fires it too. Placeholders are not judged."""
        target = routine.target
        known = self._known(routine)
        if known is not None and isinstance(target, manifest.ToolTarget):
            return known.fault
        if (fault := dispatchable.undispatchable(target)) is not None:
            return fault
        name = lowering.tool_of(target)
        tool = registry.find(name)
        if tool is None:
            return _fault("target.tool", f"This host has no tool {shown(name)}; name one that it has, or add it.")
        if isinstance(target, manifest.AgentTarget) and not _is_adapter(target.adapter):
            return _fault(
                "target.agent.adapter",
                f"This host has no adapter {shown(target.adapter)}; name one of WAKEFUL_AGENT_ADAPTERS, or add it.",
            )
        try:
            inputs = lowering.unfilled(routine, workspace)
        except lowering.Unlowerable as error:
            return _fault("target", str(error))
        if known is None:
            words = _problem(tool, jsonvalues.thaw_object(inputs))
            fault = None if words is None else _fault("target", words)
            known = self._checked[id(routine)] = _Checked(routine=routine, tool=tool, fault=fault)
        return known.fault

    def _identity_fault(self, routine: manifest.Routine) -> errors.Fault | None:
        tool = self._checked[id(routine)].tool.name
        identity = routine.identity
        key = (identities.DEFAULT if identity is None else identity.name, tool)
        if key not in self._denied:
            granted = identities.grant(identity)
            user = None if granted is None else identities.user_of(granted)
            self._denied[key] = identities.refusal(granted, user, tool)
        if (words := self._denied[key]) is None:
            return None
        return errors.Fault(code="routine_permission_denied", field="identity", message=words)

    def _known(self, routine: manifest.Routine) -> _Checked | None:
        # By identity, since comparing routines would cost more than is saved.
        known = self._before.get(id(routine))
        if known is None or known.routine is not routine or registry.find(known.tool.name) is not known.tool:
            return None
        self._checked[id(routine)] = known
        return known


def _problem(tool: Tool, inputs: dict[str, Json]) -> str | None:
    try:
        return tool.problem(inputs, sure=_is_sure)
    except Exception:
        # A schema of an app's own that breaks must not keep other routines from being registered.
        logger.exception("the inputs of the tool %s cannot be checked", tool.name)
        return f"The inputs cannot be checked, because the schema of {tool.name} is broken; mend the tool."


def _is_sure(error: ValidationError) -> bool:
    """Whether a finding stands whatever the placeholders become."""
    if isinstance(error.instance, str) or error.validator not in _OF_SHAPE:
        return not _is_open(error.instance)
    return True


def _is_open(value: Json) -> bool:
    """Whether a placeholder, or the escape of one, stands somewhere in a value."""
    if isinstance(value, str):
        return "${{" in value
    if isinstance(value, dict):
        return any(map(_is_open, value.values()))
    return isinstance(value, list) and any(map(_is_open, value))


def _is_adapter(name: str) -> bool:
    return name in settings.WAKEFUL_AGENT_ADAPTERS or _is_open(name)


def _fault(field: str, message: str) -> errors.Fault:
    return errors.Fault(code="routine_target_unresolvable", field=field, message=message)
