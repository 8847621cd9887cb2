"""The log as its readers get it: whole across forks, in order, and exactly what was written."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedules.sessions import events, log, lossless
from schedules.sessions.events import Event
from tests.conftest import START

pytestmark = pytest.mark.usefixtures("store")

Make = Callable[..., log.Header]


@pytest.fixture
def make(user: User) -> Make:
    """``make("id", "type", ...)``: a new session whose log has events of these types."""

    def made(session_id: str, *types: str, **given_: Any) -> log.Header:
        header = log.Header(id=session_id, owner_id=user.pk, created_at=START, **given_)
        log.create(header)
        add(header, *types)
        return header

    return made


def add(to: log.Header, *types: str) -> None:
    """Append events that say whose they are."""
    start = log.last_seq(to) + 1
    log.append(
        (to.id, Event(seq=start + k, type=kind, time=START, data=f"{to.id} {start + k}"))
        for k, kind in enumerate(types)
    )


def fork(parent: log.Header, session_id: str, boundary: int) -> log.Header:
    return log.fork(parent, session_id=session_id, owner_id=parent.owner_id, boundary=boundary, now=START)


def read(of: log.Header, after: int = -1, limit: int = 1000) -> list[Any]:
    return [event.data for event in log.read(of, after=after, limit=limit)]


# Reading.


def test_a_log_is_read_in_pages_of_what_follows(make: Make) -> None:
    header = make("a", *"xxxxx")
    assert read(header, limit=2) == ["a 0", "a 1"]
    assert read(header, after=1, limit=2) == ["a 2", "a 3"]
    assert read(header, after=3, limit=2) == ["a 4"]
    assert read(header, after=4) == []
    assert read(header, after=10**6) == []


def test_an_empty_log_has_no_last_event(make: Make) -> None:
    header = make("a")
    assert log.last_seq(header) == -1
    assert read(header) == []


def test_a_stream_reads_a_long_log_in_short_steps(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_CHUNK", 2)
    parent = make("a", *"xxxxx")
    child = fork(parent, "b", 2)
    add(child, *"xxx")
    assert [event.seq for event in log.stream(child)] == [0, 1, 2, 3, 4, 5]
    assert [event.data for event in log.own_stream("b", 0)] == ["b 3", "b 4", "b 5"]
    assert [row[0] for row in log.own_rows("b", 4)] == [4, 5]


# Forks.


def test_a_fork_reads_its_parents_events_up_to_the_boundary_and_then_its_own(make: Make) -> None:
    parent = make("a", *"xxx")
    child = fork(parent, "b", 1)
    add(child, "x")
    add(parent, "x")
    assert read(child) == ["a 0", "a 1", "b 2"]
    assert read(parent) == ["a 0", "a 1", "a 2", "a 3"]
    assert log.last_seq(child) == 2
    assert (child.seed_length, child.source, child.parent, child.first_own_seq) == (2, "a", "a", 2)


def test_a_fork_copies_no_event(make: Make) -> None:
    parent = make("a", *"xxx")
    child = fork(parent, "b", 2)
    assert log.own_events("b", [0, 1, 2]) == {}
    assert log.last_seq(child) == 2


def test_a_fork_of_nothing_is_an_empty_session(make: Make) -> None:
    child = fork(make("a"), "b", -1)
    assert (child.seed_length, child.source) == (0, None)
    add(child, "x")
    assert read(child) == ["b 0"]


def test_forks_of_forks_read_each_stretch_where_it_lies(make: Make) -> None:
    first = make("a", *"xxx")
    second = fork(first, "b", 1)
    add(second, *"xx")
    third = fork(second, "c", 2)
    add(third, "x")
    assert read(third) == ["a 0", "a 1", "b 2", "c 3"]
    assert read(third, after=0, limit=2) == ["a 1", "b 2"]
    assert read(third, after=2, limit=2) == ["c 3"]


def test_a_boundary_may_lie_in_the_inherited_prefix(make: Make) -> None:
    first = make("a", *"xxxx")
    second = fork(first, "b", 2)
    add(second, *"xx")
    third = fork(second, "c", 1)
    add(third, "x")
    assert read(third) == ["a 0", "a 1", "c 2"]
    assert (third.parent, third.source, third.seed_length) == ("b", "a", 2)


def test_a_fork_of_a_fork_without_events_of_its_own_reads_on(make: Make) -> None:
    first = make("a", *"xx")
    third = fork(fork(first, "b", 1), "c", 1)
    assert read(third) == ["a 0", "a 1"]
    add(third, "x")
    assert read(fork(third, "d", 2)) == ["a 0", "a 1", "c 2"]


def test_an_imported_fork_owns_its_prefix(make: Make) -> None:
    imported = make("a", *"xxx", parent="gone", seed_length=2)
    assert read(imported) == ["a 0", "a 1", "a 2"]
    assert imported.first_own_seq == 0
    child = fork(imported, "b", 0)
    add(child, "x")
    assert read(child) == ["a 0", "b 1"]


def test_a_long_chain_of_forks_is_read_with_few_queries(make: Make) -> None:
    header = make("s0", "x")
    for number in range(1, 30):
        header = fork(header, f"s{number}", log.last_seq(header))
        add(header, "x")
    assert len(read(header)) == 30
    with CaptureQueriesContext(connection) as queries:
        assert read(header, after=28) == ["s29 29"]
    assert len(queries) == 2


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3)), max_size=6), st.data())
def test_any_tree_of_forks_reads_as_if_it_had_copied(
    make: Make, tree: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    headers = [make(log.new_id(), *"xxx")]
    copies: list[list[Any]] = [read(headers[0])]
    for parent, cut, added in tree:
        number = parent % len(headers)
        boundary = cut % (len(copies[number]) + 1) - 1
        child = fork(headers[number], log.new_id(), boundary)
        add(child, *"x" * added)
        own = [f"{child.id} {boundary + 1 + k}" for k in range(added)]
        headers.append(child)
        copies.append([*copies[number][: boundary + 1], *own])
    for header, copy in zip(headers, copies, strict=True):
        assert read(header) == copy
        assert log.last_seq(header) == len(copy) - 1
        after = data.draw(st.integers(-1, len(copy)))
        limit = data.draw(st.integers(1, 4))
        assert read(header, after=after, limit=limit) == copy[after + 1 :][:limit]


# Open turns.


def turns_open(of: log.Header) -> str:
    """For each event, whether a turn is open right after it."""
    return "".join("o" if log.turn_open_at(of, seq) else "." for seq in range(log.last_seq(of) + 1))


START_, END, OTHER = events.TURN_START, events.TURN_END, "x"


def test_a_turn_is_open_from_its_start_until_its_end(make: Make) -> None:
    header = make("a", OTHER, START_, OTHER, END, OTHER, START_)
    assert turns_open(header) == ".oo..o"


def test_before_the_first_event_no_turn_is_open(make: Make) -> None:
    assert not log.turn_open_at(make("a", START_), -1)


def test_a_turn_of_the_inherited_prefix_is_open_there_and_not_after_it(make: Make) -> None:
    parent = make("a", OTHER, START_, OTHER, END)
    child = fork(parent, "b", 2)
    add(child, OTHER, START_)
    assert turns_open(child) == ".oo.o"


def test_the_prefix_of_an_imported_fork_is_judged_the_same(make: Make) -> None:
    imported = make("a", OTHER, START_, OTHER, OTHER, START_, parent="gone", seed_length=3)
    assert turns_open(imported) == ".oo.o"


# What is kept.


def test_a_header_comes_back_as_it_was_given(make: Make) -> None:
    header = make("a:b.c-d_E", title="\u2028", cwd="", metadata='{"a":60.0}', extra='{"b":1}', origin="routine:x")
    assert log.header("a:b.c-d_E") == header
    assert log.header("nobody") is None


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=8)
    | st.sampled_from([60, 60.0, -0.0, "\0", "\ud800", "\udfff\ud800", "\u2028", "\U0010ffff"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_values, st.none() | st.dictionaries(st.text(max_size=5), json_values, min_size=1, max_size=2))
def test_data_comes_back_exactly_as_it_went_in(make: Make, data: Any, extra: dict[str, Any] | None) -> None:
    header = make(log.new_id())
    log.append([(header.id, Event(seq=0, type="x", time=-1, data=data, extra=extra))])
    (kept,) = log.read(header, limit=1)
    assert lossless.dumps([kept.data, kept.extra]) == lossless.dumps([data, extra])
    assert kept.time == -1


def test_locked_sessions_are_those_that_exist_in_the_order_of_their_ids(make: Make) -> None:
    for name in ("c", "a", "b"):
        make(name)
    with transaction.atomic():
        assert list(log.lock(["b", "nobody", "c", "a"])) == ["a", "b", "c"]


def test_the_start_and_the_user_messages_of_a_turn_are_found(make: Make) -> None:
    make("a", START_, events.USER_MESSAGE, "x", events.ASSISTANT_MESSAGE, events.USER_MESSAGE)
    assert [event.seq for event in log.turn_events("a", 0)] == [0, 1, 4]
