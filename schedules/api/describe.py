"""How the API describes its calls: one decorator for each view's method, so that the schema stays true to the code."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from schedules.api import errors, fields, paging, shapes

View = TypeVar("View", bound=Callable[..., Any])

#: Every id that a session may have, as a path holds it.
SESSION_ID = r"[A-Za-z0-9._:-]{1,128}"

SESSION = OpenApiParameter(
    "session_id",
    {"type": "string", "pattern": f"^{SESSION_ID}$"},
    OpenApiParameter.PATH,
    description="The session.",
)
TURN = OpenApiParameter("number", {"type": "integer", "minimum": 0}, OpenApiParameter.PATH, description="The turn.")
FOLLOWUP = OpenApiParameter("followup_id", OpenApiTypes.STR, OpenApiParameter.PATH, description="The follow-up.")
LEASE = OpenApiParameter(
    "Wakeful-Lease",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The caller's leaseId: the call renews the lease, and is refused with lease_lost if it is stale.",
)
ONCE = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255},
    OpenApiParameter.HEADER,
    description="The same key with the same body gives the first answer again and writes nothing.",
)
LIMIT = OpenApiParameter(
    "limit",
    {"type": "integer", "minimum": 1, "maximum": paging.MAX_LIMIT, "default": paging.DEFAULT_LIMIT},
    description="How many results at most.",
)
CURSOR = OpenApiParameter("cursor", OpenApiTypes.STR, description="The next of the page before.")


def query(name: str, schema: dict[str, Any], about: str) -> OpenApiParameter:
    """A parameter of the query string."""
    return OpenApiParameter(name, schema, description=about)


def call(
    summary: str,
    answers: dict[int, shapes.Schema],
    *,
    tag: str,
    parameters: Sequence[OpenApiParameter] = (),
    body: fields.Body | shapes.Schema | None = None,
    refusals: Sequence[str] = (),
    error: shapes.Schema = shapes.ERROR,
    media_type: str = "application/json",
) -> Callable[[View], View]:
    """Describe a view's method: what it takes, what it answers, and the codes that it may refuse with.

    The method of a list is named ``index``: drf-spectacular takes the answer of one named ``list`` for an item of it.
    """
    codes = {
        "unauthenticated",
        "forbidden",
        "not_found",
        "invalid_request",
        "persistence_uncertain",
        "internal_error",
        *refusals,
    }
    if body is not None:
        codes |= {"invalid_json", "too_large"}
    if LEASE in parameters:
        codes.add("lease_lost")
    by_status: dict[int, list[str]] = {}
    for code in sorted(codes):
        by_status.setdefault(errors.STATUS[code], []).append(code)
    responses: dict[int, Any] = {
        status: OpenApiResponse(response=error, description=", ".join(names)) for status, names in by_status.items()
    }
    responses |= {
        (status, media_type): OpenApiResponse(response=shape, description="") for status, shape in answers.items()
    }
    request = None
    if body is not None:
        request = {"application/json": body.schema() if isinstance(body, fields.Body) else body}

    def described(view: View) -> View:
        return extend_schema(
            # Such as sessions_open: no two methods share a name.
            operation_id=view.__qualname__.lower().replace(".", "_"),
            summary=summary,
            tags=[tag],
            parameters=list(parameters),
            request=request,
            responses=responses,
        )(view)

    return described
