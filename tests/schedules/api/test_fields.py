"""Bodies are read as declared: nothing missing, nothing more, nothing of another type."""

import re
from typing import Any

import pytest

from schedules.api.fields import Anything, Body, Instant, Object, Switch, Text, Whole
from schedules.sessions.errors import Refusal

BODY = Body(
    leaseId=Text(required=True, low=1, high=10),
    title=Text(high=5),
    message=Text(lossless=True, high=5),
    id=Text(pattern=r"[a-z]{1,3}", like="1 to 3 letters"),
    leaseSeconds=Whole(low=5, high=60, about="How long a lease lasts."),
    open=Switch(),
    metadata=Object(),
)


def refused(data: object, body: Body = BODY) -> dict[str, str]:
    with pytest.raises(Refusal) as caught:
        body.read(data)
    assert caught.value.code == "invalid_request"
    return caught.value.fields or {}


def test_every_declared_field_is_read_and_an_absent_one_is_none() -> None:
    assert BODY.read({"leaseId": "l", "leaseSeconds": 60.0, "open": False, "metadata": {"a": [1]}}) == {
        "leaseId": "l",
        "title": None,
        "message": None,
        "id": None,
        "leaseSeconds": 60,
        "open": False,
        "metadata": {"a": [1]},
    }


def test_null_counts_as_absent() -> None:
    assert BODY.read({"leaseId": "l", "title": None, "open": None})["title"] is None
    assert refused({"leaseId": None}) == {
        "leaseId": "This is missing: send text of 1 to 10 characters, without U+0000 and lone surrogates."
    }


@pytest.mark.parametrize("data", [None, [], "text", 1, True])
def test_a_body_is_an_object(data: object) -> None:
    assert refused(data) == {}


def test_a_key_that_is_not_declared_is_refused() -> None:
    assert refused({"leaseId": "l", "leaseID": "l"}) == {
        "leaseID": "This is not known here. The call takes leaseId, title, message, id, leaseSeconds, open, metadata."
    }
    assert refused({"a": 1}, Body()) == {"a": "This is not known here. The call takes an empty object."}


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(Refusal) as caught:
        BODY.read({"title": 1, "open": 1, "colour": 1})
    assert list(caught.value.fields or {}) == ["leaseId", "title", "open", "colour"]
    assert caught.value.message.startswith("leaseId: This is missing")
    assert caught.value.message.endswith("(and 3 more)")


def test_a_body_full_of_faults_is_answered_shortly() -> None:
    fields = refused({f"{number}" * 1000: 0 for number in range(1000)})
    assert len(fields) == 20
    assert all(len(name) <= 100 for name in fields)


WRONG: dict[str, list[Any]] = {
    "title": [1, True, [], {}, "sixsix", "\0", "\ud800"],
    "message": [1, [], "sixsix"],
    "id": ["", "ABC", "abcd", "abc\n", "à", 1],
    "leaseSeconds": [4, 61, 60.5, "60", True, [], {}, 10**400, 1e300],
    "open": [0, 1, "true", [], {}],
    "metadata": [[], "{}", 1, True],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_value_of_another_kind_is_refused_with_what_to_send(name: str, value: object) -> None:
    fault = refused({"leaseId": "l", name: value})[name]
    assert re.fullmatch(r"Send .*\.", fault)


def test_lossless_text_takes_what_no_database_does() -> None:
    assert BODY.read({"leaseId": "l", "message": "\0\ud800"})["message"] == "\0\ud800"


def test_any_value_may_be_null_but_not_missing() -> None:
    body = Body(data=Anything(required=True))
    assert body.read({"data": None}) == {"data": None}
    assert refused({}, body) == {"data": "This is missing: send any JSON value."}


def test_a_body_describes_itself_in_json_schema() -> None:
    assert BODY.schema() == {
        "type": "object",
        "properties": {
            "leaseId": {"type": "string", "minLength": 1, "maxLength": 10},
            "title": {"type": "string", "maxLength": 5},
            "message": {"type": "string", "maxLength": 5},
            "id": {"type": "string", "pattern": "^(?:[a-z]{1,3})$"},
            "leaseSeconds": {
                "type": "integer",
                "minimum": 5,
                "maximum": 60,
                "description": "How long a lease lasts.",
            },
            "open": {"type": "boolean"},
            "metadata": {"type": "object", "additionalProperties": True},
        },
        "additionalProperties": False,
        "required": ["leaseId"],
    }


def test_an_instant_is_read_in_any_offset() -> None:
    body = Body(after=Instant())
    for text in ("1970-01-01T01:00:00.5+01:00", "1970-01-01T00:00:00.500Z"):
        assert body.read({"after": text}) == {"after": 500}
    assert body.read({"after": None}) == {"after": None}
    assert "Z or an offset" in refused({"after": "1970-01-01T00:00:00"}, body)["after"]
