"""Session logs as lines, for the tests that import them."""

from typing import Any

from schedules.sessions import lossless
from tests.conftest import START

HEADER: dict[str, Any] = {
    "type": "session",
    "version": 0,
    "id": "one",
    "createdAt": START,
    "delegationDepth": 0,
}


def lines(*records: Any) -> list[bytes]:
    """A log of these records; a string stands as it is."""
    return [(r if isinstance(r, str) else lossless.dumps(r)).encode() + b"\n" for r in records]


def event(seq: Any, type_: str = "user/message", **changed: Any) -> dict[str, Any]:
    """An event's record."""
    return {"type": type_, "seq": seq, "time": START, "data": {"turn": 1, "text": "hi"}, **changed}
