"""JSON Schemas that a file brings along: judged, never followed out of the file, never the end of a run."""

from typing import Any

import pytest

from routines.workflow import schemas


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}])
def test_a_json_schema_has_no_fault(schema: Any) -> None:
    assert schemas.fault(schema) is None


@pytest.mark.parametrize("schema", [{"type": 5}, {"type": "objet"}, {"required": "a"}, {"pattern": "("}])
def test_what_is_no_json_schema_says_so(schema: Any) -> None:
    assert str(schemas.fault(schema)).startswith("This is no JSON Schema: ")


def test_a_value_that_does_not_fit_is_told_with_its_path() -> None:
    schema: Any = {"type": "object", "required": ["a"], "properties": {"a": {"items": {"type": "integer"}}}}
    assert schemas.problem(schema, {"a": [1]}) is None
    assert schemas.problem(schema, {}) == "'a' is a required property"
    assert schemas.problem(schema, {"a": [1, "x"]}) == "a[1]: 'x' is not of type 'integer'"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$id": "http://127.0.0.1:9/", "$ref": "other"},
    ],
)
def test_a_reference_out_of_the_file_or_in_a_circle_is_not_followed(schema: Any) -> None:
    assert schemas.fault(schema) is None
    assert "write every $ref as #/$defs/NAME" in str(schemas.problem(schema, {"a": 1}))


def test_defaults_stand_in_for_what_was_not_given() -> None:
    schema: Any = {"properties": {"a": {"default": [1]}, "b": {"default": 2}, "c": {}, "d": True}}
    assert schemas.with_defaults(schema, {"b": 3, "e": 4}) == {"a": [1], "b": 3, "e": 4}
    assert schemas.with_defaults({"properties": []}, {"b": 3}) == {"b": 3}
