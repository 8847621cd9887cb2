"""The tools' arguments: which are refused, with what code, in which order."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.domain import errors, instants, records, rules
from schedules.sessions.lossless import Json
from tests.schedules.domain import strategies, vectors

NOW = 1_796_083_200_000
LOCAL: dict[str, Json] = {"date": "2027-06-15", "time": "12:00:00", "time_zone": "Europe/Paris"}


def create(arguments: Json, now: int = NOW) -> records.Record:
    return rules.resolve(rules.parse_create(arguments), "schedule-1", now)


def refusal(arguments: Json, now: int = NOW) -> str:
    with pytest.raises(errors.ScheduleError) as caught:
        create(arguments, now)
    return caught.value.code


def test_every_recorded_number_gives_its_recorded_answer() -> None:
    def answer(row: dict[str, Any]) -> str:
        now = instants.parse(row["now"])
        assert now is not None
        arguments: dict[str, Json] = {key: row[key] for key in ("after_seconds", "every_seconds") if key in row}
        record = create({"prompt": row.get("prompt", "p"), **arguments}, now)
        return record.prompt if "prompt" in row else instants.render(record.scheduled_at)

    assert vectors.rows("numbers")
    assert vectors.differences("numbers", answer) == []


def test_each_selector_makes_its_kind_of_record() -> None:
    assert create({"prompt": " p ", "after_seconds": 60}) == records.Record(
        id="schedule-1", kind="after", prompt="p", scheduled_at=NOW + 60_000, seconds=60
    )
    assert create({"prompt": "p", "every_seconds": 3e2}) == records.Record(
        id="schedule-1", kind="every", prompt="p", scheduled_at=NOW + 300_000, seconds=300
    )
    assert create({"prompt": "p", "at": LOCAL}) == records.Record(
        id="schedule-1",
        kind="at",
        prompt="p",
        scheduled_at=instants.parse("2027-06-15T10:00:00.000Z") or 0,
        seconds=None,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        [],
        "x",
        1,
        True,
        {},
        {"prompt": "p"},
        {"prompt": "p", "after_seconds": None, "at": None},
        {"prompt": "p", "after_seconds": 60, "every_seconds": 300},
        {"prompt": "p", "after_seconds": 60, "extra": None},
        {"prompt": "p", "afterSeconds": 60},
        {"prompt": 1, "after_seconds": 0, "at": 1},
    ],
)
def test_selectors_are_checked_before_anything_else(arguments: Json) -> None:
    assert refusal(arguments) == "invalid_selector"


def test_a_null_selector_counts_as_absent() -> None:
    assert create({"prompt": "p", "after_seconds": 60, "at": None, "every_seconds": None}).kind == "after"


@pytest.mark.parametrize("prompt", [None, 1, True, [], {}, "", " \ufeff\u2028", "\ud800", "a\udc00"])
def test_a_prompt_is_checked_before_the_rule(prompt: Json) -> None:
    assert refusal({"prompt": prompt, "after_seconds": 0}) == "invalid_prompt"
    assert refusal({"prompt": prompt, "every_seconds": 1}) == "invalid_prompt"
    assert refusal({"after_seconds": 0}) == "invalid_prompt"


@pytest.mark.parametrize("value", [0, -1, -0.0, 1.5, 2**53, 1e300, 10**400, "60", True, [], {}])
def test_a_delay_is_a_positive_safe_integer(value: Json) -> None:
    assert refusal({"prompt": "p", "after_seconds": value}) == "invalid_rule"


def test_an_interval_of_the_wrong_shape_is_told_from_one_that_is_too_short() -> None:
    wrong: tuple[Json, ...] = (300.5, "300", True, [], 2**53)
    for value in wrong:
        assert refusal({"prompt": "p", "every_seconds": value}) == "invalid_rule"
    for short in (299, 0, -0.0, -1, -(2**53) + 1):
        assert refusal({"prompt": "p", "every_seconds": short}) == "frequency_too_high"


@pytest.mark.parametrize(
    ("at", "code"),
    [
        ({**LOCAL, "date": "2027-02-30", "time_zone": "nowhere"}, "invalid_rule"),
        ({**LOCAL, "time": 1, "time_zone": 1}, "invalid_rule"),
        ({**LOCAL, "extra": 1}, "invalid_rule"),
        ({**LOCAL, "time_zone": None}, "invalid_time_zone"),
        ({**LOCAL, "time_zone": 1}, "invalid_time_zone"),
        ({"date": "2027-03-28", "time": "02:30:00", "time_zone": "utc"}, "invalid_time_zone"),
        ({"date": "2026-03-29", "time": "02:30:00", "time_zone": "Europe/Paris"}, "invalid_rule"),
        ({"date": "0001-01-01", "time": "00:00:00", "time_zone": "Asia/Tokyo"}, "time_out_of_range"),
        ({"date": "9999-12-31", "time": "23:59:59", "time_zone": "America/Lima"}, "time_out_of_range"),
        ({"date": "2026-12-01", "time": "00:00:00", "time_zone": "UTC"}, "not_future"),
        ("0001-01-01T00:00:00+23:59", "time_out_of_range"),
        ("2026-12-01T00:00:00Z", "not_future"),
        ("2026-12-01T00:00:00.001+00:01", "not_future"),
        ("tomorrow", "invalid_rule"),
        ("", "invalid_rule"),
    ],
)
def test_shape_zone_gap_range_and_future_are_checked_in_that_order(at: Json, code: str) -> None:
    assert refusal({"prompt": "p", "at": at}) == code


def test_a_clock_past_the_last_year_is_out_of_range_for_every_delay() -> None:
    assert refusal({"prompt": "p", "after_seconds": 1}, instants.MAX) == "time_out_of_range"


def test_a_list_takes_nothing_but_an_empty_object() -> None:
    rules.parse_list({})
    wrong: tuple[Json, ...] = (None, [], "", 0, False, {"id": 1})
    for arguments in wrong:
        with pytest.raises(errors.ScheduleError) as caught:
            rules.parse_list(arguments)
        assert caught.value.code == "invalid_selector"


def test_a_delete_names_an_id() -> None:
    assert rules.parse_delete({"id": "schedule-1"}) == "schedule-1"
    assert rules.parse_delete({"id": "\u0085x"}) == "\u0085x"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "invalid_selector"),
        (None, "invalid_selector"),
        ({"id": "", "extra": 1}, "invalid_selector"),
        ({}, "invalid_rule"),
        ({"id": None}, "invalid_rule"),
        ({"id": 1}, "invalid_rule"),
        ({"id": ""}, "invalid_rule"),
        ({"id": " schedule-1"}, "invalid_rule"),
        ({"id": "schedule-1\ufeff"}, "invalid_rule"),
    ],
)
def test_a_delete_of_anything_else_is_refused(arguments: Json, code: str) -> None:
    with pytest.raises(errors.ScheduleError) as caught:
        rules.parse_delete(arguments)
    assert caught.value.code == code


@settings(max_examples=200, deadline=None)
@given(
    strategies.JSON
    | st.fixed_dictionaries(
        {},
        optional={
            "prompt": strategies.JSON,
            "after_seconds": strategies.JSON,
            "every_seconds": strategies.JSON,
            "at": strategies.JSON
            | st.fixed_dictionaries({"date": strategies.TEXT, "time": strategies.TEXT, "time_zone": strategies.JSON}),
        },
    )
)
def test_any_json_whatever_makes_a_record_or_an_error_of_the_closed_list(arguments: Json) -> None:
    known = {(situation.code, situation.message) for situation in errors.SITUATIONS}
    refused = []
    for call in (create, rules.parse_list, rules.parse_delete):
        try:
            call(arguments)
        except errors.ScheduleError as error:
            refused.append((error.code, error.message))
    assert set(refused) <= known
