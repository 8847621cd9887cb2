"""A Markdown file with YAML front matter, taken apart: AIP-41's ROUTINE.md, and AIP-15's WORKFLOW.md.

Only lines of three hyphens fence the front matter; those further down are Markdown's own. A language after the fence
(`---js`) is refused, never honoured: some readers would run what follows.
"""

import re
from dataclasses import dataclass

from routines.domain import errors, limits, strictyaml

_CLOSING = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)

_MISSING = "The file must start with front matter: a line ---, then fields as YAML, then another line ---."
_LANGUAGE = "The first line must be exactly ---; only YAML is read, so leave out what follows the hyphens."
_UNCLOSED = "The front matter is not closed: after its last field write a line ---."
_NOT_UTF8 = "The file is not UTF-8; save it as UTF-8."


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The two parts of a file.

    yaml: the text between the fences; it starts on the file's second line.
    body: the Markdown after them, as it stands.
    """

    yaml: str
    body: str


def decode(data: bytes) -> str:
    """The text of a file's bytes. Raises `errors.Invalid` for more than 256 KiB and for bytes that are not UTF-8."""
    if len(data) > limits.MAX_BYTES:
        raise _invalid(limits.TOO_LARGE)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _invalid(_NOT_UTF8, line=data.count(b"\n", 0, error.start) + 1) from None


def split(text: str) -> Parts:
    """Take a file's text apart. Raises `errors.Invalid` where there is no front matter, or the file is over 256 KiB."""
    if len(text) > limits.MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > limits.MAX_BYTES:
        raise _invalid(limits.TOO_LARGE)
    text = text.removeprefix("\ufeff")
    first, found, rest = text.partition("\n")
    opening = first.rstrip(" \t\r")
    if opening != "---":
        language = opening.startswith("---") and opening.strip("-")
        raise _invalid(_LANGUAGE if language else _MISSING, line=1)
    closing = _CLOSING.search(rest)
    if not found or closing is None:
        raise _invalid(_UNCLOSED, line=1)
    return Parts(yaml=rest[: closing.start()], body=rest[closing.end() :].removeprefix("\n"))


def read(text: str) -> strictyaml.Document:
    """The front matter's value, its lines counted in the file. Raises `errors.Invalid` as `split` and `load` do."""
    return strictyaml.load(split(text).yaml, first_line=2)


def _invalid(message: str, line: int | None = None) -> errors.Invalid:
    return errors.Invalid([errors.Fault(code="routine_invalid", message=message, line=line)])
