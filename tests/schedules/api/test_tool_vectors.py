"""The reference implementation's recorded answers, over HTTP: every tenth row, and every view."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from schedules.domain import instants
from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, host
from tests.schedules.domain import vectors

Api = Callable[[User], Client]

STEP = 10
LEASE_SECONDS = 86_400


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    return host(api(user), leaseSeconds=LEASE_SECONDS)


def instant(text: str) -> int:
    found = instants.parse(text)
    assert found is not None
    return found


def sample(name: str) -> Iterator[dict[str, Any]]:
    """Every tenth row, in the order of their clocks; a null ``at`` speaks of the core alone."""
    rows = [row for row in vectors.rows(name)[::STEP] if row.get("at", "") is not None]
    yield from sorted(rows, key=lambda row: str(row["now"]))


def at(one: Host, clock: HandClock, now: str) -> None:
    """Set the clock, and open the session anew: the last lease may have ended on the way."""
    if clock.now != instant(now):
        clock.now = instant(now)
        assert one.open(leaseSeconds=LEASE_SECONDS).status_code == 200


@pytest.mark.parametrize("name", ["at_string", "at_local", "numbers"])
def test_creating_answers_as_the_reference_did(one: Host, clock: HandClock, name: str) -> None:
    wrong, rows = [], 0
    for row in sample(name):
        at(one, clock, row["now"])
        selectors = {key: row[key] for key in ("at", "after_seconds", "every_seconds") if key in row}
        answer = one.tool("create", {"prompt": row.get("prompt", "look"), **selectors}).json()
        got = answer.get("code") or answer["prompt" if "prompt" in row else "scheduledAt"]
        if got != (row["error"] if "error" in row else row["ok"]):
            wrong.append((row, answer))
        rows += 1
    assert wrong == []
    assert rows >= 15


def test_views_are_as_the_reference_showed_them(one: Host, clock: HandClock) -> None:
    for row in vectors.rows("view"):
        record = row["record"]
        assert record["kind"] == "at"  # the only kind whose target is given as it is
        clock.now = instant(record["scheduledAt"]) - 1
        made = one.tool("create", {"prompt": record["prompt"], "at": record["scheduledAt"]}).json()
        clock.now = instant(row["now"])
        assert one.tool("list").json() == [row["ok"] | {"id": made["id"]}], row
        one.tool("delete", {"id": made["id"]})
