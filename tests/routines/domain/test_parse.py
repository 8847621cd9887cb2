"""What a manifest means, value by value."""

from typing import Any

import pytest

from routines.domain import errors, manifest, parse
from routines.domain.jsonvalues import freeze_object
from tests.routines.domain import texts

DEFAULTS = manifest.Routine(
    id="nightly-sweep",
    description="Sweep the workspace every night.",
    version="1.0.0",
    schedule=manifest.ManualSchedule(),
    target=manifest.ToolTarget(tool="lifecycle_noop", inputs={}),
    identity=None,
    retry=manifest.Retry(max_attempts=1, backoff="exponential", initial_ms=60_000, max_ms=3_600_000, on=None),
    on_failure=manifest.OnFailure(notify=(), create_work_item=False, fire_event=None),
    history=manifest.History(retain_runs=100, retain_failed=30),
    fires_events=("routine-triggered", "routine-completed", "routine-failed"),
    enabled=True,
    tags=(),
    metadata={},
)


def faults(text: str) -> list[tuple[str | None, int | None]]:
    return [(fault.field, fault.line) for fault in parse.read_routine(text).faults]


def fields_at_fault(**changes: Any) -> list[str | None]:
    with pytest.raises(errors.Invalid) as caught:
        parse.define_routine(**texts.good(**changes))
    return [fault.field for fault in caught.value.faults]


def test_what_is_absent_has_its_default() -> None:
    assert parse.parse_routine(texts.GOOD) == parse.define_routine(**texts.good()) == DEFAULTS


def test_a_byte_order_mark_and_crlf_change_nothing() -> None:
    assert parse.parse_routine("\ufeff" + texts.GOOD.replace("\n", "\r\n")) == DEFAULTS


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (
            {
                "kind": "cron",
                "cron": "0 9 * * *",
                "timezone": "europe/paris",
                "jitter_seconds": 3600.0,
                "catchup": "all",
            },
            manifest.CronSchedule(cron="0 9 * * *", timezone="Europe/Paris", jitter_seconds=3600, catchup="all"),
        ),
        ({"kind": "cron", "cron": "0 9 * * *", "timezone": "Asia/Calcutta"}, None),
        (
            {"kind": "interval", "every": "5s", "from": "1970-01-01T01:00:00+01:00"},
            manifest.IntervalSchedule(every="5s", start=0, jitter_seconds=0),
        ),
        (
            {"kind": "calendar", "rrule": "FREQ=DAILY"},
            manifest.CalendarSchedule(rrule="FREQ=DAILY", timezone="UTC"),
        ),
        ({"kind": "manual"}, manifest.ManualSchedule()),
        ({"kind": "event", "on": "per-turn"}, manifest.EventSchedule(on="per-turn", filter={})),
    ],
)
def test_each_kind_of_schedule(schedule: dict[str, Any], expected: manifest.Schedule | None) -> None:
    got = parse.define_routine(**texts.good(schedule=schedule)).schedule
    assert expected is None or got == expected
    assert parse.read_schedule(schedule) == got


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"tool": "t", "inputs": {"a": [1]}}, manifest.ToolTarget(tool="t", inputs=freeze_object({"a": [1]}))),
        (
            {"agent": {"adapter": "a", "model": "m", "prompt": "p", "x": {}}},
            manifest.AgentTarget(adapter="a", prompt="p", options=freeze_object({"model": "m", "x": {}})),
        ),
        ({"workflow": "w"}, manifest.WorkflowTarget(form="path", workflow="w", inputs={})),
        ({"workflow": {"file": "w"}}, manifest.WorkflowTarget(form="file", workflow="w", inputs={})),
        ({"workflow": {"inline": {}}}, manifest.WorkflowTarget(form="inline", workflow={}, inputs={})),
        ({"action": "a"}, manifest.ActionTarget(action="a", inputs={})),
    ],
)
def test_each_kind_of_target(target: dict[str, Any], expected: manifest.Target) -> None:
    assert parse.define_routine(**texts.good(target=target)).target == expected


def test_an_identity_is_known_by_its_string_or_its_ref() -> None:
    names = [
        parse.define_routine(**texts.good(identity=form)).identity
        for form in ("bot://x", {"ref": "bot://y", "inline": {}}, {"inline": {"name": "n"}}, {})
    ]
    assert [identity and identity.name for identity in names] == ["bot://x", "bot://y", None, None]


def test_a_routine_never_changes() -> None:
    inputs = {"list": [1]}
    routine = parse.define_routine(**texts.good(target={"tool": "t", "inputs": inputs}))
    inputs["list"].append(2)
    assert routine == parse.define_routine(**texts.good(target={"tool": "t", "inputs": {"list": [1]}}))
    assert isinstance(routine.target, manifest.ToolTarget)
    with pytest.raises(TypeError):
        routine.target.inputs["list"] = ()  # type: ignore[index]
    with pytest.raises(AttributeError):
        routine.id = "other"  # type: ignore[misc]


# TRAPS 30: the YAML 1.2 reading, then a typed error.


def test_on_is_a_key_in_a_schedule_and_in_retry() -> None:
    text = texts.GOOD.replace("kind: manual", "kind: event\n  on: turn-end")
    routine = parse.parse_routine(text.replace("\n---\n", "\nretry:\n  on: [timeout]\n---\n"))
    assert routine.schedule == manifest.EventSchedule(on="turn-end", filter={})
    assert routine.retry.on == ("timeout",)


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ("enabled: off", "enabled", "true or false"),
        ("enabled: yes", "enabled", "true or false"),
        ("enabled: 1", "enabled", "true or false"),
        ("version: 1.0", "version", "in quotes"),
        ("version: 2026-01-01", "version", "three numbers"),
        ("tags: [2026]", "tags.0", "in quotes"),
        ("metadata: null", "metadata", "a mapping"),
        ("history: {retain_runs: true}", "history.retain_runs", "whole number"),
        ("history: {retain_runs: '3'}", "history.retain_runs", "whole number"),
        ("history: {retain_runs: 9007199254740992}", "history.retain_runs", "2^53"),
        ("retry: {max_attempts: 1e1}\nx: 1", "x", "not a field"),
    ],
)
def test_a_value_of_the_wrong_type_is_a_fault_at_its_line(line: str, field: str, words: str) -> None:
    text = texts.with_lines(*line.split("\n"))
    [fault] = parse.read_routine(text).faults
    assert (fault.code, fault.field, fault.line) == (
        "routine_invalid",
        field,
        text[: text.rindex("\n---")].count("\n") + 1,
    )
    assert words in fault.message


def test_every_one_thirty_is_a_string_and_no_duration() -> None:
    text = texts.GOOD.replace("kind: manual", "kind: interval\n  every: 1:30")
    assert faults(text) == [("schedule.every", 7)]


def test_an_unquoted_date_is_a_string_and_so_a_good_instant_only_in_full() -> None:
    interval = texts.GOOD.replace("kind: manual", "kind: interval\n  every: 5m\n  from: {}")
    assert faults(interval.replace("{}", "2026-01-01")) == [("schedule.from", 8)]
    schedule = parse.parse_routine(interval.replace("{}", "2026-01-01T00:00:00Z")).schedule
    assert schedule == manifest.IntervalSchedule(every="5m", start=1_767_225_600_000)


# TRAPS 16, 23, 26 and 36, as far as a manifest shows them.


def test_an_unquoted_star_is_told_to_be_quoted() -> None:
    text = texts.GOOD.replace("kind: manual", "kind: cron\n  cron: */5 * * * *")
    [fault] = parse.read_routine(text).faults
    assert (fault.line, '"*/5 * * * *"' in fault.message) == (7, True)


@pytest.mark.parametrize(
    "cron",
    ["*/0 * * * *", "*/90 * * * *", "0 9 * * * *", "@daily", "٠ 9 * * *", "0\u00a09 * * *", "0 0 31 2 *", "0 " * 60],
)
def test_a_cron_that_means_nothing_is_refused(cron: str) -> None:
    assert fields_at_fault(schedule={"kind": "cron", "cron": cron}) == ["schedule.cron"]


@pytest.mark.parametrize("zone", ["EST", "localtime", "posixrules", "Factory", "../etc", "+01:00", "", "GMT", 5, None])
def test_a_zone_that_is_no_iana_name_is_refused(zone: Any) -> None:
    assert fields_at_fault(schedule={"kind": "cron", "cron": "0 9 * * *", "timezone": zone}) == ["schedule.timezone"]


@pytest.mark.parametrize(
    "start",
    ["2026-W01-1", "20260101T000000Z", "٢٠٢٦-01-01T00:00:00Z", "2026-01-01T00:00:00Z\n", "2026-02-30T00:00:00Z"],
)
def test_an_instant_is_ascii_and_matched_from_end_to_end(start: str) -> None:
    assert fields_at_fault(schedule={"kind": "interval", "every": "5m", "from": start}) == ["schedule.from"]


@pytest.mark.parametrize("every", ["0m", "0d", "4s", "5 m", "٥m", "5m\n", "1:30", "5", 5, None, "-5m", "1.5h"])
def test_an_interval_under_five_seconds_or_of_another_form_is_refused(every: Any) -> None:
    assert fields_at_fault(schedule={"kind": "interval", "every": every}) == ["schedule.every"]


# TRAPS 34: integers by JavaScript's rule.


@pytest.mark.parametrize(
    ("text", "value"),
    [("300.0", 300), ("3e2", 300), ("-0", 0), ("-0.0", 0), ("0x10", 16), ("9007199254740991", 2**53 - 1)],
)
def test_a_whole_number_in_any_notation_is_an_integer(text: str, value: int) -> None:
    kept = parse.parse_routine(texts.with_lines("history:", f"  retain_runs: {text}")).history.retain_runs
    assert (kept, type(kept)) == (value, int)


@pytest.mark.parametrize("text", ["true", "'300'", "300.5", "9007199254740992", "1e400", "9" * 400, "-1", "null"])
def test_what_is_no_whole_number_is_none(text: str) -> None:
    assert faults(texts.with_lines("history:", f"  retain_runs: {text}")) == [("history.retain_runs", 10)]
