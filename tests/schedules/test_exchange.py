"""Logs come in and go out as they are: whole, exact, or refused with the line that is wrong."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedules import exchange, live, reading, tools, transaction, turns
from schedules.models import Lease
from schedules.projection import rebuild
from schedules.sessions import log, lossless
from schedules.sessions.events import Event
from tests.conftest import START, HandClock
from tests.schedules.session_logs import HEADER, event, lines

pytestmark = pytest.mark.usefixtures("store")


def stored(header: log.Header) -> list[Event]:
    return list(log.stream(header))


def renamed(text: str, name: str) -> str:
    head, rest = text.split("\n", 1)
    return json.dumps({**json.loads(head), "id": name}, separators=(",", ":")) + "\n" + rest


@pytest.fixture
def take(user: User) -> Callable[..., log.Header]:
    """``take(record, ...)``: the header of a log imported from these lines."""
    return lambda *records: exchange.import_log(lines(*records), owner_id=user.pk)


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


def test_opening_ends_a_turn_that_the_log_left_open(take: Callable[..., log.Header], clock: HandClock) -> None:
    header = take(HEADER, event(0, "turn/start", data={"turn": 7}))
    live.open_("one", live.Opening(holder="host"))
    assert [(e.type, e.data) for e in stored(header)[1:]] == [
        ("turn/end", {"turn": 7, "outcome": "interrupted"}),
        ("session/opened", {"holder": "host"}),
    ]


def test_a_log_that_does_not_fold_is_imported_and_is_corrupt(take: Callable[..., log.Header], clock: HandClock) -> None:
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


def test_a_packed_row_is_stored_as_its_events(take: Callable[..., log.Header]) -> None:
    data = {"turn": 1, "step": 0, "index": 2, "dt": [5, -7], "texts": ["a", "", "\ud800"]}
    header = take(HEADER, event(0), {"type": "text-chunks", "seq0": 1, "time0": 100, "data": data}, event(4))
    assert [(e.seq, e.type, e.time) for e in stored(header)][1:4] == [
        (1, "assistant/chunk", 100),
        (2, "assistant/chunk", 105),
        (3, "assistant/chunk", 98),
    ]


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
    assert [lossless.dumps(e.to_json()) for e in stored(again)] == [lossless.dumps(e.to_json()) for e in stored(header)]
    for kept, given_ in zip(stored(header), records[1:], strict=True):
        assert lossless.dumps(kept.data) == lossless.dumps(given_["data"])
    with transaction.barrier():
        assert rebuild.check(first) == []
