"""A session and its host, in the few words that a test of the owner needs."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from schedules import live, tools, turns
from schedules.domain import instants
from schedules.projection import rows
from schedules.sessions import log

LONGEST_LEASE = 86_400


@dataclass
class Session:
    """A session and its host."""

    id: str
    lease: str = ""

    def open(self, seconds: int = LONGEST_LEASE) -> None:
        opened: Any = live.open_(self.id, live.Opening(holder="host", seconds=seconds))
        self.lease = opened["leaseId"]

    def remind(self, prompt: str = "Look.", **rule: Any) -> str:
        answer: Any = tools.create(self.id, {"prompt": prompt, **rule}).value
        assert "code" not in answer, answer
        return str(answer["id"])

    def begin(self, text: str | None = None) -> int:
        said = None if text is None else turns.message(text)
        turn: Any = turns.begin(self.id, self.lease, said)
        return int(turn["turn"])

    def end(self, number: int, outcome: str = "completed") -> None:
        turns.end(self.id, number, self.lease, outcome, None)

    def answer(self) -> list[str]:
        """Claim the follow-up and end its turn; the ids of its reminders."""
        ids = self.waiting()
        self.end(self.begin())
        return ids

    def waiting(self) -> list[str]:
        """The ids of the reminders in the waiting follow-ups."""
        found: Any = turns.followups(self.id, "waiting", limit=10)
        return [reminder["id"] for followup in found for reminder in followup["reminders"]]

    def active(self) -> list[str]:
        return [str(view["id"]) for view in self.listed()]

    def listed(self) -> list[dict[str, Any]]:
        found: Any = tools.list_(self.id, {}).value
        return list(found)

    def types(self) -> list[str]:
        header = log.header(self.id)
        assert header is not None
        return [event.type for event in log.stream(header)]

    def append_raw(self, kind: str, data: str) -> None:
        """An event that no code of ours would write."""
        rows.execute(
            "INSERT INTO schedules_sessionevent (session_id, seq, type, time, data) VALUES (%s, %s, %s, %s, %s)",
            [self.id, len(self.types()), kind, 0, data],
        )


def epoch_ms(instant: str) -> int:
    """An instant's text as a number."""
    parsed = instants.parse(instant)
    assert parsed is not None
    return parsed


def until(look: Callable[[], object]) -> None:
    """Look again and again until it is so, or fail."""
    bound = threading.Event()
    for _ in range(1000):
        if look():
            return
        bound.wait(0.01)
    raise AssertionError("it did not happen in time")
