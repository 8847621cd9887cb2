"""When a failed run is tried again."""

import pytest

from routines.domain import manifest, retry
from schedules.domain import instants


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        ("fixed", [1_000] * 9),
        ("linear", [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000]),
        ("exponential", [1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000, 20_000, 20_000]),
    ],
)
def test_waits_grow_by_the_backoff_up_to_the_longest(backoff: manifest.Backoff, waits: list[int]) -> None:
    rule = manifest.Retry(max_attempts=10, backoff=backoff, initial_ms=1_000, max_ms=20_000)
    got = [retry.next_attempt(rule, attempt=n, failure="error", ended_at=5) for n in range(1, 11)]
    assert got == [5 + wait for wait in waits] + [None]


def test_without_a_rule_nothing_is_tried_again() -> None:
    assert retry.next_attempt(manifest.Retry(), attempt=1, failure="timeout", ended_at=0) is None


def test_only_the_listed_classes_are_tried_again() -> None:
    def tried(on: tuple[manifest.FailureClass, ...] | None) -> list[str]:
        rule = manifest.Retry(max_attempts=2, on=on)
        return [
            failure
            for failure in manifest.FAILURE_CLASSES
            if retry.next_attempt(rule, attempt=1, failure=failure, ended_at=0) is not None
        ]

    assert tried(None) == ["timeout", "5xx", "rate-limit", "error"]
    assert tried(("5xx",)) == ["5xx"]
    assert tried(()) == []


def test_a_wait_never_leads_out_of_the_years() -> None:
    rule = manifest.Retry(max_attempts=10, initial_ms=2**53 - 1, max_ms=2**53 - 1)
    assert retry.next_attempt(rule, attempt=9, failure="error", ended_at=0) == instants.MAX
    assert retry.wait(manifest.Retry(initial_ms=10, max_ms=0), 1) == 0
