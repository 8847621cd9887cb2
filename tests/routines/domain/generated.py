"""Manifests by the thousand: good ones, and good ones with something changed. The same for the same seed."""

import copy
import random
from typing import Any

JUNK: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3.0, 1.5, 10, 11, 3600, 3601, 2**53, "", "x", "1", "on", "UTC", "5m", "0 9 * * *",
    "1.0.0", "routine/v1", [], ["x"], [1], [""], [None], {}, {"x": 1}, {"ref": "r"}, {"kind": "manual"}, "é" * 2001,
    "a b",
)  # fmt: skip
NAMES = (
    "x",
    "extra",
    "inputs",
    "tool",
    "action",
    "workflow",
    "kind",
    "cron",
    "timezone",
    "on",
    "filter",
    "ref",
    "file",
)

SCHEDULES: tuple[Any, ...] = (
    {"kind": "cron", "cron": "0 9 * * MON-FRI", "timezone": "Europe/Paris", "jitter_seconds": 30, "catchup": "one"},
    {"kind": "cron", "cron": "*/5 * * * *"},
    {"kind": "interval", "every": "90s", "from": "2026-12-01T00:00:00Z", "jitter_seconds": 0},
    {"kind": "interval", "every": "7d"},
    {"kind": "calendar", "rrule": "FREQ=MONTHLY;BYDAY=3TU;BYHOUR=9", "timezone": "America/New_York"},
    {"kind": "manual"},
    {"kind": "event", "on": "turn-end", "filter": {"cwd": "/srv", "n": [1, None]}},
    {"kind": "event", "on": "host:deployed"},
)
TARGETS: tuple[Any, ...] = (
    {"tool": "lifecycle_noop"},
    {"tool": "worktree_gc", "inputs": {"apply": True, "at": "${{ now }}"}},
    {"agent": {"adapter": "a", "prompt": "p", "model": "m", "worktree": {"slug": "s"}}},
    {"workflow": "w.md", "inputs": {}},
    {"workflow": {"file": "w.md"}},
    {"workflow": {"ref": "r"}},
    {"workflow": {"inline": {"steps": []}}},
    {"action": "@acme/a", "inputs": {"n": 1.5}},
)
OPTIONAL: dict[str, tuple[Any, ...]] = {
    "version": ("1.0.0", "2.1.0-rc.1", "01.2.3", "1.0.0+b_5"),
    "identity": ("bot://x", {}, {"ref": "r", "more": 1}, {"file": "f"}, {"inline": {"name": "n", "email": ""}}),
    "retry": ({}, {"max_attempts": 10, "backoff": "linear"}, {"initial_ms": 0, "max_ms": 5, "on": ["timeout", "5xx"]}),
    "on_failure": ({}, {"notify": ["bot://x", {"ref": "r"}], "create_work_item": True}, {"fire_event": "a.failed"}),
    "history": ({}, {"retain_runs": 0, "retain_failed": 3}),
    "fires_events": ([], ["routine-triggered"], ["a.b", "c:d"]),
    "enabled": (True, False),
    "tags": ([], ["a", ""]),
    "metadata": ({}, {"corpus": {"deep": [1, {"x": None}]}}),
}


def manifests(count: int, seed: int = 41) -> list[Any]:
    """So many manifests; about a third of them as good as they were."""
    rng = random.Random(seed)
    return [_manifest(rng) for _ in range(count)]


def _manifest(rng: random.Random) -> Any:
    fields: dict[str, Any] = {
        "schema": "routine/v1",
        "id": rng.choice(("ab", "@acme/routines/daily", "a.b_c-d", "tail/", "x" * 80)),
        "description": rng.choice(("d", "d" * 2000, "日本語")),
        "schedule": rng.choice(SCHEDULES),
        "target": rng.choice(TARGETS),
    }
    for key, values in OPTIONAL.items():
        if rng.random() < 0.4:
            fields[key] = rng.choice(values)
    fields = copy.deepcopy(fields)
    for _ in range(rng.choice((0, 1, 1, 2))):
        _change(rng, fields)
    return fields


def _change(rng: random.Random, fields: dict[str, Any]) -> None:
    holder: Any = fields
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = rng.choice(keys)
        inner = holder[key]
        if not (isinstance(inner, dict | list) and inner and rng.random() < 0.7):
            break
        holder = inner
    match rng.randrange(4):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(NAMES)] = copy.deepcopy(rng.choice(JUNK))
        case _:
            holder[key] = copy.deepcopy(rng.choice(JUNK))
