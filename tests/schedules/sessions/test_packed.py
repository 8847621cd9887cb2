"""A packed row is exactly its events, or it is refused."""

from typing import Any

import pytest

from schedules.sessions import packed
from schedules.sessions.events import Event


def row(kind: str = "text-chunks", **changed: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"turn": 1, "step": 0, "index": 2, "dt": [5, -7]}
    if kind == "tool-call-chunks":
        data |= {"id": "call", "args": ["{", "", "}"]}
    else:
        data |= {"texts": ["a", "", "\ud800"]}
    data |= changed
    return {"type": kind, "seq0": 0, "time0": 100, "data": {k: v for k, v in data.items() if v != "drop"}}


@pytest.mark.parametrize(("kind", "delta"), [("text-chunks", "text-delta"), ("reasoning-chunks", "reasoning-delta")])
def test_a_row_of_text_is_its_events(kind: str, delta: str) -> None:
    assert list(packed.expand(row(kind))) == [
        Event(
            seq=seq,
            type="assistant/chunk",
            time=time,
            data={"turn": 1, "step": 0, "chunk": {"type": delta, "index": 2, "text": text}},
        )
        for seq, time, text in [(0, 100, "a"), (1, 105, ""), (2, 98, "\ud800")]
    ]


@pytest.mark.parametrize("name", [{}, {"name": "read"}])
def test_a_row_of_a_tool_call_is_its_events(name: dict[str, str]) -> None:
    assert [event.data for event in packed.expand(row("tool-call-chunks", **name))] == [
        {
            "turn": 1,
            "step": 0,
            "chunk": {"type": "tool-call-delta", "index": 2, "id": "call", **name, "argumentsDelta": text},
        }
        for text in ("{", "", "}")
    ]


MISSHAPEN = [
    row(dt=[1]),
    row(dt=[1, 2, 3]),
    row(dt=[1, 0.5]),
    row(dt=[1, True]),
    row(dt="drop"),
    row(dt={"0": 1}),
    row(texts="drop"),
    row(texts=["a", "b", 1]),
    row(texts=["a", "b"], dt=[1]),
    row(texts="abc"),
    row(turn="drop"),
    row(turn="1"),
    row(step=None),
    row(index=True),
    row(extra=1),
    row(args=["a"]),
    row("tool-call-chunks", id="drop"),
    row("tool-call-chunks", id=5),
    row("tool-call-chunks", name=None),
    row("tool-call-chunks", texts=["a"]),
    {**row(), "seq": 0},
    {**row(), "seq0": "0"},
    {**row(), "time0": None},
    {**row(), "data": []},
    {"type": "text-chunks"},
    {"type": "text-chunks", "seq": 0, "time": 1, "data": {}},
    {**row(), "type": "chunks"},
    {**row(), "type": ["text-chunks"]},
]


@pytest.mark.parametrize("bad", MISSHAPEN, ids=repr)
def test_a_row_of_another_shape_is_refused_before_its_first_event(bad: dict[str, Any]) -> None:
    with pytest.raises(packed.Misshapen):
        packed.expand(bad)
