"""JSON text that loses nothing: what the log stores, and the one strict decoder at the border.

Stored text is ASCII, because neither database column nor driver takes every Python string: PostgreSQL refuses
U+0000 and no driver encodes a lone surrogate. As `\\uXXXX` escapes both survive everywhere.
"""

import hashlib
import json
import re
import sys
from typing import NoReturn, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_DEPTH = 64
MAX_SAFE_INTEGER = 2**53 - 1
MAX_INDEX_KEY = 200

_MAX_DOUBLE = int(sys.float_info.max)
_MAX_DIGITS = len(str(_MAX_DOUBLE))

# Possessive and never failing, so that no text, however broken, makes the scan backtrack or start over.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.?)*+"?|[\[\]{}]', re.DOTALL)

_FAULTS = (
    ("Expecting value", "a value is missing or misspelt"),
    ("Extra data", "there is more text after the value"),
    ("Unterminated string", "a string is not closed"),
    ("Invalid control character", "a string holds a raw control character; write an escape such as \\n"),
    ("Invalid \\", "a string holds an unknown escape"),
    ("Expecting property name", "a key in double quotes is missing"),
    ("Illegal trailing comma", "a comma stands before a closing bracket"),
    ("Expecting ':'", "a colon is missing after a key"),
    ("Expecting ','", "a comma or a closing bracket is missing"),
)


class Invalid(ValueError):
    """Text that is not exactly one strict JSON value; its message is plain words for a person."""


def dumps(value: object) -> str:
    """The ASCII text of a JSON value, compact, its keys in their order.

    Raises ValueError for NaN and the infinities, which JSON has not.
    """
    return _ENCODER.encode(value)


def loads(text: str | bytes) -> Json:
    """Decode text from outside: RFC 8259 without its leniences.

    Refuses, with `Invalid`: bytes that are not UTF-8 or start with a byte order mark, empty text, NaN and
    Infinity, numbers that a double cannot hold, a key given twice, nesting over 64 levels. `-0` comes back
    as the float `-0.0`, so that its sign survives.
    """
    if isinstance(text, bytes):
        text = _decode_utf8(text)
    if text.startswith("\ufeff"):
        raise Invalid("The text starts with a byte order mark; send it without.")
    if not text.strip(" \t\r\n"):
        raise Invalid("The text is empty; a JSON value is expected.")
    _check_depth(text)
    try:
        value: Json = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        fault = next((words for start, words in _FAULTS if error.msg.startswith(start)), "it is malformed")
        where = f"line {error.lineno}, column {error.colno}"
        raise Invalid(f"The text is not valid JSON: {fault} ({where}).") from None
    return value


def loads_trusted(text: str) -> Json:
    """Decode text that `dumps` made. Nothing is checked."""
    value: Json = json.loads(text)
    return value


def canonical(value: Json) -> str:
    """One text for all equal JSON values: keys sorted, `60`, `60.0` and `6e1` alike, `-0` and `0` too.

    Numbers are compared by their exact value; `true` is not `1`.
    """
    return _CANONICAL_ENCODER.encode(_normalised(value))


def index_key(text: str) -> str:
    """An injective form of any string that any database can index.

    It is the JSON-escaped string without its quotes, so plain ids stay themselves. Where that is longer than
    200 characters it is "§sha256:" and the digest of it: escaped text is ASCII, so no string can pose as a
    digest.
    """
    escaped = dumps(text)[1:-1]
    if len(escaped) <= MAX_INDEX_KEY:
        return escaped
    return "§sha256:" + hashlib.sha256(escaped.encode("ascii")).hexdigest()


def is_unicode(text: str) -> bool:
    """Whether the string can be encoded as UTF-8: it holds no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def safe_integer(value: object) -> int | None:
    """The integer that a JSON number stands for, by JavaScript's rule; else None.

    Integral and at most 2^53 - 1 in magnitude: `60.0` is one and `-0` is 0; `true`, `"60"` and 2^53 are none.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    if isinstance(value, int) and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return value
    return None


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"The text is not UTF-8 (byte {error.start + 1}).") from None


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the decoder meets it: its own limit is Python's stack."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        first = token[0][0]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                line = text.count("\n", 0, token.start()) + 1
                column = token.start() - text.rfind("\n", 0, token.start())
                raise Invalid(f"The value is nested over {MAX_DEPTH} levels (line {line}, column {column}).")
        elif first in "]}":
            depth -= 1


def _integer(text: str) -> int | float:
    if text == "-0":
        return -0.0
    # By length first: Python refuses to convert very long digit strings with an error of its own.
    if len(text) <= _MAX_DIGITS + 1 and abs(number := int(text)) <= _MAX_DOUBLE:
        return number
    raise Invalid("A number is too large: a double cannot hold it.")


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Invalid("A number is too large: a double cannot hold it.")
    return number


def _constant(name: str) -> NoReturn:
    raise Invalid(f"{name} is not JSON; send a number or null.")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        shown = dumps(twice if len(twice) <= 40 else twice[:40] + "...")
        raise Invalid(f"An object has the key {shown} twice.")
    return members


def _normalised(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_normalised(item) for item in value]
    if isinstance(value, dict):
        return {key: _normalised(item) for key, item in value.items()}
    return value


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_CANONICAL_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=True)
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
