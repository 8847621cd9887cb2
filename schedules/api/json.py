"""JSON in and out over HTTP: strict reading, ASCII writing, and no other format whatever a client asks for.

Nothing here may import REST framework's views: they import this module while they are being imported.
"""

from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from schedules.sessions import errors, lossless


class StrictJSONParser(BaseParser):
    """Reads a body of any content type as strict JSON; an empty one is ``{}``.

    Never reads more than one byte over the limit, whatever length the client declares.
    """

    media_type = "*/*"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if _declared_length(parser_context) > limit:
            raise too_large(limit)
        body: bytes = stream.read(limit + 1)
        if len(body) > limit:
            raise too_large(limit)
        if not body:
            return {}
        try:
            return lossless.loads(body)
        except lossless.Invalid as problem:
            raise errors.Refusal("invalid_json", str(problem)) from None


class AsciiJSONRenderer(BaseRenderer):
    """Writes JSON in ASCII, so that every string, lone surrogates included, leaves as it was kept."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        response = (renderer_context or {}).get("response")
        if data is None and response is not None and response.status_code == 204:
            return b""
        return lossless.dumps(data).encode("ascii")


class AlwaysJSON(BaseContentNegotiation):
    """A view's first parser and renderer, whatever ``Content-Type`` and ``Accept`` say: never 406 or 415."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type


def too_large(limit: int) -> errors.Refusal:
    """The refusal of a body over ``limit`` bytes."""
    return errors.Refusal("too_large", f"The body is over the limit of {limit} bytes; send less at once.")


def _declared_length(parser_context: Mapping[str, Any] | None) -> int:
    request = (parser_context or {}).get("request")
    text = "" if request is None else str(request.META.get("CONTENT_LENGTH") or "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
