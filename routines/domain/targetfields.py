"""Reads a manifest's `target`: exactly one of a tool, an agent, a workflow or an action."""

from collections.abc import Mapping

from routines.domain import jsonvalues, manifest, placeholders
from routines.domain.cursor import Field
from routines.domain.jsonvalues import Frozen

_KINDS = ("tool", "agent", "workflow", "action")
_WORKFLOW_FORMS: tuple[manifest.WorkflowForm, ...] = ("file", "ref", "inline")

_NAME = "a name, a string"
_WORKFLOW = "a path, or a mapping with exactly one of file, ref and inline"


def read(field: Field) -> manifest.Target:
    """The target. Notes every fault in it; the answer is a stand-in then."""
    kinds = [kind for kind in _KINDS if kind in field.mapping()]
    if len(kinds) != 1:
        field.refuse(f"{field.name} must have exactly one of {', '.join(_KINDS)}; {_count(kinds)}.")
        return manifest.ToolTarget(tool="", inputs=jsonvalues.freeze_object({}))
    if kinds == ["agent"]:
        field.record(required=("agent",))
        return _agent(field.at("agent"))
    record = field.record(required=kinds, optional=("inputs",))
    named = record.need(kinds[0])
    inputs = record.free("inputs")
    _check_placeholders(inputs, field.at("inputs"))
    if kinds == ["workflow"]:
        return _workflow(named, inputs)
    name = named.text(_NAME)
    if kinds == ["action"]:
        return manifest.ActionTarget(action=name, inputs=inputs)
    return manifest.ToolTarget(tool=name, inputs=inputs)


def _count(kinds: list[str]) -> str:
    return f"it has {' and '.join(kinds)}: keep one" if kinds else "add one"


def _agent(field: Field) -> manifest.AgentTarget:
    members = field.mapping()
    if isinstance(field.value, dict):
        for key in ("adapter", "prompt"):
            if key not in members:
                field.at(key).refuse(f"{field.name} must have {key}; add it.")
        for key in ("model", "cwd"):
            if key in members:
                field.at(key).text()
    options = {key: item for key, item in members.items() if key not in ("adapter", "prompt")}
    _check_placeholders(jsonvalues.freeze_object(members), field)
    return manifest.AgentTarget(
        adapter=field.at("adapter").text(_NAME),
        prompt=field.at("prompt").text("the text for the agent, a string"),
        options=jsonvalues.freeze_object(options),
    )


def _workflow(field: Field, inputs: Mapping[str, Frozen]) -> manifest.WorkflowTarget:
    if not isinstance(field.value, dict):
        return manifest.WorkflowTarget(form="path", workflow=field.text(_WORKFLOW), inputs=inputs)
    record = field.record(optional=_WORKFLOW_FORMS)
    forms = [form for form in _WORKFLOW_FORMS if form in field.value]
    if len(forms) != 1:
        field.refuse(f"{field.name} must be {_WORKFLOW}.")
        return manifest.WorkflowTarget(form="path", workflow="", inputs=inputs)
    form = forms[0]
    named = record.need(form)
    return manifest.WorkflowTarget(
        form=form, workflow=named.free() if form == "inline" else named.text(), inputs=inputs
    )


def _check_placeholders(value: Mapping[str, Frozen], field: Field) -> None:
    for path, message in placeholders.problems(value, field.path):
        field.findings.refuse(path, message)
