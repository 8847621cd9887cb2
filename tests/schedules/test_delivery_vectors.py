"""Every recorded delivery, played again over HTTP, with the owner's command at each instant that something is due."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from tests.conftest import Client, HandClock
from tests.schedules.owner.sessions import epoch_ms

VECTORS = Path(__file__).parent.parent / "vectors" / "delivery.jsonl"
SCENARIOS = [json.loads(line) for line in VECTORS.read_text().split("\n") if line]

MINUTE = 60_000
A_DAY = 86_400


@dataclass
class Host:
    """A host with one session: it does what a scenario's step says, and answers each follow-up at once."""

    api: Client
    clock: HandClock
    path: str = ""
    lease: str | None = None
    turn: int | None = None
    followups: list[dict[str, Any]] = field(default_factory=list)

    def perform(self, step: dict[str, Any]) -> Any:
        match step["op"]:
            case "open":
                self.open()
            case "close":
                self.call("close", {"leaseId": self.lease})
                self.lease = self.turn = None
            case "begin_turn":
                self.begin({"message": "Hello."})
            case "end_turn":
                if self.turn is not None:
                    self.call(f"turns/{self.turn}/end", {"leaseId": self.lease, "outcome": "completed"})
                    self.turn = None
            case "advance":
                self.advance(self.clock.now + step["minutes"] * MINUTE)
            case tool:
                return self.call(f"tools/{tool}", step["args"])
        self.deliver()
        return None

    def create(self) -> None:
        answer = self.api.post("/sessions", {})
        self.path = f"/sessions/{answer.json()['id']}"
        self.open()

    def open(self) -> None:
        self.lease = self.call("open", {"holder": "host", "leaseSeconds": A_DAY})["leaseId"]

    def begin(self, message: dict[str, Any]) -> None:
        self.turn = self.call("turns", {"leaseId": self.lease, **message})["turn"]

    def advance(self, until: int) -> None:
        for target in self.targets(until):
            self.clock.now = max(self.clock.now, target)
            self.deliver()
        self.clock.now = until
        if self.lease is not None:
            self.call("renew", {"leaseId": self.lease})

    def targets(self, until: int) -> Iterator[int]:
        """The instants up to ``until`` at which a reminder comes due, as the reminders stand each time."""
        while True:
            targets = [epoch_ms(view["scheduledAt"]) for view in self.get("schedules")["results"]]
            ahead = [target for target in targets if self.clock.now < target <= until]
            if not ahead:
                return
            yield min(ahead)

    def deliver(self) -> None:
        said = io.StringIO()
        call_command("deliver", "--once", "--json", stdout=said)
        waiting = self.get("followups")["results"]
        assert json.loads(said.getvalue()) == {
            "admitted": len(waiting),
            "expired": 0,
            "failed": 0,
            "locked": 0,
            "attempts": 0,
        }
        for followup in waiting:
            self.followups.append(
                {
                    "at": followup["queuedAt"],
                    "kind": followup["kind"],
                    "reminders": followup["reminders"],
                }
            )
            self.begin({})

    def changes(self) -> list[Any]:
        events = self.get("events?limit=1000")["results"]
        return [event["data"] for event in events if event["type"] == "schedule/change"]

    def get(self, what: str) -> Any:
        answer = self.api.get(f"{self.path}/{what}")
        assert answer.status_code == 200, answer.content
        return answer.json()

    def call(self, what: str, body: Any) -> Any:
        answer = self.api.post(f"{self.path}/{what}", body)
        assert answer.status_code in (200, 201, 400), answer.content
        return answer.json()


@pytest.fixture
def host(api: Callable[[User], Client], user: User, clock: HandClock) -> Host:
    return Host(api=api(user), clock=clock)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=range(len(SCENARIOS)))
def test_a_recorded_scenario_is_delivered_as_it_was(scenario: dict[str, Any], host: Host) -> None:
    host.clock.now = epoch_ms(scenario["start"])
    host.create()
    for step in scenario["steps"]:
        answer = host.perform(step)
        if "result" in step:
            assert answer == step["result"]

    assert host.followups == scenario["followups"]
    assert host.call("tools/schedule_list", {}) == scenario["final"]
    assert host.changes() == scenario["changes"]
