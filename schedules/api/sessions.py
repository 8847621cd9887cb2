"""Sessions over HTTP: made, listed, read, opened, renewed, closed, forked, and their log."""

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from schedules import clock, live, reading, turns
from schedules.access.models import Token
from schedules.api import base, describe, paging, shapes
from schedules.api.fields import Anything, Body, Object, Switch, Text, Whole
from schedules.domain import errors
from schedules.sessions import events, log, lossless

_ID = Text(low=1, high=128, pattern=describe.SESSION_ID, like="of A-Z a-z 0-9 . _ : -")
_HOLDER = Text(low=1, high=200, about="The host's name for itself. The same holder takes over its own lease.")
_SECONDS = Whole(low=5, high=86_400, about="How long the lease lasts unless it is renewed.")
_LEASE_ID = Text(required=True, low=1, high=128, about="From open.")

CREATE = Body(
    id=_ID,
    title=Text(high=500),
    cwd=Text(high=4096),
    metadata=Object(),
    open=Switch(about="Open it at once."),
    holder=_HOLDER,
    leaseSeconds=_SECONDS,
)
OPEN = Body(
    holder=Text(required=True, low=1, high=200, about=_HOLDER.about),
    leaseSeconds=_SECONDS,
)
HOLD = Body(leaseId=_LEASE_ID)
FORK = Body(boundary=Whole(about="The seq of the last event that the child inherits; by default the last."), id=_ID)
APPEND = Body(
    leaseId=_LEASE_ID,
    type=Text(
        required=True,
        low=events.HOST_TYPE_LENGTHS[0],
        high=events.HOST_TYPE_LENGTHS[1],
        pattern=events.HOST_TYPE_PATTERN,
        like="a name with a colon, such as my-host:note, of A-Z a-z 0-9 . _ - / and the colon",
    ),
    data=Anything(required=True),
)

_LAST = OpenApiParameter(
    "Last-Event-ID",
    {"type": "integer", "minimum": -1},
    OpenApiParameter.HEADER,
    description="The seq of the last event that was seen: those after it follow. Without it, from the first.",
)
_LIVE = describe.query("live", {"type": "boolean"}, "Only sessions that a host holds now, or only cold ones.")
_OVERDUE = describe.query("overdue", {"type": "boolean"}, "Only sessions with a reminder that is due, or without.")
_ORIGIN = describe.query("origin", {"type": "string"}, "Only sessions of this origin, such as api.")
_AFTER = describe.query("after", {"type": "integer", "minimum": -1, "default": -1}, "Events with a greater seq.")
_TAG = "sessions"


class Sessions(base.SessionView):
    """``/sessions`` and ``/sessions/{id}``."""

    for_session_tokens = frozenset(("index", "retrieve"))

    @describe.call(
        "List sessions, newest first",
        {200: shapes.listed(shapes.SESSION_ROW)},
        tag=_TAG,
        parameters=[_LIVE, _OVERDUE, _ORIGIN, describe.CURSOR, describe.LIMIT],
    )
    def index(self, request: Request) -> Response:
        after = paging.cursor(request, int, str)
        token = request.auth if isinstance(request.auth, Token) else None
        found, following = reading.page(
            None if token is None else token.user_id,
            clock.sample(),
            only=None if token is None else token.session_id,
            live=paging.flag(request, "live"),
            overdue=paging.flag(request, "overdue"),
            origin=origin_of(request),
            after=None if after is None else (int(after[0]), str(after[1])),
            limit=paging.limit(request),
        )
        return Response(paging.page(found, None if following is None else paging.encode_cursor(following)))

    @describe.call(
        "Make a session, opened at once if asked",
        {201: shapes.SESSION_CREATED},
        tag=_TAG,
        body=CREATE,
        refusals=["session_exists", "limit_reached"],
    )
    def create(self, request: Request) -> Response:
        body = CREATE.read(request.data)
        now = clock.sample()
        made = log.Header(
            id=body["id"] or log.new_id(),
            owner_id=base.caller(request),
            created_at=now,
            title=body["title"],
            cwd=body["cwd"],
            metadata=lossless.dumps(body["metadata"] or {}),
        )
        opening = None
        if body["open"]:
            # A host that gives no name of its own gets one that no other host can take over with.
            opening = live.Opening(holder=body["holder"] or log.new_id(), seconds=body["leaseSeconds"])
        lease = live.create(made, opening)
        # The clock anew: the lease was taken after the first sample, and must not look cut.
        return Response(reading.view(made, clock.sample()) | lease, status=201)

    @describe.call("Read a session", {200: shapes.SESSION}, tag=_TAG, parameters=[describe.SESSION, describe.LEASE])
    def retrieve(self, request: Request, session_id: str) -> Response:
        header = self.readable(request, session_id)
        self.renew_lease(request, header)
        return Response(reading.view(header, clock.sample()))

    @describe.call(
        "Open a session: take its lease",
        {200: shapes.LEASE},
        tag=_TAG,
        parameters=[describe.SESSION],
        body=OPEN,
        refusals=["session_live"],
    )
    def open(self, request: Request, session_id: str) -> Response:
        self.writable(request, session_id)
        body = OPEN.read(request.data)
        opening = live.Opening(holder=body["holder"], seconds=body["leaseSeconds"])
        return Response(live.open_(session_id, opening))

    @describe.call(
        "Renew the lease",
        {200: shapes.LEASE},
        tag=_TAG,
        parameters=[describe.SESSION, describe.LEASE],
        body=HOLD,
        refusals=["lease_lost"],
    )
    def renew(self, request: Request, session_id: str) -> Response:
        self.writable(request, session_id)
        lease_id = HOLD.read(request.data)["leaseId"]
        return Response(live.renew(session_id, lease_id, header_lease=base.lease_of(request)))

    @describe.call(
        "Close a session: give its lease back",
        {200: shapes.CLOSED},
        tag=_TAG,
        parameters=[describe.SESSION, describe.LEASE],
        body=HOLD,
        refusals=["lease_lost"],
    )
    def close(self, request: Request, session_id: str) -> Response:
        self.writable(request, session_id)
        lease_id = HOLD.read(request.data)["leaseId"]
        return Response(live.close(session_id, lease_id, header_lease=base.lease_of(request)))

    @describe.call(
        "Fork a session: a child inherits its events up to a boundary",
        {201: shapes.SESSION},
        tag=_TAG,
        parameters=[describe.SESSION, describe.LEASE],
        body=FORK,
        refusals=["turn_open", "session_exists", "limit_reached", "lease_lost"],
    )
    def fork(self, request: Request, session_id: str) -> Response:
        parent = self.writable(request, session_id)
        body = FORK.read(request.data)
        child = live.fork(
            parent,
            session_id=body["id"] or log.new_id(),
            owner_id=base.caller(request),
            boundary=body["boundary"],
            lease_id=base.lease_of(request),
        )
        return Response(reading.view(child, clock.sample()), status=201)


class Events(base.SessionView):
    """``/sessions/{id}/events``."""

    for_session_tokens = frozenset(("index",))

    @describe.call(
        "Read the log, a fork's inherited prefix included",
        {200: shapes.EVENTS},
        tag="log",
        parameters=[describe.SESSION, _AFTER, describe.LIMIT, describe.LEASE],
    )
    def index(self, request: Request, session_id: str) -> Response:
        header = self.readable(request, session_id)
        after = paging.whole_number(request, "after", default=-1, low=-1, high=lossless.MAX_SAFE_INTEGER)
        size = paging.limit(request)
        self.renew_lease(request, header)
        found = log.read(header, after=after, limit=size)
        following = found[-1].seq if len(found) == size else None
        return Response(paging.page([event.to_json() for event in found], following))

    @describe.call(
        "Append an event of the host's own",
        {201: shapes.EVENT},
        tag="log",
        parameters=[describe.SESSION, describe.LEASE],
        body=APPEND,
        refusals=["lease_lost"],
    )
    def create(self, request: Request, session_id: str) -> Response:
        self.writable(request, session_id)
        body = APPEND.read(request.data)
        event = turns.append_host_event(
            session_id, body["leaseId"], body["type"], body["data"], header_lease=base.lease_of(request)
        )
        return Response(event, status=201)


class Stream(base.SessionView):
    """``/sessions/{id}/stream``: what is there, as Server-Sent Events. :mod:`schedules.api.stream` keeps it going."""

    for_session_tokens = frozenset(("read",))

    @describe.call(
        "Follow the log as Server-Sent Events, from Last-Event-ID or the start on",
        {200: shapes.SERVER_SENT},
        tag="log",
        parameters=[describe.SESSION, _LAST, describe.LEASE],
        media_type="text/event-stream",
    )
    def read(self, request: Request, session_id: str) -> HttpResponse:
        header = self.readable(request, session_id)
        after = paging.whole(request.META.get("HTTP_LAST_EVENT_ID", "-1"), "Last-Event-ID", low=-1)
        self.renew_lease(request, header)
        found = log.read(header, after=after, limit=paging.DEFAULT_LIMIT)
        told = "".join(f"id: {event.seq}\ndata: {lossless.dumps(event.to_json())}\n\n" for event in found)
        return HttpResponse(told, content_type="text/event-stream", headers={"Cache-Control": "no-store"})


class Schedules(base.SessionView):
    """``/sessions/{id}/schedules``: the reminders, of cold sessions too."""

    for_session_tokens = frozenset(("index",))

    @describe.call(
        "List the active reminders in creation order",
        {200: shapes.listed(shapes.VIEW)},
        tag="schedules",
        parameters=[describe.SESSION, describe.CURSOR, describe.LIMIT, describe.LEASE],
        refusals=[errors.CORRUPT.code],
    )
    def index(self, request: Request, session_id: str) -> Response:
        header = self.readable(request, session_id)
        after = paging.cursor(request, int)
        size = paging.limit(request)
        live.catch_up(session_id)
        found, following = reading.schedules(
            session_id, clock.sample(), after=-1 if after is None else int(after[0]), limit=size
        )
        # A corrupt log is refused above.
        self.renew_lease(request, header)
        return Response(paging.page(found, None if following is None else paging.encode_cursor([following])))


def origin_of(request: Request) -> str | None:
    """``origin`` of the query; one that no session can have finds none."""
    text = request.query_params.get("origin")
    if text is None:
        return None
    return text if lossless.is_unicode(text) and "\0" not in text else ""
