"""Manifests over HTTP: a text is checked, a schedule is previewed. Nothing is kept, and nothing fires."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from routines.api import shapes
from routines.domain import errors, parse, rendering, timing
from schedules import clock
from schedules.api import describe
from schedules.api import errors as http
from schedules.api.fields import Anything, Body, Instant, Text, Whole
from schedules.domain import instants

VALIDATE = Body(text=Text(required=True, lossless=True, about="The text of a ROUTINE.md."))
PREVIEW = Body(
    schedule=Anything(
        required=True,
        about="As in a manifest: an object with a kind (cron, interval, calendar, manual or event) and its fields.",
    ),
    after=Instant(about="Only later times; now unless given."),
    anchor=Instant(about="When the routine was registered, from which intervals and rules count; after unless given."),
    count=Whole(low=1, high=100, about="How many times at most; 5 unless given."),
)

_TAG = "routines"
_COUNT = 5


class Manifests(ViewSet):
    """``/routines/validate`` and ``/routines/preview``."""

    @describe.call(
        "Check a ROUTINE.md, and say all that is wrong with it", {200: shapes.VALIDATED}, tag=_TAG, body=VALIDATE
    )
    def validate(self, request: Request) -> Response:
        reading = parse.read_routine(VALIDATE.read(request.data)["text"])
        routine = reading.routine
        return Response(
            {
                "valid": routine is not None,
                "errors": [errors.to_json(fault) for fault in reading.faults],
                "manifest": None if routine is None else rendering.to_json(routine),
            }
        )

    @describe.call(
        "Preview the next times of a schedule, before jitter",
        {200: shapes.PREVIEW},
        tag=_TAG,
        body=PREVIEW,
        refusals=["routine_invalid"],
        error=shapes.ERROR,
    )
    def preview(self, request: Request) -> Response:
        asked = PREVIEW.read(request.data)
        try:
            schedule = parse.read_schedule(asked["schedule"])
        except errors.Invalid as invalid:
            return _refused(invalid)
        after = clock.sample() if asked["after"] is None else asked["after"]
        anchor = after if asked["anchor"] is None else asked["anchor"]
        slots = timing.slots(schedule, anchor)
        found = slots.between(after, instants.MAX, _COUNT if asked["count"] is None else asked["count"])
        return Response({"next": [instants.render(slot) for slot in found]})


def _refused(invalid: errors.Invalid) -> Response:
    first = invalid.faults[0]
    body = http.body("routine_invalid", first.message)
    body["errors"] = [errors.to_json(fault) for fault in invalid.faults]
    return Response(body, status=http.STATUS["routine_invalid"])
