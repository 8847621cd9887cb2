"""Packed rows of the reference harness: one line of its log that stands for a run of chunk events."""

from collections.abc import Iterator
from itertools import accumulate

from schedules.sessions import lossless
from schedules.sessions.events import Event
from schedules.sessions.lossless import Json

#: The tag of each kind of row, with the type of its members' deltas.
TAGS = {
    "text-chunks": "text-delta",
    "reasoning-chunks": "reasoning-delta",
    "tool-call-chunks": "tool-call-delta",
}
CHUNK_TYPE = "assistant/chunk"

_FEWEST = 3
_ROW = {"type", "seq0", "time0", "data"}
_SHARED = {"turn", "step", "index", "dt"}


class Misshapen(ValueError):
    """A row that is not exactly of its kind's shape; its message is plain words."""


def expand(row: dict[str, Json]) -> Iterator[Event]:
    """The events that a row stands for, in order. Raises Misshapen before the first."""
    tag, data = row.get("type"), row.get("data")
    if not isinstance(tag, str) or tag not in TAGS:
        raise Misshapen("This is no packed row.")
    if row.keys() != _ROW or not isinstance(data, dict):
        raise Misshapen(f"A {tag} row has exactly type, seq0, time0 and data, which is an object.")
    calls = tag == "tool-call-chunks"
    texts = _strings(data, "args" if calls else "texts")
    chunk: dict[str, Json] = {"type": TAGS[tag], "index": data.get("index")}
    keys = _SHARED | ({"args", "id"} if calls else {"texts"})
    if calls:
        named = ("id", "name") if "name" in data else ("id",)
        keys |= set(named)
        for key in named:
            if not isinstance(data.get(key), str):
                raise Misshapen(f"{key} of a {tag} row must be a string.")
            chunk[key] = data[key]
    if data.keys() != keys:
        raise Misshapen(f"The data of a {tag} row has missing or extra keys.")
    for key in ("turn", "step", "index"):
        _integer(data, key)
    seq, gaps = _integer(row, "seq0"), _gaps(data, len(texts))
    times = accumulate(gaps, initial=_integer(row, "time0"))
    said = "argumentsDelta" if calls else "text"
    return (
        Event(
            seq=seq + k,
            type=CHUNK_TYPE,
            time=time,
            data={"turn": data["turn"], "step": data["step"], "chunk": {**chunk, said: text}},
        )
        for k, (text, time) in enumerate(zip(texts, times, strict=True))
    )


def _strings(data: dict[str, Json], key: str) -> list[str]:
    values = data.get(key)
    texts = [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
    if texts != values or len(texts) < _FEWEST:
        raise Misshapen(f"{key} must be a list of {_FEWEST} or more strings.")
    return texts


def _gaps(data: dict[str, Json], members: int) -> list[int]:
    values = data.get("dt")
    gaps = [lossless.safe_integer(value) for value in values] if isinstance(values, list) else []
    whole = [gap for gap in gaps if gap is not None]
    if len(whole) != len(gaps) or len(whole) != members - 1:
        raise Misshapen("dt must be a list of whole numbers, one fewer than the members.")
    return whole


def _integer(data: dict[str, Json], key: str) -> int:
    number = lossless.safe_integer(data.get(key))
    if number is None:
        raise Misshapen(f"{key} of a packed row must be a whole number.")
    return number
