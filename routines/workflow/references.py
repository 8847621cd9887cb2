"""References of a workflow (AIP-15): what `$input.a.b`, `$steps.<id>`, `$item` and `$index` stand for.

A string that is exactly one reference stands for the value, of whatever type; within a longer string a `$` is text.
`$$` at the start of a string that would be one stands for the `$` itself. Published workflows also write
`$workflow.inputs.a` and `$steps.<id>.outputs.a`: both mean what they say.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from routines.domain.findings import Path, shown
from routines.domain.jsonvalues import Frozen
from schedules.sessions.lossless import Json

Root = Literal["input", "steps", "item", "index"]

#: How much the inputs of one step, or the result, may come to: characters and values together; and how deep.
MOST_SIZE = 4_000_000
MOST_DEPTH = 64

_FORMS = "$input.NAME, $steps.ID.NAME, or in a map $item.NAME and $index"
_SHAPE = re.compile(r"\$([A-Za-z_][\w-]*)((?:\.[\w-]+)*)")
# Said without a dot they are misspelt references all the same; other words, such as $HOME, are text.
_OWN = frozenset({"input", "inputs", "step", "steps", "item", "index", "workflow"})
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


class Malformed(ValueError):
    """What was meant as a reference or a condition is none; the message says what to write."""


class Missing(ValueError):
    """A reference for which there is no value in this run, or for too large a one; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A place in what a run knows.

    text: as it was written.
    root: where it starts.
    path: the keys and list indexes that lead on; of a step, its id first.
    """

    text: str
    root: Root
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What the steps of a map are run for.

    value: `$item`.
    index: `$index`, from 0.
    """

    value: Json
    index: int


@dataclass(slots=True, kw_only=True)
class Scope:
    """What references may name in one sequence of steps.

    input: the workflow's input.
    steps: the value of each step that has run, by its id.
    item: the map's item; None outside of maps.
    """

    input: Mapping[str, Json]
    steps: dict[str, Json] = field(default_factory=dict)
    item: Item | None = None

    def inner(self, item: Item | None = None) -> "Scope":
        """The scope of a sequence inside: what it adds does not show here."""
        return Scope(input=self.input, steps=dict(self.steps), item=item or self.item)


def read(text: str) -> Reference | None:
    """The reference that a whole string is; None for text. Raises Malformed for one that can only be a mistake."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        return None
    root, path = found[1], tuple(found[2].split(".")[1:])
    if root == "workflow" and path[:1] == ("inputs",):
        return Reference(text=text, root="input", path=path[1:])
    if root == "input" or (root == "steps" and path) or root == "item" or (root == "index" and not path):
        return Reference(text=text, root=root, path=path)  # type: ignore[arg-type]
    if path or root in _OWN:
        raise Malformed(f"{shown(text)} is no reference; write {_FORMS}, or ${shown(text)} for the text itself.")
    return None


def within(value: Frozen, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every string that may be a reference, anywhere in a value, with its path."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from within(member, (*path, key))
    elif isinstance(value, tuple):
        for index, member in enumerate(value):
            yield from within(member, (*path, index))
    elif isinstance(value, str) and value.startswith("$"):
        yield path, value


def value_of(reference: Reference, scope: Scope) -> Json:
    """What a reference stands for: the very value, not a copy. Raises Missing."""
    value, path = _start(reference, scope)
    for part in path:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and _INDEX.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            raise Missing(f"{shown(reference.text)} is not there: nothing has the name {shown(part)}.")
    return value


def fill(value: Frozen, scope: Scope) -> Json:
    """A fresh copy of a value with every reference in it filled. Raises Missing, also for one that grows too large."""
    return _Filling(scope).value(value, 0)


def _start(reference: Reference, scope: Scope) -> tuple[Json, tuple[str, ...]]:
    path = reference.path
    if reference.root == "input":
        return dict(scope.input), path
    if reference.root == "steps":
        if path[0] not in scope.steps:
            raise Missing(f"{shown(reference.text)} is not there: step {path[0]} has not run.")
        value = scope.steps[path[0]]
        spelt_out = path[1:2] == ("outputs",) and not (isinstance(value, dict) and "outputs" in value)
        return value, path[2 if spelt_out else 1 :]
    if scope.item is None:
        raise Missing(f"{shown(reference.text)} is not there: it is known in the steps of a map alone.")
    return (scope.item.value if reference.root == "item" else scope.item.index), path


class _Filling:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.left = MOST_SIZE

    def value(self, value: Frozen, depth: int) -> Json:
        if not isinstance(value, str):
            return self.members(value, depth, self.value)
        reference = read(value)
        if reference is not None:
            return self.copy(value_of(reference, self.scope), depth)
        return self.copy(value[1:] if value.startswith("$$") and _is_one(value[1:]) else value, depth)

    def copy(self, value: Json, depth: int) -> Json:
        """A copy of what another step gave: its tool may change what it is handed, and no other may see that."""
        return self.members(value, depth, self.copy)

    def members(self, value: "Frozen | Json", depth: int, each: Callable[..., Json]) -> Json:
        self.left -= 1 + (len(value) if isinstance(value, str) else 0)
        if self.left < 0:
            raise Missing(f"The values come to more than {MOST_SIZE:,} characters; refer to less of them.")
        if depth > MOST_DEPTH:
            raise Missing(f"The values are nested over {MOST_DEPTH} levels deep; refer to less of them.")
        if isinstance(value, Mapping):
            return {self.key(key): each(member, depth + 1) for key, member in value.items()}
        if isinstance(value, list | tuple):
            return [each(member, depth + 1) for member in value]
        return value

    def key(self, key: str) -> str:
        self.left -= len(key)
        return key


def _is_one(text: str) -> bool:
    """Whether the string would be taken for a reference, a mistaken one too."""
    try:
        return read(text) is not None
    except Malformed:
        return True
