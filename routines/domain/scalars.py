"""What a plain (unquoted) YAML scalar means: the core schema of YAML 1.2, and nothing of 1.1.

`on`, `off`, `yes`, `no`, `12:30`, `1_000` and dates are strings. https://yaml.org/spec/1.2.2/#103-core-schema
"""

import re

from routines.domain import limits
from schedules.sessions.lossless import Json

_CONSTANTS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# What every number, infinity and NaN begins with.
_NUMERIC = frozenset("-+.0123456789")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_MAX_DIGITS = len(str(limits.MAX_NUMBER))


def resolve(text: str) -> Json:
    """The value of a plain scalar. Raises ValueError, in plain words, for infinities, NaN and what no double holds."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMERIC:
        return text
    if _DECIMAL.fullmatch(text):
        magnitude = _integer(text.lstrip("+-"), 10)
        return -magnitude if text.startswith("-") else magnitude
    if _BASED.fullmatch(text):
        return _integer(text[2:], 8 if text[1] == "o" else 16)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise ValueError(limits.NUMBER_TOO_LARGE)
        return number
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(limits.NOT_FINITE)
    return text


def _integer(digits: str, base: int) -> int:
    # By length first: Python refuses to convert very long digit strings with an error of its own.
    significant = digits.lstrip("0") or "0"
    if len(significant) <= _MAX_DIGITS and (number := int(significant, base)) <= limits.MAX_NUMBER:
        return number
    raise ValueError(limits.NUMBER_TOO_LARGE)
