"""The tools that a target may name: what one is, what it is told, what it answers, and where they come from.

A tool is a function of a :class:`Call` and its checked inputs that gives a :class:`Result`. The built-in ones are here;
an app adds its own with :func:`tool` and names the module in ``WAKEFUL_TOOLS``, or with an entry point of the group
``wakeful.tools``.
"""

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import Any

import jsonschema
from django.conf import settings
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from routines.domain.manifest import FailureClass
from schedules.sessions.lossless import Json

ENTRY_POINTS = "wakeful.tools"
_BUILT_IN = ("sessions", "noop", "command", "worktree", "agent", "workflow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a call.

    ok: whether it did what it was asked.
    summary: one line for a person.
    value: what it gives to a workflow's later steps, as JSON.
    failure: how it failed, for the retry; means nothing where ok.
    skipped: it found nothing that it could do now, on purpose; the run is recorded as skipped.
    """

    ok: bool
    summary: str
    value: Json = None
    failure: FailureClass = "error"
    skipped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a tool is told beside its inputs.

    now: when the attempt began, in epoch milliseconds.
    seconds: how long it may take; a tool that starts programs hands the limit on to them.
    user_id: who fires: the owner of the sessions it makes, and whose sessions it may reach.
    origin: `routine:<id>` or `cron:<id>`.
    run_id: the run's id.
    depth: how many routines stand between this run and its first cause, itself included.
    workspace: the real path of the routine's own workspace; None where it has none.
    cancelled: set once the answer no longer counts: the time is over, or the process stops.
    invoke: `invoke(name, inputs)` calls another tool for this one, under the same grants; with `seconds` and
        `cancelled` within limits of its own. Never raises.
    allowed: whether the identity that fires may use the tool of that name.
    """

    now: int
    seconds: float
    user_id: int
    origin: str
    run_id: str
    depth: int = 1
    workspace: str | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    invoke: Callable[..., Result]
    allowed: Callable[[str], bool] = lambda name: True


Function = Callable[[Call, dict[str, Any]], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool.

    name: by which targets call it.
    description: a sentence for whoever writes a routine.
    inputs: the JSON Schema (2020-12) of its inputs.
    seconds: how long one call may take at most.
    run: the function.
    """

    name: str
    description: str
    inputs: Mapping[str, Any]
    seconds: float
    run: Function

    def problem(self, inputs: Json, *, sure: Callable[[ValidationError], bool] = lambda error: True) -> str | None:
        """What is wrong with some inputs, with the path to it; None where they are good.

        sure: which findings count, where the inputs still hold placeholders.
        """
        error = jsonschema.exceptions.best_match(filter(sure, _validator(self).iter_errors(inputs)))
        if error is None:
            return None
        return f"{error.json_path.removeprefix('$').removeprefix('.') or 'inputs'}: {error.message}"[:500]


def tool(*, name: str, description: str, inputs: Mapping[str, Any], seconds: float = 60) -> Callable[[Function], Tool]:
    """Make a tool of a function. Raises ValueError for a schema that is none."""
    try:
        jsonschema.Draft202012Validator.check_schema(inputs)
    except jsonschema.SchemaError as error:
        raise ValueError(f"The schema of {name} is none: {error.message}") from None

    def make(function: Function) -> Tool:
        return Tool(name=name, description=description, inputs=inputs, seconds=seconds, run=function)

    return make


def find(name: str) -> Tool | None:
    """The tool of that name."""
    return tools().get(name)


def tools() -> Mapping[str, Tool]:
    """Every tool by name. Raises ImportError or ValueError for a setting that names none, and for a name used twice."""
    return _tools(_BUILT_IN, tuple(settings.WAKEFUL_TOOLS))


@cache
def _tools(built_in: Sequence[str], named: Sequence[str]) -> Mapping[str, Tool]:
    found: dict[str, Tool] = {}
    for module in built_in:
        _take(found, importlib.import_module(f"routines.tools.{module}"), f"routines.tools.{module}")
    for path in named:
        _take(found, _named(path), path)
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        _take(found, entry.load(), f"{ENTRY_POINTS}: {entry.name}")
    return found


def _take(found: dict[str, Tool], named: object, path: str) -> None:
    """Take a tool, or every tool of a module."""
    made = [named] if isinstance(named, Tool) else [one for one in vars(named).values() if isinstance(one, Tool)]
    if not made:
        raise ValueError(f"{path} names no tool: make one with routines.tools.registry.tool.")
    for one in made:
        if found.setdefault(one.name, one) is not one:
            raise ValueError(f"{path} makes a second tool of the name {one.name}.")


def _named(path: str) -> object:
    """A module, or an object in one, by its dotted path."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        module, _, name = path.rpartition(".")
        # A module that is there but lacks one that it imports is another fault.
        if not module or error.name not in (path, module):
            raise
        return getattr(importlib.import_module(module), name)


@cache
def _validators() -> dict[str, Validator]:
    return {}


def _validator(of: Tool) -> Validator:
    # Making one costs a hundred times what using it does.
    made = _validators()
    if of.name not in made or made[of.name].schema is not of.inputs:
        made[of.name] = jsonschema.Draft202012Validator(of.inputs)
    return made[of.name]
