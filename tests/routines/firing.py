"""Runs as a scheduler claims them, and a scheduler to claim them."""

from typing import Any

from routines import outcomes, runs
from routines.domain import rendering
from schedules import clock, transaction
from schedules.sessions import log, lossless
from tests.routines.registered import routine

WORKER = "host:1:abc"


def queued(routine_id: str = "tidy", *, alone: bool = True, depth: int = 1, event: Any = None, **fields: Any) -> str:
    """The id of a run of a routine with these fields, due now."""
    now = clock.sample()
    made = runs.New(
        id=log.new_id(),
        source=f"routine:{routine_id}",
        routine_id=routine_id,
        trigger="schedule" if alone else "manual",
        scheduled_for=now,
        due_at=now,
        alone=alone,
        depth=depth,
        firing=runs.Firing(
            document=lossless.dumps(rendering.to_json(routine(routine_id, **fields))), event=event
        ).dumps(),
    )
    with transaction.barrier():
        runs.insert([made], now)
    return made.id


def claimed(routine_id: str = "tidy", *, worker: str = WORKER, **more: Any) -> runs.Claimed:
    """A run that a worker has just taken."""
    run = outcomes.claim(queued(routine_id, **more), worker, clock.sample())
    assert run is not None
    return run
