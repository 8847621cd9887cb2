"""Manifests for the tests: one that is good, and ways to change it."""

from typing import Any

from routines.domain import errors, manifest, parse

GOOD = """\
---
schema: routine/v1
id: nightly-sweep
description: Sweep the workspace every night.
schedule:
  kind: manual
target:
  tool: lifecycle_noop
---
"""


def good(**changes: Any) -> dict[str, Any]:
    """The fields of a good routine, with these instead; None leaves a field out."""
    fields: dict[str, Any] = {
        "schema": "routine/v1",
        "id": "nightly-sweep",
        "description": "Sweep the workspace every night.",
        "schedule": {"kind": "manual"},
        "target": {"tool": "lifecycle_noop"},
    }
    return {key: value for key, value in (fields | changes).items() if value is not None}


def with_lines(*lines: str) -> str:
    """A good manifest's text with these lines at the end of its front matter."""
    return GOOD.removesuffix("---\n") + "\n".join(lines) + "\n---\n"


def define(fields: dict[str, Any]) -> tuple[manifest.Routine | None, tuple[errors.Fault, ...]]:
    """What Python values declare, without raising: the routine or None, and the faults that it was refused for."""
    try:
        return parse.define_routine(**fields), ()
    except errors.Invalid as invalid:
        return None, invalid.faults
