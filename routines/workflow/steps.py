"""What a WORKFLOW.md says, as frozen values: the workflow, and the four kinds of step that run here (AIP-15).

Field names are the file's own. `parse` makes these and checks them first, so whoever holds one need not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from routines.domain import manifest
from routines.domain.jsonvalues import Frozen
from routines.workflow.conditions import Condition
from routines.workflow.references import Reference
from schedules.sessions.lossless import Json

#: As a step to go on with: the end of the list of steps that names it.
END = "$end"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """Calls a tool; the tool's value is the step's.

    id: by which others name it; unique in the workflow.
    next: the step that follows; None for the one below it in the list.
    timeout_ms: how long one attempt may take; None for as long as the workflow may.
    tool: the tool's name.
    inputs: its inputs, references and all.
    retry: when it is tried again; only the attempts, the backoff and its start can be said.
    """

    id: str
    next: str | None = None
    timeout_ms: int | None = None
    tool: str
    inputs: Mapping[str, Frozen]
    retry: manifest.Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way out of a branch.

    when: what it is taken on.
    next: the step that follows then.
    """

    when: Condition
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchStep:
    """Goes on with the first choice that holds.

    id: by which others name it.
    branches: the choices.
    default: the step that follows where none holds.
    """

    id: str
    branches: tuple[Choice, ...]
    default: str = END


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """One of the lists of steps that a parallel step runs at once.

    id: by which its value is found in the step's.
    steps: its steps.
    """

    id: str
    steps: "tuple[Step, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelStep:
    """Runs lists of steps at once, and goes on when all have ended; its value has that of each by its id.

    id: by which others name it.
    next: the step that follows; None for the one below it in the list.
    timeout_ms: how long it may take in all; None for as long as the workflow may.
    branches: the lists.
    """

    id: str
    next: str | None = None
    timeout_ms: int | None = None
    branches: tuple[Strand, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapStep:
    """Runs a list of steps for each item of a list; its value is the list of theirs.

    id: by which others name it.
    next: the step that follows; None for the one below it in the list.
    timeout_ms: how long it may take in all; None for as long as the workflow may.
    over: the list.
    parallelism: for how many items at once; 0 for as many as a run may.
    steps: the steps.
    """

    id: str
    next: str | None = None
    timeout_ms: int | None = None
    over: Reference
    parallelism: int = 1
    steps: "tuple[Step, ...]"


Step: TypeAlias = ToolStep | BranchStep | ParallelStep | MapStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow.

    id: its id.
    name: its name for people.
    description: what it is for.
    version: its version.
    inputs: the JSON Schema of its input.
    outputs: the JSON Schema of its output; nothing fails for it.
    steps: its steps, at least one.
    start: the id of the first one to run.
    result: what makes the output of the steps' values, a mapping or a string; None for the last step's value.
    timeout_ms: how long it may take in all.
    max_steps: how many steps it may run, those of branches, items and repetitions too.
    tools: the tools that it says it requires.
    """

    id: str
    name: str
    description: str
    version: str
    inputs: Mapping[str, Json]
    outputs: Mapping[str, Json]
    steps: tuple[Step, ...]
    start: str
    result: Frozen
    timeout_ms: int
    max_steps: int
    tools: tuple[str, ...] = ()


def tool_steps(steps: tuple[Step, ...]) -> Iterator[ToolStep]:
    """Every tool step among some steps and inside of them, in the order of the text."""
    for step in steps:
        if isinstance(step, ToolStep):
            yield step
        for inner in inside(step):
            yield from tool_steps(inner)


def inside(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The lists of steps that a step holds."""
    if isinstance(step, ParallelStep):
        return tuple(strand.steps for strand in step.branches)
    return (step.steps,) if isinstance(step, MapStep) else ()


def ids(steps: tuple[Step, ...]) -> frozenset[str]:
    """The ids that are known once these steps have run: their own, and those of branches that have joined."""
    joined = (ids(inner) for step in steps if isinstance(step, ParallelStep) for inner in inside(step))
    return frozenset(step.id for step in steps).union(*joined)
