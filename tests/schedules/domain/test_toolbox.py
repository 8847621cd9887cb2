"""The tools' catalogue: JSON Schemas that agree with what the rules take and the views give."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schedules.domain import errors, records, rules, toolbox

TOOLS: dict[str, Any] = {str(tool["name"]): tool for tool in toolbox.TOOLS}
LOCAL = {"date": "2027-06-15", "time": "12:00:00", "time_zone": "Europe/Paris"}


def accepts(schema: Any, value: Any) -> bool:
    return bool(Draft202012Validator(schema).is_valid(value))


def test_the_catalogue_holds_the_three_tools_as_a_function_calling_api_takes_them() -> None:
    assert list(TOOLS) == ["schedule_create", "schedule_list", "schedule_delete"]
    for tool in TOOLS.values():
        assert list(tool) == ["name", "description", "inputSchema", "outputSchema"]
        assert 20 < len(tool["description"]) < 600
        Draft202012Validator.check_schema(tool["inputSchema"])
        Draft202012Validator.check_schema(tool["outputSchema"])
        assert tool["inputSchema"]["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf", "not"} & tool["inputSchema"].keys()


@pytest.mark.parametrize(
    "arguments",
    [
        {"prompt": "p", "after_seconds": 1},
        {"prompt": "p", "after_seconds": 60.0},
        {"prompt": "p", "every_seconds": 300},
        {"prompt": "p", "at": "2027-06-15T12:00:00.5+02:00"},
        {"prompt": "p", "at": LOCAL},
    ],
)
def test_what_the_schema_takes_the_rules_take(arguments: Any) -> None:
    assert accepts(TOOLS["schedule_create"]["inputSchema"], arguments)
    rules.parse_create(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"after_seconds": 60},
        {"prompt": "", "after_seconds": 60},
        {"prompt": "p", "after_seconds": 0},
        {"prompt": "p", "after_seconds": True},
        {"prompt": "p", "every_seconds": 299},
        {"prompt": "p", "at": "2027-06-15T12:00:00"},
        {"prompt": "p", "at": {**LOCAL, "extra": 1}},
        {"prompt": "p", "after_seconds": 60, "extra": 1},
    ],
)
def test_what_the_schema_refuses_the_rules_refuse(arguments: Any) -> None:
    assert not accepts(TOOLS["schedule_create"]["inputSchema"], arguments)
    with pytest.raises(errors.ScheduleError):
        rules.parse_create(arguments)


@pytest.mark.parametrize(("kind", "seconds"), [("after", 60), ("at", None), ("every", 300)])
def test_a_view_matches_the_output_schemas(kind: records.Kind, seconds: int | None) -> None:
    record = records.Record(id="schedule-1", kind=kind, prompt="p", scheduled_at=0, seconds=seconds)
    view = records.view(record, 0)
    assert accepts(TOOLS["schedule_create"]["outputSchema"], view)
    assert accepts(TOOLS["schedule_list"]["outputSchema"], [view])
    assert not accepts(TOOLS["schedule_create"]["outputSchema"], {**view, "extra": 1})


def test_both_answers_of_a_delete_match_its_output_schema() -> None:
    schema = TOOLS["schedule_delete"]["outputSchema"]
    assert accepts(schema, {"id": "schedule-1", "deleted": True})
    assert accepts(schema, {"id": "schedule-1", "deleted": False, "code": "schedule_not_found"})
    assert not accepts(schema, {"id": "schedule-1", "deleted": False})
