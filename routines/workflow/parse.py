"""From the text of a WORKFLOW.md (AIP-15) to a `steps.Workflow`, with all that is wrong with it at once.

What AIP-15 has and this runtime does not run is a fault that says so. Nothing is read or run here.
"""

import re

from routines.domain import errors, frontmatter, jsonvalues, manifest
from routines.domain.cursor import Field, Record
from routines.domain.findings import shown
from routines.domain.jsonvalues import Frozen
from routines.workflow import graph, schemas, stepfields
from routines.workflow.steps import Workflow
from schedules.sessions.lossless import Json

#: How many steps a run takes where the file does not say, and the most that it may say.
MAX_STEPS = 1_000
MOST_STEPS = 10_000

_REQUIRED = ("name", "id", "description", "version", "inputs", "outputs", "steps")
_OPTIONAL = (
    "start",
    "result",
    "timeout_ms",
    "max_steps",
    "retry",
    "approval",
    "triggers",
    "requires",
    "risk_level",
    "cost_class",
    "tags",
    "metadata",
    "suspendable",
)
_ELSEWHERE = {
    "entry": "No code beside the file runs here: its steps do; leave entry out.",
    "inputsFiles": "Files are not staged here; let steps read them in the workspace, and leave inputsFiles out.",
    "outputsFiles": "Files are not staged here; let steps write them in the workspace, and leave outputsFiles out.",
    "runtime": "Workflows run in this host's own process, without a runner; leave runtime out.",
}
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:[-+][A-Za-z0-9.-]+)?")
_VERSION_FORM = 'a version of three numbers in quotes, for example "1.0.0"'
_TAG = re.compile(r"[a-z][a-z0-9-]*")
_REQUIREMENTS = ("network", "fs.read", "fs.write", "env", "secrets", "tools")
_COST_CLASSES = ("trivial", "metered", "expensive")


def parse_workflow(text: str) -> Workflow:
    """The workflow that the text of a WORKFLOW.md declares. Raises `errors.Invalid`, whatever the text."""
    document = frontmatter.read(text)
    document.findings.subject = "a workflow"
    root = Field(value=document.value, path=(), findings=document.findings)
    if isinstance(document.value, dict):
        workflow = _read(root)
        if document.findings.good:
            return workflow
    else:
        root.refuse("The front matter must hold a workflow's fields, one `key: value` a line.")
    raise errors.Invalid(document.findings.faults())


def _read(root: Field) -> Workflow:
    for name, words in _ELSEWHERE.items():
        if name in root.mapping():
            root.at(name).refuse(words)
    record = root.record(required=_REQUIRED, optional=_OPTIONAL)
    _read_declarations(record)
    retry = stepfields.retry(record.get("retry"), manifest.Retry())
    steps = stepfields.read(record.need("steps"), stepfields.Reading(retry=retry))
    result = _result(record.get("result"))
    graph.check(steps, record.need("steps"), result, root.at("result"))
    start = steps[0].id if steps else ""
    if (named := record.get("start")) is not None:
        start = named.text("the id of a step, a string")
        if all(step.id != start for step in steps):
            named.refuse(f"No step of the first list has the id {shown(start)}; name one of it.")
    return Workflow(
        id=record.need("id").text(stepfields.ID_FORM, least=2, most=64, pattern=stepfields.ID),
        name=record.need("name").text("1 to 80 characters of text", most=80),
        description=record.need("description").text("1 to 2,000 characters of text", most=2_000),
        version=record.need("version").text(_VERSION_FORM, pattern=_VERSION),
        inputs=_schema(record.need("inputs")),
        outputs=_schema(record.need("outputs")),
        steps=steps,
        start=start,
        result=result,
        timeout_ms=record.integer("timeout_ms", 600_000, least=1, most=stepfields.MOST_MS),
        max_steps=record.integer("max_steps", MAX_STEPS, least=1, most=MOST_STEPS),
        tools=_requires(record.get("requires")),
    )


def _schema(field: Field) -> dict[str, Json]:
    schema = dict(field.mapping())
    if isinstance(field.value, dict) and (words := schemas.fault(schema)) is not None:
        field.refuse(words)
    return schema


def _result(field: Field | None) -> Frozen:
    if field is None:
        return None
    if not isinstance(field.value, str | dict):
        field.refuse(f"{field.name} must be a mapping of names to values and references, or one reference.")
        return None
    result = jsonvalues.freeze(field.value)
    stepfields.check_references(result, field)
    return result


def _requires(field: Field | None) -> tuple[str, ...]:
    if field is None:
        return ()
    record = field.record(optional=_REQUIREMENTS)
    named = {
        name: tuple(item.text() for item in given.items("a list of strings"))
        for name in _REQUIREMENTS
        if (given := record.get(name)) is not None
    }
    return named.get("tools", ())


def _read_declarations(record: Record) -> None:
    """Check the fields that ask nothing of a run, and note those that ask what this host cannot give."""
    record.integer("risk_level", 0, most=3)
    record.choice("cost_class", _COST_CLASSES, "metered")
    record.free("metadata")
    if (tags := record.get("tags")) is not None:
        for tag in tags.items("a list of tags"):
            tag.text("a tag of lower-case letters, digits and -, starting with a letter", pattern=_TAG)
    if (approval := record.get("approval")) is not None:
        stepfields.approval(approval)
    if record.flag("suspendable", False):
        record.field.at("suspendable").refuse("A run cannot be suspended here; leave suspendable out.")
    if (triggers := record.get("triggers")) is not None:
        for trigger in triggers.items("a list of triggers"):
            if trigger.mapping().get("kind") != "manual":
                trigger.refuse(
                    "A workflow starts by no trigger of its own here; let a ROUTINE.md target it, and leave this out."
                )
