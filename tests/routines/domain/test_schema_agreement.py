"""Our judgement beside AIP-41's own JSON Schema, on two thousand manifests.

The schema is extended by the agent target, which the contract adds. Where the contract is stricter, the schema may take
what we refuse; every such rule is listed here. We never take what the schema refuses.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from routines.domain import errors, parse, rendering
from tests.routines.domain import generated, texts

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "aip" / "ROUTINE.schema.json").read_text(encoding="utf-8")
)
TEXT = {"type": "string", "minLength": 1}
SCHEMA["$defs"]["target"]["oneOf"].append(
    {
        "type": "object",
        "required": ["agent"],
        "additionalProperties": False,
        "properties": {
            "agent": {
                "type": "object",
                "required": ["adapter", "prompt"],
                "properties": {"adapter": TEXT, "prompt": TEXT, "model": TEXT, "cwd": TEXT},
            }
        },
    }
)
# The reference is "exactly one of" by its description alone.
SCHEMA["$defs"]["anyRef"] |= {"minProperties": 1, "maxProperties": 1}

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

STRICTER = {
    "schedule.cron": "five fields of Vixie's cron that can fire",
    "schedule.timezone": "an IANA name with a slash, or UTC",
    "schedule.every": "at least five seconds",
    "schedule.from": "an instant",
    "schedule.rrule": "a rule of RFC 5545 that can fire, a minute apart at least",
    "schedule.on": "an event's name without blanks",
    "retry.on": "one of four classes of failure",
    "retry.initial_ms": "an integer that a double holds exactly",
    "retry.max_ms": "an integer that a double holds exactly",
    "history.retain_runs": "an integer that a double holds exactly",
    "history.retain_failed": "an integer that a double holds exactly",
    "on_failure.fire_event": "an event's name without blanks, not empty",
    "fires_events": "names without blanks",
    "target": "placeholders that exist",
    "id": "matched from end to end, where the schema's pattern lets a line feed follow",
    "version": "ASCII digits, matched from end to end",
}


def is_stricter(fault: errors.Fault) -> bool:
    field = fault.field or ""
    return any(field == rule or field.startswith(f"{rule}.") for rule in STRICTER)


def test_we_agree_with_the_schema_but_for_the_listed_rules() -> None:
    manifests = generated.manifests(2_000)
    valid = 0
    for fields in manifests:
        routine, faults = texts.define(fields)
        valid += routine is not None
        if VALIDATOR.is_valid(fields):
            assert all(map(is_stricter, faults)), (fields, faults)
        else:
            assert faults, fields
    assert 500 < valid < 1_500


@pytest.mark.parametrize("fields", generated.manifests(150, seed=7))
def test_a_text_and_python_values_are_judged_alike(fields: dict[str, Any]) -> None:
    reading = parse.read_routine(rendering.to_text(fields))
    routine, faults = texts.define(fields)
    assert routine == reading.routine
    if routine is None:
        assert {(f.code, f.field, f.message) for f in faults} == {(f.code, f.field, f.message) for f in reading.faults}
        assert all(fault.line is None for fault in faults)
        assert all(fault.line is not None for fault in reading.faults)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("schedule.cron", {"schedule": {"kind": "cron", "cron": "0 0 30 2 *"}}),
        ("schedule.cron", {"schedule": {"kind": "cron", "cron": "0 9 * * * *"}}),
        ("schedule.timezone", {"schedule": {"kind": "cron", "cron": "0 9 * * *", "timezone": "EST"}}),
        ("schedule.every", {"schedule": {"kind": "interval", "every": "0m"}}),
        ("schedule.every", {"schedule": {"kind": "interval", "every": "4s"}}),
        ("schedule.from", {"schedule": {"kind": "interval", "every": "5m", "from": "2026-01-01"}}),
        ("schedule.rrule", {"schedule": {"kind": "calendar", "rrule": "FREQ=DAILY;INTERVAL=0"}}),
        ("schedule.on", {"schedule": {"kind": "event", "on": "turn end"}}),
        ("retry.on.0", {"retry": {"on": ["timout"]}}),
        ("retry.max_ms", {"retry": {"max_ms": 2**53}}),
        ("on_failure.fire_event", {"on_failure": {"fire_event": ""}}),
        ("fires_events.0", {"fires_events": ["a b"]}),
        ("target.inputs.a", {"target": {"tool": "t", "inputs": {"a": "${{ nope }}"}}}),
        ("id", {"id": "ab\n"}),
        ("version", {"version": "1.0.٣"}),
        ("version", {"version": "1.0.0\n"}),
    ],
)
def test_each_stricter_rule_names_its_field(field: str, changes: dict[str, Any]) -> None:
    fields = texts.good(**changes)
    with pytest.raises(errors.Invalid) as caught:
        parse.define_routine(**fields)
    assert [fault.field for fault in caught.value.faults] == [field]
    assert VALIDATOR.is_valid(fields)
