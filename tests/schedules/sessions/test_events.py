"""The event, and the types that a host may write."""

import pytest

from schedules.sessions import events
from schedules.sessions.events import Event


def test_an_event_shows_its_envelope_and_what_an_import_added() -> None:
    event = Event(seq=1, type="turn/start", time=5, data=None, extra={"ignorable": True, "seq": 99})
    assert event.to_json() == {"seq": 1, "type": "turn/start", "time": 5, "data": None, "ignorable": True}
    assert list(Event(seq=0, type="a:b", time=0, data={}).to_json()) == ["seq", "type", "time", "data"]


@pytest.mark.parametrize("text", ["a:b", "host:name", "my.host/x-1_y:a:b", "a::b", "a" * 126 + ":b"])
def test_a_host_may_write_types_with_a_colon(text: str) -> None:
    assert events.is_host_type(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "a:",
        ":b",
        "ab",
        "::b",
        "a b:c",
        "ü:b",
        "a:b\n",
        "a:b\0",
        "\ud800:b",
        "a" * 127 + ":b",
        *events.WAKEFUL_TYPES,
    ],
)
def test_a_host_may_write_no_other_type(text: str) -> None:
    assert not events.is_host_type(text)


def test_a_member_of_data_that_is_no_object_is_absent() -> None:
    assert events.member({"a": 1}, "a") == 1
    assert events.member({}, "a") is None
    assert events.member([1], "a") is None
    assert events.member(None, "a") is None
