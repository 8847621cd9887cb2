"""Records, their JSON and views, and the arithmetic of occurrences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedules.domain import codec, instants, records
from tests.schedules.domain import vectors

AT = records.Record(id="schedule-1", kind="at", prompt="p", scheduled_at=0, seconds=None)


def test_every_recorded_view_is_ours() -> None:
    def answer(row: dict[str, object]) -> object:
        change = codec.decode({"version": 1, "operation": "create", "schedule": row["record"]})  # type: ignore[dict-item]
        now = instants.parse(str(row["now"]))
        assert isinstance(change, codec.Create)
        assert now is not None
        return records.view(change.record, now)

    assert vectors.differences("view", answer) == []


@pytest.mark.parametrize(
    ("kind", "seconds", "keys"),
    [
        ("after", 60, ["id", "kind", "prompt", "afterSeconds", "scheduledAt"]),
        ("at", None, ["id", "kind", "prompt", "scheduledAt"]),
        ("every", 300, ["id", "kind", "prompt", "everySeconds", "scheduledAt"]),
    ],
)
def test_a_records_keys_stand_in_the_contracts_order(kind: records.Kind, seconds: int | None, keys: list[str]) -> None:
    record = records.Record(id="schedule-1", kind=kind, prompt="p", scheduled_at=0, seconds=seconds)
    assert list(records.to_json(record)) == keys
    assert list(records.view(record, 0)) == [*keys, "state", "deliveryMode"]


def test_a_reminder_is_overdue_from_its_target_on() -> None:
    assert [records.view(AT, now)["state"] for now in (-1, 0, 1)] == ["scheduled", "overdue", "overdue"]


def test_a_record_is_frozen() -> None:
    with pytest.raises(AttributeError):
        AT.prompt = "other"  # type: ignore[misc]


@pytest.mark.parametrize("blank", list("\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"))
def test_trimming_takes_what_ecmascript_calls_blank(blank: str) -> None:
    assert records.trim(f"{blank}a{blank}b{blank}") == f"a{blank}b"


@pytest.mark.parametrize("kept", list("\u0085\x1c\x1d\x1e\x1f\u200b\u180e\0"))
def test_trimming_leaves_what_only_python_or_nobody_calls_blank(kept: str) -> None:
    assert records.trim(f"{kept}a{kept}") == f"{kept}a{kept}"


@pytest.mark.parametrize(
    ("value", "integer"),
    [
        (60, 60),
        (60.0, 60),
        (3e2, 300),
        (0, 0),
        (-0.0, 0),
        (-5, -5),
        (2**53 - 1, 2**53 - 1),
        (-(2**53) + 1, -(2**53) + 1),
        (2**53, None),
        (float(2**53), None),
        (10**400, None),
        (1e300, None),
        (1.5, None),
        (float("inf"), None),
        (float("nan"), None),
        (True, None),
        ("60", None),
        (None, None),
        ([], None),
        ({}, None),
    ],
)
def test_a_safe_integer_is_what_javascript_says(value: object, integer: int | None) -> None:
    found = records.safe_integer(value)
    assert found == integer
    assert type(found) in (int, type(None))


@given(st.integers(0, 10**6), st.integers(1, 500), st.integers(0, 10**5))
def test_advancing_equals_stepping_through_every_occurrence(target: int, interval: int, late: int) -> None:
    occurrence = target
    while occurrence + interval <= target + late:
        occurrence += interval
    assert records.advance(target, interval, target + late) == (occurrence, occurrence + interval)


def test_advancing_past_the_last_instant_leaves_no_target() -> None:
    assert records.advance(instants.MAX, 300_000, instants.MAX) == (instants.MAX, None)
    assert records.advance(instants.MAX - 300_000, 300_000, instants.MAX - 1) == (
        instants.MAX - 300_000,
        instants.MAX,
    )
