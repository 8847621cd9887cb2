"""JSON values as they come from Python callers, and as a frozen routine keeps them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from routines.domain import limits
from routines.domain.findings import Findings, Path
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

Frozen: TypeAlias = "bool | int | float | str | tuple[Frozen, ...] | Mapping[str, Frozen] | None"

_EMPTY: Mapping[str, Frozen] = MappingProxyType({})


def freeze(value: Json) -> Frozen:
    """The same value, never to change: objects are read-only mappings, arrays are tuples."""
    if isinstance(value, dict):
        return freeze_object(value)
    return tuple(map(freeze, value)) if isinstance(value, list) else value


def freeze_object(members: Mapping[str, Json]) -> Mapping[str, Frozen]:
    """The same object, never to change."""
    return MappingProxyType({key: freeze(item) for key, item in members.items()}) if members else _EMPTY


def thaw(value: Frozen) -> Json:
    """A fresh plain JSON value of a frozen one."""
    if isinstance(value, Mapping):
        return thaw_object(value)
    return [thaw(item) for item in value] if isinstance(value, tuple) else value


def thaw_object(members: Mapping[str, Frozen]) -> dict[str, Json]:
    """A fresh plain JSON object of a frozen one."""
    return {key: thaw(item) for key, item in members.items()}


class TooLarge(ValueError):
    """A value over the limits of depth or of nodes. Its message says so in plain words."""


def admit(value: object, findings: Findings) -> Json:
    """A plain JSON copy of what a Python caller gave; tuples count as arrays.

    Notes what a manifest's text could not say either (NaN, U+0000, keys that are no strings) and what JSON has no
    value for, with a stand-in in its place. Raises `TooLarge`, also for a value that holds itself.
    """
    return _Admission(findings).value(value, ())


class _Admission:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.nodes = 0

    def value(self, value: object, path: Path) -> Json:
        self.nodes += 1
        if self.nodes > limits.MAX_NODES:
            raise TooLarge(limits.TOO_MANY)
        if isinstance(value, Mapping | list | tuple):
            if len(path) >= limits.MAX_DEPTH:
                raise TooLarge(limits.TOO_DEEP)
            if isinstance(value, Mapping):
                return {self.key(key, path): self.value(item, (*path, str(key))) for key, item in value.items()}
            return [self.value(item, (*path, index)) for index, item in enumerate(value)]
        refusal = _refusal(value)
        if refusal is not None:
            self.findings.refuse(path, refusal)
            return None
        return value  # type: ignore[return-value]

    def key(self, key: object, path: Path) -> str:
        self.nodes += 1
        refusal = _refusal(key) if isinstance(key, str) else limits.KEY_NOT_STRING
        if refusal is not None:
            self.findings.refuse((*path, str(key)), refusal)
        return str(key)


def _refusal(value: object) -> str | None:
    """Why a scalar cannot stand in a manifest; None where it can."""
    if isinstance(value, str):
        if "\0" in value:
            return limits.NUL
        return None if lossless.is_unicode(value) else limits.NOT_UNICODE
    if isinstance(value, float):
        return None if abs(value) <= limits.MAX_NUMBER else limits.NOT_FINITE
    if isinstance(value, int):
        return None if abs(value) <= limits.MAX_NUMBER else limits.NUMBER_TOO_LARGE
    return None if value is None else f"A manifest cannot hold a Python {type(value).__name__}; give a JSON value."
