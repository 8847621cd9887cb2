"""All that is wrong with a manifest, told at once: codes, fields, lines, warnings."""

from typing import Any

import pytest

from routines.domain import errors, findings, limits, parse
from tests.routines.domain import texts


def faults(text: str) -> list[tuple[str | None, int | None]]:
    return [(fault.field, fault.line) for fault in parse.read_routine(text).faults]


def fields_at_fault(fields: dict[str, Any]) -> list[str | None]:
    return [fault.field for fault in texts.define(fields)[1]]


# TRAPS 33 and 37.


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "x", [], {}, [None], {"x": {}}])
@pytest.mark.parametrize(
    "field", ["schema", "schedule", "target", "identity", "retry", "on_failure", "history", "fires_events", "enabled"]
)
def test_the_wrong_json_type_anywhere_is_a_typed_fault(field: str, value: Any) -> None:
    _, faults = texts.define(texts.good() | {field: value})
    assert {(f.code, (f.field or "").split(".")[0]) for f in faults} <= {("routine_invalid", field)}


@pytest.mark.parametrize("field", ["schema", "id", "description", "schedule", "target"])
def test_a_missing_field_is_named(field: str) -> None:
    assert fields_at_fault(texts.good(**{field: None})) == [field]
    assert parse.read_routine("---\n---\n").faults[0].field is None


def test_all_faults_are_told_at_once_by_line() -> None:
    text = """---
schema: routine/v2
id: X
enabled: off
enabled: true
schedule:
  kind: cron
  cron: x
  timezone: EST
  catchup: never
target: {tool: 5, inputs: {a: "${{ b }}", c: .nan}}
extra: 1
---
"""
    expected = ["schema", "id", "enabled", "schedule.cron", "schedule.timezone", "schedule.catchup"]
    found = faults(text)
    assert {field for field, _ in found} == {
        *expected, "description", "target.tool", "target.inputs.a", "target.inputs.c", "extra",
    }  # fmt: skip
    assert ("enabled", 5) in found
    assert [line for _, line in found] == sorted(line or 0 for _, line in found)
    assert len(found) == len(set(found))


def test_four_thousand_faults_are_cut_to_a_hundred_short_ones() -> None:
    items = "'${{ x }}'," * 4_000
    text = texts.with_lines("  inputs:", "    ? " + "k" * 100_000, f"    : [{items}]")
    found = parse.read_routine(text).faults
    assert len(found) == limits.MAX_FAULTS
    assert all(len(fault.field or "") < 200 for fault in found)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), limits.NOT_FINITE),
        (10**400, limits.NUMBER_TOO_LARGE),
        ("a\0", limits.NUL),
        ("\ud800", limits.NOT_UNICODE),
        ({1: 2}, limits.KEY_NOT_STRING),
        (object(), "A manifest cannot hold a Python object; give a JSON value."),
    ],
)
def test_what_no_text_can_say_python_cannot_either(value: object, message: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        parse.define_routine(**texts.good(metadata={"a": value}))
    assert [fault.message for fault in caught.value.faults] == [message]


def test_a_python_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(errors.Invalid, match="nested"):
        parse.define_routine(**texts.good(metadata={"a": loop}))
    with pytest.raises(errors.Invalid, match="5,000"):
        parse.define_routine(**texts.good(metadata={"a": [0] * 5_000}))


def test_a_tuple_is_a_list() -> None:
    assert parse.define_routine(**texts.good(tags=("a",))).tags == ("a",)


# Warnings.


@pytest.mark.parametrize(
    ("routine_id", "folder", "matches"),
    [
        ("nightly", "nightly", True),
        ("@acme/x/nightly", "nightly", True),
        ("nightly", "Nightly", False),
        ("nightly/", "nightly", False),
        ("nightly/x", "nightly", False),
        ("nightly", None, True),
    ],
)
def test_an_id_whose_last_part_is_not_its_folder_is_warned_of(
    routine_id: str, folder: str | None, matches: bool
) -> None:
    reading = parse.read_routine(texts.GOOD.replace("id: nightly-sweep", f'id: "{routine_id}"'), folder)
    assert reading.routine is not None
    assert [(f.code, f.field, f.line, f.warning) for f in reading.faults] == (
        [] if matches else [("routine_id_mismatch", "id", 3, True)]
    )


def test_warnings_come_along_with_faults() -> None:
    with pytest.raises(errors.Invalid) as caught:
        parse.parse_routine(texts.with_lines("enabled: off"), "other")
    assert [(f.code, f.warning) for f in caught.value.faults] == [
        ("routine_id_mismatch", True),
        ("routine_invalid", False),
    ]


@pytest.mark.parametrize("name", ["turn-end", "each-write", "idle-5", "conversation-idle-30", "host:x", "a.b.failed"])
def test_an_event_by_a_known_form_of_name(name: str) -> None:
    text = texts.GOOD.replace("kind: manual", f"kind: event\n  on: {name}")
    assert parse.read_routine(text).faults == ()


@pytest.mark.parametrize("name", ["turn-ended", "idle-0", "idle-", "x"])
def test_an_event_that_nobody_is_known_to_fire_is_only_warned_of(name: str) -> None:
    reading = parse.read_routine(texts.GOOD.replace("kind: manual", f"kind: event\n  on: {name}"))
    assert reading.routine is not None
    assert [(f.code, f.field, f.line, f.warning) for f in reading.faults] == [
        ("routine_invalid", "schedule.on", 7, True)
    ]


def test_a_fault_as_json() -> None:
    fault = errors.Fault(code="routine_invalid", message="m", field="a.b", line=3)
    assert errors.to_json(fault) == {"code": "routine_invalid", "field": "a.b", "line": 3, "message": "m"}
    assert errors.describe(fault) == "line 3: m"
    warning = errors.Fault(code="routine_id_mismatch", message="m", warning=True)
    assert errors.to_json(warning)["warning"] is True


def test_what_follows_from_a_fault_is_not_told() -> None:
    found = findings.Findings({(): 1, ("a",): 2})
    found.refuse(("a", "b"), "first")
    found.refuse(("a", "b"), "again")
    found.refuse(("a", "b", "c"), "below")
    found.warn(("a", "b"), "warning")
    found.refuse(("a",), "above")
    assert [(fault.message, fault.line) for fault in found.faults()] == [("first", 2), ("above", 2)]
