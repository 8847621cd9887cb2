"""Routines as JSON and as text, and back."""

from typing import Any

import pytest

from routines.domain import errors, parse, rendering
from tests.routines.domain import generated, texts


def test_the_defaults_stand_in_the_json_and_what_has_none_does_not() -> None:
    assert rendering.to_json(parse.define_routine(**texts.good())) == {
        "schema": "routine/v1",
        "id": "nightly-sweep",
        "description": "Sweep the workspace every night.",
        "version": "1.0.0",
        "schedule": {"kind": "manual"},
        "target": {"tool": "lifecycle_noop", "inputs": {}},
        "retry": {"max_attempts": 1, "backoff": "exponential", "initial_ms": 60_000, "max_ms": 3_600_000},
        "on_failure": {"notify": [], "create_work_item": False},
        "history": {"retain_runs": 100, "retain_failed": 30},
        "fires_events": ["routine-triggered", "routine-completed", "routine-failed"],
        "enabled": True,
        "tags": [],
        "metadata": {},
    }


@pytest.mark.parametrize("schedule", generated.SCHEDULES)
def test_a_schedule_with_defaults(schedule: dict[str, Any]) -> None:
    shown = rendering.schedule_to_json(parse.read_schedule(schedule))
    assert parse.read_schedule(shown) == parse.read_schedule(schedule)
    if "from" in schedule:
        assert shown["from"] == "2026-12-01T00:00:00.000Z"
    assert shown.items() >= {key: item for key, item in schedule.items() if key != "from"}.items()


@pytest.mark.parametrize("target", generated.TARGETS)
def test_a_target_is_shown_as_it_was_written(target: dict[str, Any]) -> None:
    routine = parse.define_routine(**texts.good(target=target))
    inputs: dict[str, Any] = {} if "agent" in target else {"inputs": {}}
    assert rendering.target_to_json(routine.target) == inputs | target


def test_a_routine_survives_its_json_and_its_text() -> None:
    survived = 0
    for fields in generated.manifests(300, seed=3):
        try:
            routine = parse.define_routine(**fields)
        except errors.Invalid:
            continue
        survived += 1
        shown = rendering.to_json(routine)
        assert parse.define_routine(**shown) == routine
        assert parse.parse_routine(rendering.to_text(shown, "# Body\n---\n")) == routine
        assert rendering.to_json(parse.define_routine(**shown)) == shown
    assert survived > 50
