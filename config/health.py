"""Liveness and readiness, for whatever restarts this process or routes to it. Open to all, so no secrets."""

from typing import Any

from django.db import DatabaseError
from django.db.models import Max
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from schedules import clock
from schedules.domain import instants
from schedules.models import OwnerHeartbeat

# An owner beats every few seconds; one that missed several is taken for dead.
OWNER_SILENCE_MS = 15_000


@extend_schema(responses={(200, "application/json"): {"type": "object"}}, tags=["operations"])
@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def healthz(request: Request) -> Response:
    """Whether the process answers. It asks nothing of the database, whose outage no restart would mend."""
    return Response({"status": "ok"})


@extend_schema(
    responses={(200, "application/json"): {"type": "object"}, (503, "application/json"): {"type": "object"}},
    tags=["operations"],
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def readyz(request: Request) -> Response:
    """Whether reminders are kept and delivered: the database answers, and an owner is alive."""
    try:
        owner = _owner(clock.sample())
    except DatabaseError:
        return Response({"status": "unavailable", "database": "unreachable", "owner": {"status": "unknown"}}, 503)
    ready = owner["status"] == "alive"
    return Response(
        {"status": "ok" if ready else "unavailable", "database": "ok", "owner": owner}, 200 if ready else 503
    )


def _owner(now: int) -> dict[str, Any]:
    """The state of the owners together: the newest beat, and the worst lag among those alive."""
    # A beat from the future is one from before the clock was set back: it proves life no longer than others.
    alive = OwnerHeartbeat.objects.filter(beat_at__range=(now - OWNER_SILENCE_MS, now + OWNER_SILENCE_MS))
    found = alive.aggregate(beat=Max("beat_at"), lag=Max("lag_ms"))
    if found["beat"] is not None:
        return {"status": "alive", "beatAt": instants.render(found["beat"]), "lagMs": found["lag"]}
    last = OwnerHeartbeat.objects.aggregate(beat=Max("beat_at"))["beat"]
    return {"status": "absent"} if last is None else {"status": "silent", "beatAt": instants.render(last)}
