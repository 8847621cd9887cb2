"""Workflows for the tests: a file around some steps, and tools that are plain functions."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent, indent
from typing import Any

from routines.domain import errors
from routines.workflow import parse, run, steps
from schedules.sessions.lossless import Json

HEAD = """\
---
name: A workflow
id: a-workflow
description: For the tests.
version: 1.0.0
inputs: {type: object}
outputs: {type: object}
"""

#: Steps of every kind that runs here.
ALL_KINDS = """\
- id: build
  kind: tool
  tool: echo
  inputs: {of: $input.what}
- id: choose
  kind: branch
  branches:
    - {when: $steps.build.of == 'x', next: both}
  default: $end
- id: both
  kind: parallel
  timeout_ms: 5000
  branches:
    - id: left
      steps:
        - {id: left-one, kind: tool, tool: echo}
      next: each
    - id: right
      steps:
        - {id: right-one, kind: tool, tool: echo}
  next: each
- id: each
  kind: map
  over: $steps.left-one.list
  parallelism: 0
  steps:
    - {id: item-one, kind: tool, tool: echo, inputs: {of: $item.name, at: $index}}
"""


def text(listed: str, *more: str) -> str:
    """The text of a file with these steps, and more lines of front matter."""
    return HEAD + "steps:\n" + indent(dedent(listed), "  ") + "\n" + "\n".join(more) + "\n---\n# Body\n"


def workflow(listed: str, *more: str) -> steps.Workflow:
    """The workflow of these steps."""
    return parse.parse_workflow(text(listed, *more))


def faults(written: str) -> list[tuple[str | None, int | None, str]]:
    """What a file was refused for: each fault's field, line and words."""
    try:
        parse.parse_workflow(written)
    except errors.Invalid as invalid:
        return [(fault.field, fault.line, fault.message) for fault in invalid.faults]
    return []


def tool_step(step_id: str, tool: str = "echo", **fields: str) -> str:
    """The lines of one step that calls a tool."""
    lines = [f"- id: {step_id}", "  kind: tool", f"  tool: {tool}"]
    return "\n".join(lines + [f"  {name}: {value}" for name, value in fields.items()]) + "\n"


Function = Callable[[dict[str, Any], threading.Event], "run.Answer | Json"]


@dataclass(slots=True)
class Tools:
    """Tools by name; what they return is the value, unless it is an answer. `echo` gives its inputs back."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    most_seconds: float = 60
    called: list[tuple[str, dict[str, Json]]] = field(default_factory=list)

    def seconds(self, name: str) -> float:
        return self.most_seconds

    def call(self, name: str, inputs: dict[str, Json], seconds: float, cancelled: threading.Event) -> run.Answer:
        self.called.append((name, inputs))
        if name == "echo":
            return run.Answer(ok=True, summary="", value=inputs)
        answer = self.functions[name](inputs, cancelled)
        return answer if isinstance(answer, run.Answer) else run.Answer(ok=True, summary="", value=answer)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.called]


def execute(
    made: steps.Workflow,
    tools: Tools,
    given: Mapping[str, Json] | None = None,
    *,
    seconds: float = 60,
    cancelled: threading.Event | None = None,
) -> run.Outcome:
    """Run a workflow."""
    return run.run(made, given or {}, tools, seconds=seconds, cancelled=cancelled or threading.Event())


def refuses(words: str, failure: Any = "error") -> Function:
    """A tool that fails."""
    return lambda inputs, cancelled: run.Answer(ok=False, summary=words, failure=failure)
