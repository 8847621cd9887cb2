"""The shapes of the answers about routines, in JSON Schema, for the API's description."""

from routines.domain import errors
from schedules.api import shapes
from schedules.api.shapes import Schema

FAULT: Schema = shapes.record(
    {
        "code": {"enum": list(errors.CODES)},
        "field": shapes.maybe(shapes.TEXT),
        "line": shapes.maybe({"type": "integer", "minimum": 1}),
        "message": shapes.TEXT,
    },
    {"warning": {"const": True}},
)
FAULTS: Schema = {"type": "array", "items": FAULT}

VALIDATED: Schema = shapes.record(
    {
        "valid": {"type": "boolean"},
        "errors": FAULTS,
        "manifest": shapes.maybe({"type": "object", "additionalProperties": True}),
    }
)
PREVIEW: Schema = shapes.record({"next": {"type": "array", "items": shapes.INSTANT}})

#: An error that names all that is wrong with a manifest's field.
ERROR: Schema = shapes.ERROR | {"properties": shapes.ERROR["properties"] | {"errors": FAULTS}}
