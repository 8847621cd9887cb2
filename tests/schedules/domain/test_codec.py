"""The strict codec of `schedule/change`."""

import pytest
from hypothesis import given, settings

from schedules.domain import codec, errors
from schedules.sessions import lossless
from schedules.sessions.lossless import Json
from tests.schedules.domain import strategies

AT: dict[str, Json] = {
    "id": "schedule-1",
    "kind": "at",
    "prompt": "p",
    "scheduledAt": "2026-12-01T01:00:00.000Z",
}


def create(**members: Json) -> dict[str, Json]:
    return {"version": 1, "operation": "create", "schedule": {**AT, **members}}


@settings(max_examples=200, deadline=None)
@given(strategies.changes())
def test_decoding_undoes_encoding_as_a_value_and_as_text(change: codec.Change) -> None:
    value = codec.encode(change)
    assert codec.decode(value) == change
    assert codec.decode_text(lossless.dumps(value)) == change


@settings(max_examples=300, deadline=None)
@given(strategies.NEARLY_CHANGES)
def test_both_decoders_give_one_answer_to_any_json(value: Json) -> None:
    def outcome(decode: object, argument: object) -> object:
        try:
            return decode(argument)  # type: ignore[operator]
        except errors.CorruptLog as error:
            return str(error)

    assert outcome(codec.decode_text, lossless.dumps(value)) == outcome(codec.decode, value)


def test_an_integral_float_is_an_integer() -> None:
    change = codec.decode_text(
        '{"version":1.0,"operation":"create","schedule":{"id":"schedule-1","kind":"after","prompt":"p",'
        '"afterSeconds":6e1,"scheduledAt":"2026-12-01T01:00:00.000Z"}}'
    )
    assert isinstance(change, codec.Create)
    assert change.record.seconds == 60
    assert type(change.record.seconds) is int


def test_a_stored_prompt_may_hold_what_no_new_one_may() -> None:
    for prompt in ("\ud800", "\0", "a\0b", "\u0085a"):
        change = codec.decode_text(lossless.dumps(create(prompt=prompt)))
        assert isinstance(change, codec.Create)
        assert change.record.prompt == prompt


@pytest.mark.parametrize(
    "text",
    ["", "{", "nonsense", "[" * 100_000, "1" * 5_000, '"\\ud800"', "NaN", '{"version":1e999}', "\ud800", "\0", "null"],
)
def test_text_that_is_no_change_is_a_corrupt_log(text: str) -> None:
    with pytest.raises(errors.CorruptLog):
        codec.decode_text(text)


def test_a_dispatch_without_acceptedAt_is_told_from_one_with_null() -> None:
    dispatch: dict[str, Json] = {"version": 1, "operation": "dispatch", "id": "schedule-1"}
    assert codec.decode(dispatch) == codec.Dispatch(id="schedule-1", accepted_at=None)
    with pytest.raises(errors.CorruptLog):
        codec.decode({**dispatch, "acceptedAt": None})


def test_a_corrupt_log_names_its_fault_to_the_operator_and_only_the_code_to_a_model() -> None:
    with pytest.raises(errors.CorruptLog) as caught:
        codec.decode(create(extra="secret"))
    assert caught.value.reason == "a change or its schedule has missing or extra keys"
    assert caught.value.message == errors.CORRUPT.message
    assert str(caught.value.at(7)) == "event 7: a change or its schedule has missing or extra keys"
