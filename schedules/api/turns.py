"""Turns and follow-ups over HTTP."""

from dataclasses import dataclass
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from schedules import transaction, turns
from schedules.api import base, describe, paging, shapes
from schedules.api.fields import Anything, Body, Text
from schedules.sessions.errors import Refusal

MAX_WAIT_SECONDS = 60

_LEASE_ID = Text(required=True, low=1, high=128, about="From open.")
_MESSAGE = Text(lossless=True, about="The user's words.")
_ZONE = Anything(about="UTC or an IANA name: the zone that the words are meant in.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome(Anything):
    """How a turn ended. Any value is taken here: a wrong one has a code of its own."""

    shape: ClassVar[dict[str, Any]] = {"enum": [*turns.OUTCOMES]}


BEGIN = Body(leaseId=_LEASE_ID, message=_MESSAGE, clientTimeZone=_ZONE)
ADD = Body(leaseId=_LEASE_ID, message=Text(required=True, lossless=True, about=_MESSAGE.about), clientTimeZone=_ZONE)
END = Body(
    leaseId=_LEASE_ID,
    outcome=_Outcome(about="How the turn ended."),
    message=Text(lossless=True, about="The assistant's words."),
)
DISCARD = Body(leaseId=Text(low=1, high=128, about="From open; or in the Wakeful-Lease header."))

_WAIT = describe.query(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "default": 0},
    "Seconds to wait for the first one.",
)


class Turns(base.SessionView):
    """``/sessions/{id}/turns`` and what lies below."""

    @describe.call(
        "Begin a turn with a user's message, or claim the oldest follow-up",
        {201: shapes.TURN},
        tag="turns",
        parameters=[describe.SESSION, describe.ONCE, describe.LEASE],
        body=BEGIN,
        refusals=["lease_lost", "turn_open", "nothing_to_claim", "invalid_time_zone", "idempotency_conflict"],
    )
    def create(self, request: Request, session_id: str) -> Response:
        self.writable(request, session_id)
        once = base.once_of(request, "turn_begin", request.data)
        if (answer := transaction.replayed(session_id, once)) is not None:
            return Response(answer, status=201)
        body = BEGIN.read(request.data)
        if body["message"] is None and body["clientTimeZone"] is not None:
            raise Refusal(
                "invalid_request",
                "clientTimeZone belongs to a message: send both, or neither to claim a follow-up.",
                {"clientTimeZone": "only beside message"},
            )
        said = None if body["message"] is None else _said(body)
        answer = turns.begin(session_id, body["leaseId"], said, header_lease=base.lease_of(request), once=once)
        return Response(answer, status=201)

    @describe.call(
        "Add a user's message to the open turn",
        {201: shapes.TURN},
        tag="turns",
        parameters=[describe.SESSION, describe.TURN, describe.LEASE],
        body=ADD,
        refusals=["lease_lost", "turn_not_open", "invalid_time_zone"],
    )
    def add(self, request: Request, session_id: str, number: str) -> Response:
        self.writable(request, session_id)
        body = ADD.read(request.data)
        answer = turns.add_message(
            session_id, int(number), body["leaseId"], _said(body), header_lease=base.lease_of(request)
        )
        return Response(answer, status=201)

    @describe.call(
        "End the open turn",
        {200: shapes.TURN_ENDED},
        tag="turns",
        parameters=[describe.SESSION, describe.TURN, describe.ONCE, describe.LEASE],
        body=END,
        refusals=["lease_lost", "turn_not_open", "invalid_outcome", "idempotency_conflict"],
    )
    def end(self, request: Request, session_id: str, number: str) -> Response:
        self.writable(request, session_id)
        once = base.once_of(request, "turn_end", {"turn": int(number), "body": request.data})
        if (answer := transaction.replayed(session_id, once)) is not None:
            return Response(answer)
        body = END.read(request.data)
        if body["outcome"] not in turns.OUTCOMES:
            raise Refusal(
                "invalid_outcome",
                "outcome must be completed, failed or aborted.",
                {"outcome": "completed, failed or aborted"},
            )
        answer = turns.end(
            session_id,
            int(number),
            body["leaseId"],
            body["outcome"],
            body["message"],
            header_lease=base.lease_of(request),
            once=once,
        )
        return Response(answer)


class Followups(base.SessionView):
    """``/sessions/{id}/followups``."""

    for_session_tokens = frozenset(("index",))

    @describe.call(
        "List the waiting follow-ups, oldest first; wait for one if there is none",
        {200: shapes.listed(shapes.FOLLOWUP)},
        tag="turns",
        parameters=[describe.SESSION, _WAIT, describe.CURSOR, describe.LIMIT, describe.LEASE],
    )
    def index(self, request: Request, session_id: str) -> Response:
        header = self.readable(request, session_id)
        # The server waits before it asks here (api/longpoll.py): no view ever holds a worker.
        paging.whole_number(request, "wait", default=0, low=0, high=MAX_WAIT_SECONDS)
        after = paging.cursor(request, int)
        size = paging.limit(request)
        self.renew_lease(request, header)
        found = turns.followups(session_id, "waiting", after=-1 if after is None else int(after[0]), limit=size + 1)
        shown, following = paging.split(found, size, lambda followup: [int(str(followup["seq"]))])
        return Response(paging.page(shown, following))

    @describe.call(
        "Discard a waiting follow-up",
        {200: shapes.DISCARDED},
        tag="turns",
        parameters=[describe.SESSION, describe.FOLLOWUP, describe.LEASE],
        body=DISCARD,
        refusals=["lease_lost"],
    )
    def destroy(self, request: Request, session_id: str, followup_id: str) -> Response:
        self.writable(request, session_id)
        header_lease = base.lease_of(request)
        lease_id = DISCARD.read(request.data)["leaseId"] or header_lease
        if lease_id is None:
            raise Refusal("invalid_request", "Send the leaseId.", {"leaseId": "This is missing."})
        return Response(turns.discard(session_id, followup_id, lease_id, header_lease=header_lease))


def _said(body: dict[str, Any]) -> turns.Message:
    return turns.message(body["message"], body["clientTimeZone"])
