"""Reads a workflow's lists of steps, one step at a time: its kind, its fields, and what of AIP-15 does not run here."""

import re
from dataclasses import dataclass, replace

from routines.domain import manifest
from routines.domain.cursor import Field, Record
from routines.domain.findings import shown
from routines.domain.jsonvalues import Frozen
from routines.workflow import conditions, references, schemas
from routines.workflow.steps import END, BranchStep, Choice, MapStep, ParallelStep, Step, Strand, ToolStep

KINDS = ("tool", "branch", "parallel", "map")
MOST_MS = 86_400_000
#: How deep parallel and map steps may stand inside each other.
MOST_NESTED = 5

ID = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]")
ID_FORM = "2 to 64 lower-case letters, digits and -, starting with a letter and not ending with -"
_COMMON = ("name", "description", "outputs", "risk_level", "approval")
_REFERENCE_FORM = "a reference to a list, for example $input.items"

_ELSEWHERE = {
    "approval": "Nobody is there to approve a step of a routine; write approval: auto, or leave it out.",
    "compensation": "Compensations do not run here; leave it out, and undo in steps of their own.",
}
_KIND_WORDS = {
    "suspend": "A workflow cannot wait for an event here; end it, and let a routine of kind event go on.",
    "approval": "Nobody is there to approve a step of a routine; leave the step out, or end the workflow before it.",
    "loop": "Loops run as a branch step whose next is an earlier step; max_steps bounds them.",
    "subworkflow": "A workflow calls no other here; write the other's steps into this one.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What holds for a list of steps.

    retry: when a tool step is tried again that says nothing of it.
    depth: inside how many parallel and map steps it stands.
    """

    retry: manifest.Retry
    depth: int = 0


def read(field: Field, reading: Reading) -> tuple[Step, ...]:
    """The steps of a list. Notes every fault; a step at fault is there with a stand-in."""
    if reading.depth > MOST_NESTED:
        field.refuse(f"Steps are nested over {MOST_NESTED} deep; write them flatter.")
        return ()
    items = field.items("a list of steps")
    if isinstance(field.value, list) and not items:
        field.refuse(f"{field.name} must have a step at least.")
    return tuple(_step(item, reading) for item in items)


def retry(field: Field | None, default: manifest.Retry) -> manifest.Retry:
    """When a step is tried again: AIP-15's three fields."""
    if field is None:
        return default
    record = field.record(required=("max_attempts", "backoff"), optional=("initial_ms",))
    return manifest.Retry(
        max_attempts=record.need("max_attempts").integer(least=1, most=20),
        backoff=record.need("backoff").choice(("fixed", "exponential")),
        initial_ms=record.integer("initial_ms", 1_000, most=MOST_MS),
    )


def approval(field: Field) -> None:
    """Note an approval that this host cannot ask for."""
    if field.value != "auto":
        field.refuse(_ELSEWHERE["approval"])


def _step(field: Field, reading: Reading) -> Step:
    members = field.mapping()
    step_id = field.at("id").text(ID_FORM, least=2, most=64, pattern=ID) if "id" in members else ""
    kind = members.get("kind")
    stand_in = ToolStep(id=step_id, tool="", inputs={}, retry=reading.retry)
    if not isinstance(field.value, dict):
        return stand_in
    if isinstance(kind, str) and kind in _KIND_WORDS:
        field.at("kind").refuse(f"Steps of the kind {kind} do not run here. {_KIND_WORDS[kind]}")
        return stand_in
    if kind not in KINDS:
        field.at("kind").refuse(f"{field.at('kind').name} must be one of {', '.join(KINDS)}.")
        return stand_in
    if "compensation" in members:
        field.at("compensation").refuse(_ELSEWHERE["compensation"])
    if kind == "branch":
        return _branch(_record(field, ("branches",), ("default",)), step_id)
    if kind == "tool":
        return _tool(_record(field, ("tool",), ("inputs", "retry", "timeout_ms", "next")), step_id, reading)
    inner = replace(reading, depth=reading.depth + 1)
    if kind == "parallel":
        return _parallel(_record(field, ("branches",), ("timeout_ms", "next")), step_id, inner)
    return _map(_record(field, ("over", "steps"), ("parallelism", "timeout_ms", "next")), step_id, inner)


def _record(field: Field, required: tuple[str, ...], optional: tuple[str, ...]) -> Record:
    record = field.record(required=("id", "kind", *required), optional=(*optional, *_COMMON))
    if (given := record.get("approval")) is not None:
        approval(given)
    for name, most in (("name", 80), ("description", 1_000)):
        if (text := record.get(name)) is not None:
            text.text(f"a string of at most {most:,} characters", least=0, most=most)
    record.integer("risk_level", 0, most=3)
    if (outputs := record.get("outputs")) is not None and (words := schemas.fault(outputs.mapping())) is not None:
        outputs.refuse(words)
    return record


def _tool(record: Record, step_id: str, reading: Reading) -> ToolStep:
    tool = record.need("tool")
    if isinstance(tool.value, dict):
        tool.refuse("No code of a workflow runs here; name a tool of this host, for example tool: command_execute.")
    inputs = record.free("inputs")
    check_references(inputs, record.field.at("inputs"))
    return ToolStep(
        id=step_id,
        next=_next(record),
        timeout_ms=_timeout(record),
        tool=tool.text("a tool's name, a string"),
        inputs=inputs,
        retry=retry(record.get("retry"), reading.retry),
    )


def _branch(record: Record, step_id: str) -> BranchStep:
    choices = []
    for item in _several(record.need("branches"), least=1):
        choice = item.record(required=("when", "next"))
        when = choice.need("when")
        condition = conditions.Condition(text="", left=False)
        try:
            condition = conditions.read(when.value)
        except references.Malformed as problem:
            when.refuse(str(problem))
        choices.append(Choice(when=condition, next=choice.need("next").text("the id of a step, a string")))
    default = record.get("default")
    return BranchStep(
        id=step_id,
        branches=tuple(choices),
        default=END if default is None else default.text("the id of a step, a string"),
    )


def _parallel(record: Record, step_id: str, inner: Reading) -> ParallelStep:
    following = _next(record)
    strands: list[Strand] = []
    for item in _several(record.need("branches"), least=2):
        branch = item.record(required=("id", "steps"), optional=("next",))
        name = branch.need("id").text("a name of at most 64 characters", most=64)
        if any(name == strand.id for strand in strands):
            branch.need("id").refuse(f"Another branch of this step has the id {shown(name)}; give this one its own.")
        # All branches join, so what follows one follows all.
        joined = branch.get("next")
        if joined is not None and joined.value != following:
            joined.refuse("What follows the branches is the next of their parallel step; write it there.")
        strands.append(Strand(id=name, steps=read(branch.need("steps"), inner)))
    return ParallelStep(id=step_id, next=following, timeout_ms=_timeout(record), branches=tuple(strands))


def _map(record: Record, step_id: str, inner: Reading) -> MapStep:
    field = record.need("over")
    text = field.text(_REFERENCE_FORM)
    over = None
    try:
        over = references.read(text)
        if over is None:
            field.refuse(f"{field.name} must be {_REFERENCE_FORM}.")
    except references.Malformed as problem:
        field.refuse(str(problem))
    return MapStep(
        id=step_id,
        next=_next(record),
        timeout_ms=_timeout(record),
        over=over or references.Reference(text="$input", root="input", path=()),
        parallelism=record.integer("parallelism", 1),
        steps=read(record.need("steps"), inner),
    )


def _several(field: Field, *, least: int) -> list[Field]:
    items = field.items("a list of branches")
    if len(items) < least:
        field.refuse(f"{field.name} must have {least} branches at least.")
    return items


def _next(record: Record) -> str | None:
    following = record.get("next")
    return None if following is None else following.text("the id of a step, a string")


def _timeout(record: Record) -> int | None:
    timeout = record.get("timeout_ms")
    return None if timeout is None else timeout.integer(least=1, most=MOST_MS)


def check_references(value: Frozen, field: Field) -> None:
    """Note every string that was meant as a reference and is none."""
    for path, text in references.within(value, field.path):
        try:
            references.read(text)
        except references.Malformed as problem:
            field.findings.refuse(path, str(problem))
