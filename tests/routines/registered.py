"""Jobs as the registrar leaves them, made straight from a manifest's fields."""

from typing import Any

from routines.domain import arming, eventnames, manifest, parse, reconcile, rendering
from routines.models import Job
from schedules import clock
from schedules.sessions import log, lossless

NOOP: dict[str, Any] = {"tool": "lifecycle_noop", "inputs": {}}
EVERY_MINUTE: dict[str, Any] = {"kind": "cron", "cron": "* * * * *"}


def routine(routine_id: str = "tidy", **fields: Any) -> manifest.Routine:
    """A routine that fires `lifecycle_noop` each minute, unless its fields say otherwise."""
    given = {
        "schema": "routine/v1",
        "id": routine_id,
        "description": "Tidies up.",
        "schedule": EVERY_MINUTE,
        "target": NOOP,
        **fields,
    }
    return parse.define_routine(**given)


def job(routine_id: str = "tidy", *, now: int | None = None, workspace: str | None = None, **fields: Any) -> Job:
    """Its job, registered at ``now``."""
    made = routine(routine_id, **fields)
    anchor = clock.sample() if now is None else now
    armed = arming.arm(made, anchor, anchor)
    return Job.objects.create(
        id=log.new_id(),
        source=f"routine:{routine_id}",
        label=f"routine:{routine_id}",
        routine_id=routine_id,
        path=f"/nowhere/{routine_id}/ROUTINE.md",
        workspace=workspace,
        document=lossless.dumps(rendering.to_json(made)),
        content=reconcile.content(made),
        schedule=reconcile.schedule_content(made.schedule),
        kind=str(rendering.schedule_to_json(made.schedule)["kind"]),
        event=eventnames.canonical(made.schedule.on) if isinstance(made.schedule, manifest.EventSchedule) else None,
        anchor=anchor,
        cursor=anchor,
        next_slot=armed.slot,
        fire_at=armed.fire_at,
    )
