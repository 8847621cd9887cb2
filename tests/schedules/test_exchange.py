"""Logs come in and go out as they are: whole, exact, or refused with the line that is wrong."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedules import exchange, live, reading, tools, transaction, turns
from schedules.models import Lease, Reminder, Session, SessionEvent, SessionQuota, SessionState
from schedules.projection import rebuild
from schedules.sessions import log, lossless
from schedules.sessions.errors import Refusal
from schedules.sessions.events import Event
from tests.conftest import START, HandClock

pytestmark = pytest.mark.usefixtures("store")

HEADER: dict[str, Any] = {
    "type": "session",
    "version": 0,
    "id": "one",
    "createdAt": START,
    "delegationDepth": 0,
}


def lines(*records: Any) -> list[bytes]:
    return [(r if isinstance(r, str) else lossless.dumps(r)).encode() + b"\n" for r in records]


def event(seq: Any, type_: str = "user/message", **given_: Any) -> dict[str, Any]:
    return {"type": type_, "seq": seq, "time": START, "data": {"turn": 1, "text": "hi"}, **given_}


def stored(header: log.Header) -> list[Event]:
    return list(log.stream(header))


def renamed(text: str, name: str) -> str:
    head, rest = text.split("\n", 1)
    return json.dumps({**json.loads(head), "id": name}, separators=(",", ":")) + "\n" + rest


def written() -> list[int]:
    tables = (Session, SessionEvent, SessionState, Reminder, SessionQuota)
    return [table.objects.count() for table in tables]


@pytest.fixture
def take(user: User) -> Callable[..., log.Header]:
    """``take(record, ...)``: the header of a log imported from these lines."""
    return lambda *records: exchange.import_log(lines(*records), owner_id=user.pk)


# Import.


def test_times_data_and_unknown_keys_are_kept(take: Callable[..., log.Header], clock: HandClock) -> None:
    data = '{"b":60.0,"a":60,"s":"\\u0000\\ud800\\u2028","n":-0.0,"big":' + "9" * 300 + "}"
    header = take(
        {**HEADER, "cwd": "/w\u2028", "origin": "fork", "agentPreset": {"x": [1.0]}, "delegationDepth": 2},
        f'{{"type":"assistant/message","seq":0,"time":-5,"data":{data},"surfaceOp":null,"ignorable":false}}',
    )
    (kept,) = stored(header)
    assert lossless.dumps(kept.data) == data
    assert kept.time == -5
    assert kept.extra == {"surfaceOp": None, "ignorable": False}
    found = log.header("one")
    assert found == header
    assert (header.created_at, header.cwd, header.origin) == (START, "/w\u2028", "fork")
    assert json.loads(header.extra or "") == {"delegationDepth": 2, "agentPreset": {"x": [1.0]}}


def test_a_line_ends_at_a_newline_and_nothing_else(take: Callable[..., log.Header]) -> None:
    raw = '{"type":"x","seq":0,"time":1,"data":"a\u2028b\u0085c\x7f"}'
    header = exchange.import_log(
        [lossless.dumps({**HEADER, "id": "raw"}).encode() + b"\r\n", raw.encode()],
        owner_id=take(HEADER).owner_id,
    )
    assert stored(header)[0].data == "a\u2028b\u0085c\x7f"


def test_the_projection_follows_from_the_log(take: Callable[..., log.Header], clock: HandClock) -> None:
    record = {"id": "x", "kind": "at", "prompt": "look", "scheduledAt": "2026-12-01T00:00:01.000Z"}
    take(
        HEADER,
        event(0, "schedule/change", data={"version": 1, "operation": "create", "schedule": record}),
        event(1, "turn/start", data={"turn": 7}),
    )
    shown = reading.view(log.header("one"), clock.now)  # type: ignore[arg-type]
    assert shown["live"] is False
    assert shown["counts"] == {"events": 2, "turns": 7, "reminders": 1, "waiting": 0, "exhausted": 0}
    with transaction.barrier():
        assert rebuild.check("one") == []


def test_opening_ends_a_turn_that_the_log_left_open(
    take: Callable[..., log.Header], clock: HandClock
) -> None:
    header = take(HEADER, event(0, "turn/start", data={"turn": 7}))
    live.open_("one", live.Opening(holder="host"))
    assert [(e.type, e.data) for e in stored(header)[1:]] == [
        ("turn/end", {"turn": 7, "outcome": "interrupted"}),
        ("session/opened", {"holder": "host"}),
    ]


def test_a_log_that_does_not_fold_is_imported_and_is_corrupt(
    take: Callable[..., log.Header], clock: HandClock
) -> None:
    take(HEADER, event(0, "schedule/change", data={"version": 2}), event(1))
    live.open_("one", live.Opening(holder="host"))
    assert tools.list_("one", {}).code == "corrupt_schedule_log"


def test_an_imported_fork_owns_its_prefix_and_adopts_none_of_its_reminders(
    take: Callable[..., log.Header], clock: HandClock
) -> None:
    record = {"id": "schedule-1", "kind": "at", "prompt": "look", "scheduledAt": "2026-12-02T00:00:00.000Z"}
    create = {"version": 1, "operation": "create", "schedule": record}
    header = take(
        {**HEADER, "parentSession": "gone", "seedLength": 2},
        event(0, "schedule/change", data=create),
        event(1, "turn/start", data={"turn": 1}),
        event(2, "schedule/change", data=create),
    )
    assert (header.source, header.seed_length, header.parent) == (None, 2, "gone")
    shown = reading.view(header, clock.now)
    assert shown["openTurn"] is None
    assert shown["counts"] == {"events": 3, "turns": 0, "reminders": 1, "waiting": 0, "exhausted": 0}


def row(kind: str = "text-chunks", **changed: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"turn": 1, "step": 0, "index": 2, "dt": [5, -7]}
    if kind == "tool-call-chunks":
        data |= {"id": "call", "args": ["{", "", "}"]}
    else:
        data |= {"texts": ["a", "", "\ud800"]}
    data |= changed
    return {"type": kind, "seq0": 0, "time0": 100, "data": {k: v for k, v in data.items() if v != "drop"}}


@pytest.mark.parametrize(
    ("kind", "delta"), [("text-chunks", "text-delta"), ("reasoning-chunks", "reasoning-delta")]
)
def test_a_packed_row_of_text_is_its_events(take: Callable[..., log.Header], kind: str, delta: str) -> None:
    header = take(HEADER, row(kind), event(3))
    assert stored(header)[:3] == [
        Event(
            seq=seq,
            type="assistant/chunk",
            time=time,
            data={"turn": 1, "step": 0, "chunk": {"type": delta, "index": 2, "text": text}},
        )
        for seq, time, text in [(0, 100, "a"), (1, 105, ""), (2, 98, "\ud800")]
    ]


@pytest.mark.parametrize("name", [{}, {"name": "read"}])
def test_a_packed_row_of_a_tool_call_is_its_events(
    take: Callable[..., log.Header], name: dict[str, str]
) -> None:
    header = take(HEADER, row("tool-call-chunks", **name))
    assert [e.data for e in stored(header)] == [
        {
            "turn": 1,
            "step": 0,
            "chunk": {"type": "tool-call-delta", "index": 2, "id": "call", **name, "argumentsDelta": text},
        }
        for text in ("{", "", "}")
    ]


# Refusals.

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
    {**row(), "seq0": 1},
    {**row(), "time0": None},
    {**row(), "time0": 2**53 - 1},
    {**row(), "data": []},
    {"type": "text-chunks"},
    event(0, "text-chunks"),
]

BAD_EVENTS = [
    "",
    "{",
    "[]",
    "null",
    '{"type":"x","seq":0,"time":1,"data":NaN}',
    '{"type":"x","seq":0,"time":1,"data":1e400}',
    '{"type":"x","seq":0,"seq":0,"time":1,"data":1}',
    '{"type":"x","seq":0,"time":1,"data":' + "[" * 65 + "]" * 65 + "}",
    event(1),
    event(-1),
    event(True),
    event("0"),
    event(None),
    event(0, time=1.5),
    event(0, time="now"),
    event(0, time=2**53),
    event(0, time=253_402_300_800_000),
    event(0, type_=""),
    event(0, type=None),
    event(0, type=["x"]),
    event(0, type_="a\0b"),
    event(0, type_="\ud800"),
    {"type": "x", "seq": 0, "time": 1},
    *MISSHAPEN,
]

BAD_HEADERS = [
    {**HEADER, "type": "x"},
    {**HEADER, "version": 1},
    {**HEADER, "version": False},
    {**HEADER, "id": ""},
    {**HEADER, "id": "a/b"},
    {**HEADER, "id": "a\n"},
    {**HEADER, "id": "a\0"},
    {**HEADER, "id": "x" * 129},
    {**HEADER, "id": 5},
    {**HEADER, "createdAt": "2026-12-01T00:00:00.000Z"},
    {**HEADER, "createdAt": 253_402_300_800_000},
    {**HEADER, "delegationDepth": None},
    {**HEADER, "delegationDepth": -1},
    {**HEADER, "seedLength": 1.5},
    {**HEADER, "seedLength": -1},
    {**HEADER, "seedLength": 2},
    {**HEADER, "cwd": "a\0"},
    {**HEADER, "cwd": "\ud800"},
    {**HEADER, "cwd": 5},
    {**HEADER, "title": "\udfff"},
    {**HEADER, "origin": "x" * 129},
    {**HEADER, "parentSession": 5},
    {**HEADER, "metadata": []},
    *({key: value for key, value in HEADER.items() if key != missing} for missing in HEADER),
    event(0),
    [],
    "\ufeff" + json.dumps(HEADER),
]


@pytest.mark.parametrize("bad", BAD_EVENTS, ids=repr)
def test_a_bad_line_refuses_the_whole_log_and_names_itself(take: Callable[..., log.Header], bad: Any) -> None:
    before = written()
    with pytest.raises(exchange.Malformed) as refused:
        take(HEADER, bad)
    assert refused.value.line == 2
    assert refused.value.message
    assert written() == before


@pytest.mark.parametrize("bad", BAD_HEADERS, ids=repr)
def test_a_bad_header_refuses_the_whole_log(take: Callable[..., log.Header], bad: Any) -> None:
    before = written()
    with pytest.raises(exchange.Malformed) as refused:
        take(bad, event(0))
    assert refused.value.line == 1
    assert written() == before


def test_an_empty_log_is_refused(take: Callable[..., log.Header]) -> None:
    with pytest.raises(exchange.Malformed, match="empty"):
        take()


def test_bytes_that_are_no_utf8_are_refused(user: User) -> None:
    with pytest.raises(exchange.Malformed, match=r"line 2: .*UTF-8"):
        exchange.import_log([*lines(HEADER), b'{"type":"\xff"}\n'], owner_id=user.pk)


def test_an_id_that_is_taken_is_refused_whole(take: Callable[..., log.Header]) -> None:
    take(HEADER, event(0))
    before = written()
    with pytest.raises(Refusal) as refused:
        take(HEADER, event(0), event(1))
    assert refused.value.code == "session_exists"
    assert written() == before


@override_settings(WAKEFUL_MAX_SESSIONS=1)
def test_an_import_counts_as_one_of_the_owners_sessions(take: Callable[..., log.Header]) -> None:
    take(HEADER)
    with pytest.raises(Refusal) as refused:
        take({**HEADER, "id": "two"})
    assert refused.value.code == "limit_reached"
    assert Session.objects.count() == 1


# Export.


def test_what_only_wakeful_knows_is_marked(user: User, clock: HandClock) -> None:
    header = log.Header(id="one", owner_id=user.pk, created_at=START, title="T", metadata='{"a":1}')
    live.create(header, live.Opening(holder="host"))
    lease = Lease.objects.get().lease_id
    turns.append_host_event("one", lease, "host:note", None)
    turns.begin("one", lease, turns.message("hello"))
    tools.create("one", {"prompt": "p", "after_seconds": 5})
    turns.end("one", 1, lease, "completed", "bye")
    live.close("one", lease)
    exported = [json.loads(text) for text in exchange.export_log(header)]
    assert exported[0] == {**HEADER, "title": "T", "metadata": {"a": 1}}
    assert list(exported[1]) == ["type", "seq", "time", "data", "ignorable"]
    marked = {line["type"] for line in exported[1:] if "ignorable" in line}
    assert marked == {"session/opened", "session/closed", "host:note"}
    assert all(line.get("ignorable", True) is True for line in exported[1:])


def test_our_mark_is_not_stored_and_an_events_own_is(take: Callable[..., log.Header]) -> None:
    header = take(
        HEADER,
        event(0, "session/opened", ignorable=True),
        event(1, "session/opened", ignorable=False),
        event(2, "todo/change", ignorable=True),
        event(3, "session/opened"),
    )
    assert [e.extra for e in stored(header)] == [None, {"ignorable": False}, {"ignorable": True}, None]
    marks = [json.loads(text).get("ignorable") for text in exchange.export_log(header)]
    assert marks == [None, True, False, True, True]


def test_a_forks_export_holds_its_prefix_and_imports_as_the_same_log(user: User, clock: HandClock) -> None:
    parent = log.Header(id="one", owner_id=user.pk, created_at=START)
    live.create(parent, live.Opening(holder="host"))
    tools.create("one", {"prompt": "p", "after_seconds": 5})
    child = live.fork(parent, session_id="two", owner_id=user.pk)
    live.open_("two", live.Opening(holder="host"))
    text = "".join(exchange.export_log(child))
    assert text.count("\n") == 4
    again = exchange.import_log(renamed(text, "three").encode().splitlines(True), owner_id=user.pk)
    assert stored(again) == stored(child)
    assert (again.seed_length, again.source, again.parent) == (2, None, "one")
    assert renamed("".join(exchange.export_log(again)), "two") == text


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10)
extras = st.dictionaries(
    st.sampled_from(["sourceEventSeqs", "surfaceOp", "ignorable", "seq0", "é"]), json_values, max_size=3
)
types = st.sampled_from(
    ["turn/start", "turn/end", "session/opened", "followup/queued", "host:x", "schedule/change", "y"]
)


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    count = draw(st.integers(0, 5))
    head: dict[str, Any] = {**HEADER, "seedLength": draw(st.integers(0, count))}
    head |= draw(st.fixed_dictionaries({}, optional={"title": plain, "cwd": plain, "origin": plain}))
    head |= draw(
        st.fixed_dictionaries(
            {},
            optional={"metadata": st.dictionaries(plain, json_values), "agentPreset": json_values},
        )
    )
    return [
        head,
        *(
            {**draw(extras), "type": draw(types), "seq": seq, "time": draw(st.integers(-9, 9)), "data": data}
            for seq in range(count)
            for data in [draw(json_values)]
        ),
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs())
def test_any_log_survives_export_and_import(user: User, records: list[dict[str, Any]]) -> None:
    first = log.new_id()
    header = exchange.import_log(lines({**records[0], "id": first}, *records[1:]), owner_id=user.pk)
    once = "".join(exchange.export_log(header))
    second = log.new_id()
    again = exchange.import_log(renamed(once, second).encode().splitlines(True), owner_id=user.pk)
    assert renamed("".join(exchange.export_log(again)), first) == once
    assert [lossless.dumps(e.to_json()) for e in stored(again)] == [
        lossless.dumps(e.to_json()) for e in stored(header)
    ]
    for kept, given_ in zip(stored(header), records[1:], strict=True):
        assert lossless.dumps(kept.data) == lossless.dumps(given_["data"])
    with transaction.barrier():
        assert rebuild.check(first) == []
