"""Instants and their texts."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedules.domain import instants, rules
from tests.schedules.domain import vectors

INSTANTS = st.integers(instants.MIN, instants.MAX)


def test_every_recorded_at_string_gives_its_recorded_answer() -> None:
    assert vectors.rows("at_string")
    assert vectors.differences("at_string", at_answer) == []


def at_answer(row: dict[str, object]) -> str:
    """What `at` alone makes of a row, null and junk included."""
    now = instants.parse(str(row["now"]))
    assert now is not None
    rule = rules.parse_rule("at", row["at"])  # type: ignore[arg-type]
    record = rules.resolve(rules.Request(prompt="p", rule=rule), "schedule-1", now)
    return instants.render(record.scheduled_at)


def test_the_bounds_are_the_first_and_last_millisecond_of_the_four_digit_years() -> None:
    assert instants.render(instants.MIN) == "0001-01-01T00:00:00.000Z"
    assert instants.render(instants.MAX) == "9999-12-31T23:59:59.999Z"
    assert instants.render(0) == "1970-01-01T00:00:00.000Z"
    assert instants.render(-1) == "1969-12-31T23:59:59.999Z"


@pytest.mark.parametrize("instant", [instants.MIN - 1, instants.MAX + 1])
def test_an_instant_outside_the_four_digit_years_is_not_rendered(instant: int) -> None:
    with pytest.raises(OverflowError):
        instants.render(instant)


@given(INSTANTS)
def test_parsing_undoes_rendering_over_the_whole_range(instant: int) -> None:
    text = instants.render(instant)
    assert len(text) == 24
    assert instants.parse(text) == instant
    assert instants.parse_offset(text) == instant


@given(st.datetimes(timezones=st.just(UTC)))
def test_parsing_agrees_with_datetime(moment: datetime) -> None:
    text = moment.isoformat(timespec="milliseconds")[:23] + "Z"
    parsed = instants.parse(text)
    assert parsed is not None
    # In whole numbers: a float of seconds rounds the last microseconds of a far year up.
    assert parsed == (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@given(st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", fullmatch=True))
def test_a_text_of_the_right_shape_is_parsed_exactly_where_the_date_and_time_are_real(text: str) -> None:
    try:
        datetime.fromisoformat(text)
        real = text[11:13] != "24"
    except ValueError:
        real = False
    parsed = instants.parse(text)
    assert (parsed is not None) == real
    assert parsed is None or instants.render(parsed) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-12-01",
        "2026-12-01T00:00:00Z",
        "2026-12-01T00:00:00.0Z",
        "2026-12-01T00:00:00.0000Z",
        "2026-12-01t00:00:00.000Z",
        "2026-12-01T00:00:00.000z",
        "2026-12-01 00:00:00.000Z",
        "2026-12-01T00:00:00,000Z",
        "2026-12-01T00:00:00.000+00:00",
        "2026-12-01T24:00:00.000Z",
        "2026-12-01T23:59:60.000Z",
        "2026-02-30T00:00:00.000Z",
        "0000-01-01T00:00:00.000Z",
        "+02026-12-01T00:00:00.000Z",
        "2026-W01-1T00:00:00.000Z",
        "20261201T000000.0000000Z",
        "2026-12-01T00:00:00.000Z\n",
        "2026-12-01T00:00:00.000Z ",
        " 2026-12-01T00:00:00.00Z",
        "2026-12-01T0٠:00:00.000Z",
        "٢٠٢٦-12-01T00:00:00.000Z",
        "２０２６-12-01T00:00:00.000Z",
        "2026-12-01T00:00:00.00\udc00Z",
    ],
)
def test_only_the_canonical_text_is_parsed(text: str) -> None:
    assert instants.parse(text) is None


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-12-01T00:00:00Z", "2026-12-01T00:00:00.000Z"),
        ("2026-12-01T00:00:00.5Z", "2026-12-01T00:00:00.500Z"),
        ("2026-12-01T00:00:00.05+00:00", "2026-12-01T00:00:00.050Z"),
        ("2026-12-01T00:00:00+23:59", "2026-11-30T00:01:00.000Z"),
        ("2026-12-01T00:00:00-05:30", "2026-12-01T05:30:00.000Z"),
    ],
)
def test_an_offset_is_taken_off(text: str, canonical: str) -> None:
    assert instants.parse_offset(text) == instants.parse(canonical)


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T00:00:00",
        "2026-12-01T00:00:00-00:00",
        "2026-12-01T00:00:00+24:00",
        "2026-12-01T00:00:00+00:60",
        "2026-12-01T00:00:00+0000",
        "2026-12-01T00:00:00.Z",
        "2026-12-01T00:00:00.1234Z",
        "2026-12-01T00:00:00z",
        "2026-12-01T00:00:00Z\n",
        "2026-12-01T00:00:0٠Z",
        "20260101T000000Z",
    ],
)
def test_a_malformed_offset_form_is_refused(text: str) -> None:
    assert instants.parse_offset(text) is None


def test_an_offset_that_leads_out_of_the_years_is_told_from_a_malformed_text() -> None:
    early = instants.parse_offset("0001-01-01T00:00:00+23:59")
    late = instants.parse_offset("9999-12-31T23:59:59.999-00:01")
    assert early is not None
    assert early < instants.MIN
    assert late is not None
    assert late > instants.MAX
