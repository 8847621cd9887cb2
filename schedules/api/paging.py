"""Keyset pages and the numbers of a query string: what does not read as asked is refused, never guessed.

Query parameters that a call does not know are ignored.
"""

import base64
import binascii
import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard, TypeVar

from rest_framework.request import Request

from schedules.sessions import errors, lossless

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000

_WHOLE = re.compile(r"-?[0-9]{1,16}")
_CURSOR = re.compile(r"[A-Za-z0-9_-]{1,2000}")

Row = TypeVar("Row")
Key = list[int | str]


def limit(request: Request) -> int:
    """``limit``: how many results at most; 50 unless given, 1 to 1,000."""
    return whole_number(request, "limit", default=DEFAULT_LIMIT, low=1, high=MAX_LIMIT)


def whole_number(request: Request, name: str, *, default: int, low: int, high: int) -> int:
    """A whole number of the query, in ASCII digits, ``low`` to ``high``; ``default`` where it is absent."""
    text = request.query_params.get(name)
    return default if text is None else whole(text, name, low=low, high=high)


def whole(text: str, name: str, *, low: int, high: int = lossless.MAX_SAFE_INTEGER) -> int:
    """The whole number that a text is, in ASCII digits, ``low`` to ``high``; ``name`` is what it was sent as."""
    if not _WHOLE.fullmatch(text) or not low <= (number := int(text)) <= high:
        raise _refused(name, f"Send a whole number from {low} to {high}.")
    return number


def flag(request: Request, name: str) -> bool | None:
    """``true`` or ``false`` of the query; None where it is absent."""
    text = request.query_params.get(name)
    if text is None:
        return None
    if text not in ("true", "false"):
        raise _refused(name, "Send true or false.")
    return text == "true"


def cursor(request: Request, *shape: type[int] | type[str]) -> Key | None:
    """The key after which the page starts, typed as in ``cursor(request, int, str)``; None on a first one."""
    text = request.query_params.get("cursor")
    return None if text is None else decode_cursor(text, shape)


def encode_cursor(key: Sequence[int | str]) -> str:
    """A key as text for a URL. It is no secret and gives no right: a page shows what its reader may see."""
    return base64.urlsafe_b64encode(lossless.dumps(list(key)).encode()).decode().rstrip("=")


def decode_cursor(text: str, shape: Sequence[type[int] | type[str]]) -> Key:
    """The key that ``encode_cursor`` was given, proven to have ``shape`` and to be fit for a query."""
    values: lossless.Json = None
    if _CURSOR.fullmatch(text):
        with contextlib.suppress(binascii.Error, lossless.Invalid):
            values = lossless.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    key = [value for value in values if _fits_a_query(value)] if isinstance(values, list) else []
    if [type(value) for value in key] != list(shape) or key != values:
        raise _refused("cursor", "Send the next of the page before, as it was, or leave it out to start anew.")
    return key


def split(rows: Sequence[Row], size: int, key: Callable[[Row], Sequence[int | str]]) -> tuple[list[Row], str | None]:
    """Of rows fetched with a limit of ``size + 1``: a page, and the cursor of the next where there is one."""
    shown = list(rows[:size])
    return shown, encode_cursor(key(shown[-1])) if len(rows) > size else None


def page(results: Sequence[Any], following: int | str | None) -> dict[str, Any]:
    """The body of a list's answer."""
    return {"results": list(results), "next": following}


def _fits_a_query(value: lossless.Json) -> TypeGuard[int | str]:
    if isinstance(value, str):
        return "\0" not in value and lossless.is_unicode(value)
    return type(value) is int and lossless.safe_integer(value) is not None


def _refused(name: str, message: str) -> errors.Refusal:
    return errors.Refusal("invalid_request", f"{name}: {message}", {name: message})
