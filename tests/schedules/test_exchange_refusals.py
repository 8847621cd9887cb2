"""A log that is not wholly right is refused whole: the line is named and nothing is written."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import override_settings

from schedules import exchange
from schedules.models import Reminder, Session, SessionEvent, SessionQuota, SessionState
from schedules.sessions import log
from schedules.sessions.errors import Refusal
from tests.schedules.session_logs import HEADER, event, lines

pytestmark = pytest.mark.usefixtures("store")

TEXTS: dict[str, Any] = {
    "type": "text-chunks",
    "seq0": 0,
    "time0": 100,
    "data": {"turn": 1, "step": 0, "index": 0, "dt": [5, -7], "texts": ["a", "b", "c"]},
}


@pytest.fixture
def take(user: User) -> Callable[..., log.Header]:
    """``take(record, ...)``: the header of a log imported from these lines."""
    return lambda *records: exchange.import_log(lines(*records), owner_id=user.pk)


def written() -> list[int]:
    tables = (Session, SessionEvent, SessionState, Reminder, SessionQuota)
    return [table._default_manager.count() for table in tables]


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
    {**TEXTS, "seq0": 1},
    {**TEXTS, "time0": 253_402_300_799_999},
    {**TEXTS, "extra": 1},
    event(0, "text-chunks"),
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
