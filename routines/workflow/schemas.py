"""A workflow's `inputs` and `outputs`: JSON Schemas (AIP-16) that a file brings along, so never trusted to be sound."""

import re
from collections.abc import Mapping

import jsonschema
import referencing
from referencing.exceptions import Unresolvable

from schedules.sessions.lossless import Json

# With a registry of its own nothing is ever looked up on the network.
_NOWHERE: "referencing.Registry[Json]" = referencing.Registry()
_UNSOUND = "The schema refers to what is not in it, or to itself without end; write every $ref as #/$defs/NAME."


def fault(schema: Mapping[str, Json]) -> str | None:
    """Why this is no JSON Schema (2020-12); None where it is one."""
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"This is no JSON Schema: {error.message[:200]}"
    except (RecursionError, re.error):
        return _UNSOUND
    return None


def problem(schema: Mapping[str, Json], value: Json) -> str | None:
    """What is wrong with a value by a schema that has no `fault`, with the path to it; None where it fits."""
    validator = jsonschema.Draft202012Validator(schema, registry=_NOWHERE)
    try:
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    except (Unresolvable, RecursionError, re.error):
        return _UNSOUND
    if error is None:
        return None
    place = error.json_path.removeprefix("$").removeprefix(".")
    return (f"{place}: {error.message}" if place else error.message)[:500]


def with_defaults(schema: Mapping[str, Json], given: Mapping[str, Json]) -> dict[str, Json]:
    """What was given, and for what was not the `default` of the schema's own properties."""
    properties = schema.get("properties")
    members = properties if isinstance(properties, dict) else {}
    defaults = {
        name: member["default"] for name, member in members.items() if isinstance(member, dict) and "default" in member
    }
    return {**defaults, **given}
