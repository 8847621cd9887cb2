"""Liveness and readiness, for whatever restarts this process or routes to it. Open to all, so no secrets."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.db import Error, connection
from django.db.models import Max
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from schedules import clock
from schedules.api import asgi
from schedules.api.asgi import Application, Receive, Scope, Send
from schedules.domain import instants
from schedules.models import OwnerHeartbeat

# An owner beats every few seconds; one that missed several is taken for dead.
OWNER_SILENCE_MS = 15_000

#: How long a probe waits for the database, in seconds: those who ask give up early themselves.
READY_SECONDS = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What a probe is told: an HTTP status and a JSON body."""

    status: int
    body: dict[str, Any]


ALIVE = Health(status=200, body={"status": "ok"})
UNREACHABLE = Health(
    status=503, body={"status": "unavailable", "database": "unreachable", "owner": {"status": "unknown"}}
)


@extend_schema(responses={(200, "application/json"): {"type": "object"}}, tags=["operations"])
@api_view(["GET", "HEAD"])
@authentication_classes([])
@permission_classes([])
def healthz(request: Request) -> Response:
    """Whether the process answers. It asks nothing of the database, whose outage no restart would mend."""
    return Response(ALIVE.body, ALIVE.status)


@extend_schema(
    responses={(200, "application/json"): {"type": "object"}, (503, "application/json"): {"type": "object"}},
    tags=["operations"],
)
@api_view(["GET", "HEAD"])
@authentication_classes([])
@permission_classes([])
def readyz(request: Request) -> Response:
    """Whether reminders are kept and delivered: the database answers, and an owner is alive."""
    found = readiness()
    return Response(found.body, found.status)


def readiness() -> Health:
    """Ask the database, however long that takes."""
    try:
        owner = _owner(clock.sample())
    except Error:
        return UNREACHABLE
    if owner["status"] == "alive":
        return Health(status=200, body={"status": "ok", "database": "ok", "owner": owner})
    return Health(status=503, body={"status": "unavailable", "database": "ok", "owner": owner})


class Probes:
    """ASGI: answers the two probes itself, by the views' own words, and hands everything else to ``inner``.

    So neither busy workers nor a lost database keep it from answering: liveness at once, readiness in bounded time.
    """

    def __init__(self, inner: Application) -> None:
        self._inner = inner
        # One thread and one question at a time, for however many ask: an outage must not use up the connections.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readyz")
        self._asked: asyncio.Future[Health] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        probe = scope["path"] if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        if probe == "/healthz":
            await asgi.answer(send, ALIVE.status, ALIVE.body)
        elif probe == "/readyz":
            found = await self._readiness()
            await asgi.answer(send, found.status, found.body)
        else:
            await self._inner(scope, receive, send)

    async def _readiness(self) -> Health:
        if self._asked is None or self._asked.done():
            self._asked = asyncio.get_running_loop().run_in_executor(self._thread, _asked_in_a_thread)
        asked = self._asked
        await asyncio.wait([asked], timeout=READY_SECONDS)
        return asked.result() if asked.done() else UNREACHABLE


def _asked_in_a_thread() -> Health:
    try:
        return readiness()
    finally:
        connection.close()


def _owner(now: int) -> dict[str, Any]:
    """The state of the owners together: the newest beat, and the worst lag among those alive."""
    # A beat from the future is one from before the clock was set back: it proves life no longer than others.
    alive = OwnerHeartbeat.objects.filter(beat_at__range=(now - OWNER_SILENCE_MS, now + OWNER_SILENCE_MS))
    found = alive.aggregate(beat=Max("beat_at"), lag=Max("lag_ms"))
    if found["beat"] is not None:
        return {"status": "alive", "beatAt": instants.render(found["beat"]), "lagMs": found["lag"]}
    last = OwnerHeartbeat.objects.aggregate(beat=Max("beat_at"))["beat"]
    return {"status": "absent"} if last is None else {"status": "silent", "beatAt": instants.render(last)}
