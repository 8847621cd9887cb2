"""The three tools over HTTP, and the catalogues of tools and event types."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from schedules import tools
from schedules.access.authentication import ForSessionTokens
from schedules.api import base, describe, errors, paging, shapes
from schedules.domain import catalogue, toolbox
from schedules.domain import errors as domain_errors
from schedules.sessions.errors import Refusal
from schedules.sessions.lossless import Json

_TAG = "tools"
_REFUSALS = [*domain_errors.CODES, "session_not_live", "lease_lost"]
_WRITES = [*_REFUSALS, "idempotency_conflict"]


def _inputs(name: str) -> shapes.Schema:
    schema: shapes.Schema = shapes.TOOLS[name]["inputSchema"]  # type: ignore[assignment]  # a JSON object
    return schema


def _outputs(name: str) -> shapes.Schema:
    schema: shapes.Schema = shapes.TOOLS[name]["outputSchema"]  # type: ignore[assignment]  # a JSON object
    return schema


class Tools(base.SessionView):
    """``/sessions/{id}/tools/...``: the arguments are the body, the canonical value is the answer."""

    for_session_tokens = frozenset(("schedule_create", "schedule_list", "schedule_delete"))

    def handle_exception(self, exc: Exception) -> Response:
        answer = super().handle_exception(exc)
        if answer.status_code == errors.STATUS[domain_errors.UNCERTAIN.code] and self.action in shapes.TOOLS:
            # The database was lost before the tool was called: on the way to the caller or to the session.
            operation = self.action.removeprefix("schedule_")
            answer.data = tools.uncertain(operation, self._known(operation)).value
        return answer

    def _known(self, operation: str) -> dict[str, Json]:
        try:
            return tools.named(operation, self.request.data)
        except Refusal:
            return {}

    @describe.call(
        "Call schedule_create",
        {200: _outputs("schedule_create")},
        tag=_TAG,
        parameters=[describe.SESSION, describe.ONCE, describe.LEASE],
        body=_inputs("schedule_create"),
        refusals=[*_WRITES, "limit_reached"],
        error=shapes.TOOL_ERROR,
    )
    def schedule_create(self, request: Request, session_id: str) -> Response:
        self.writable(request, session_id)
        once = base.once_of(request, "schedule_create", request.data)
        return _response(tools.create(session_id, request.data, lease_id=base.lease_of(request), once=once))

    @describe.call(
        "Call schedule_list",
        {200: _outputs("schedule_list")},
        tag=_TAG,
        parameters=[describe.SESSION, describe.LEASE],
        body=_inputs("schedule_list"),
        refusals=_REFUSALS,
        error=shapes.TOOL_ERROR,
    )
    def schedule_list(self, request: Request, session_id: str) -> Response:
        self.writable(request, session_id)
        return _response(tools.list_(session_id, request.data, lease_id=base.lease_of(request)))

    @describe.call(
        "Call schedule_delete",
        {200: _outputs("schedule_delete")},
        tag=_TAG,
        parameters=[describe.SESSION, describe.ONCE, describe.LEASE],
        body=_inputs("schedule_delete"),
        refusals=_WRITES,
        error=shapes.TOOL_ERROR,
    )
    def schedule_delete(self, request: Request, session_id: str) -> Response:
        self.writable(request, session_id)
        once = base.once_of(request, "schedule_delete", request.data)
        return _response(tools.delete(session_id, request.data, lease_id=base.lease_of(request), once=once))


class Catalogues(ForSessionTokens, ViewSet):
    """``/tools`` and ``/event-types``."""

    for_session_tokens = frozenset(("tools", "event_types"))

    @describe.call(
        "The tools, as a model's function-calling API takes them", {200: shapes.listed(shapes.TOOL)}, tag=_TAG
    )
    def tools(self, request: Request) -> Response:
        return Response(paging.page(toolbox.TOOLS, None))

    @describe.call("The types of events", {200: shapes.listed(shapes.EVENT_TYPE)}, tag="log")
    def event_types(self, request: Request) -> Response:
        return Response(paging.page(catalogue.EVENT_TYPES, None))


def _response(answer: tools.Answer) -> Response:
    return errors.logged(Response(answer.value, status=200 if answer.code is None else errors.STATUS[answer.code]))
