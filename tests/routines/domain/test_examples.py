"""The examples that ship: they are good, and show each kind once at least."""

from pathlib import Path

import routines
from routines.domain import dispatchable, manifest, parse, timing

FILES = sorted((Path(routines.__file__).parent / "examples").glob("*/ROUTINE.md"))
READINGS = {path.parent.name: parse.read_routine(path.read_text(encoding="utf-8"), path.parent.name) for path in FILES}
ROUTINES = [reading.routine for reading in READINGS.values() if reading.routine is not None]


def test_every_example_is_a_routine_without_a_warning() -> None:
    assert {name: reading.faults for name, reading in READINGS.items() if reading.faults} == {}
    assert len(ROUTINES) == len(FILES) > 0


def test_every_kind_of_schedule_and_target_is_shown() -> None:
    assert {type(routine.schedule) for routine in ROUTINES} == set(manifest.Schedule.__args__)
    assert {type(routine.target) for routine in ROUTINES} == set(manifest.Target.__args__)


def test_the_one_that_deletes_ships_disabled() -> None:
    worktree_gc = READINGS["worktree-gc"].routine
    assert worktree_gc is not None
    assert not worktree_gc.enabled


def test_those_that_are_enabled_get_a_job_and_those_with_times_have_a_next() -> None:
    for routine in ROUTINES:
        if routine.enabled:
            assert dispatchable.refusal(routine) is None
        timed = not isinstance(routine.schedule, manifest.ManualSchedule | manifest.EventSchedule)
        assert (timing.slots(routine.schedule, 0).next_after(0) is not None) == timed
