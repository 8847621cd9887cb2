"""A host that speaks to the API: what the tests of this folder share."""

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection

from schedules import transaction
from schedules.locked import Unit
from schedules.sessions import lossless
from tests.conftest import KEPT, Client


@dataclass
class Host:
    """One host with one session. ``lease`` is the leaseId that it has, perhaps a stale one."""

    client: Client
    id: str
    lease: str

    def get(self, path: str = "", query: dict[str, Any] | None = None, **headers: Any) -> Any:
        """``GET /sessions/{id}`` and below."""
        return self.client.get(f"/sessions/{self.id}{path}", query, **headers)

    def post(self, path: str, body: Any = None, **headers: Any) -> Any:
        """``POST`` below the session, with exactly this body."""
        return self.client.post(f"/sessions/{self.id}{path}", {} if body is None else body, **headers)

    def hold(self, path: str, **headers_and_body: Any) -> Any:
        """``POST`` with the lease in the body; names in capitals are headers."""
        body = {name: value for name, value in headers_and_body.items() if not name.isupper()}
        headers = {name: value for name, value in headers_and_body.items() if name.isupper()}
        return self.post(path, {"leaseId": self.lease, **body}, **headers)

    def tool(self, name: str, arguments: Any = None, **headers: Any) -> Any:
        """Call ``schedule_<name>``."""
        return self.post(f"/tools/schedule_{name}", arguments, **headers)

    def say(self, text: str = "hello", **more: Any) -> Any:
        """Begin a turn with a user's message."""
        return self.hold("/turns", message=text, **more)

    def end(self, turn: int, outcome: Any = "completed", **more: Any) -> Any:
        """End a turn."""
        return self.hold(f"/turns/{turn}/end", outcome=outcome, **more)

    def open(self, **body: Any) -> Any:
        """Open the session, as the holder ``laptop`` unless told, and keep the lease."""
        answer = self.post("/open", {"holder": "laptop", **body})
        if answer.status_code == 200:
            self.lease = answer.json()["leaseId"]
        return answer

    def log(self) -> list[dict[str, Any]]:
        """All events."""
        events: list[dict[str, Any]] = self.get("/events", {"limit": 1000}).json()["results"]
        return events

    def told(self) -> list[str]:
        """What happened, an event a line: its type, and what tells it from others of the type."""
        told = []
        for event in self.log():
            data = event["data"]
            tells = [data.get(name) for name in ("reason", "outcome", "source", "attempt", "text") if name in data]
            told.append(" ".join([event["type"], *map(str, tells)]))
        return told

    def queue(self, followup_id: str = "followup-1", text: str = "wake up") -> None:
        """Put a follow-up into the queue, as the owner does."""
        plant(
            self.id,
            "followup/queued",
            {"followupId": followup_id, "kind": "prompt", "reminders": [], "text": text},
        )


def host(client: Client, session_id: str = "s-1", *, holder: str = "laptop", **body: Any) -> Host:
    """A host with a new session, open."""
    answer = client.post("/sessions", {"id": session_id, "open": True, "holder": holder, **body})
    assert answer.status_code == 201, answer.json()
    return Host(client=client, id=session_id, lease=answer.json()["leaseId"])


def plant(session_id: str, kind: str, data: lossless.Json) -> None:
    """Append an event by the one serialized path."""

    def action(unit: Unit) -> lossless.Json:
        return unit.append(kind, data).to_json()

    transaction.perform(session_id, action)


def force(session_id: str, kind: str, data: str, time: int = 0) -> None:
    """Append an event past every path of the code; ``data`` is JSON text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO schedules_sessionevent (session_id, seq, type, time, data) "
            "SELECT %s, max(seq) + 1, %s, %s, %s FROM schedules_sessionevent WHERE session_id = %s",
            [session_id, kind, time, data, session_id],
        )


def refusal(answer: Any) -> tuple[int, str]:
    """The status and the code of an error, proven to have an error's shape."""
    body = answer.json()
    assert {"code", "message"} <= body.keys() <= {"code", "message", "fields", "operation", "id", "errors"}, body
    assert isinstance(body["message"], str)
    assert body["message"]
    assert answer["Content-Type"] == "application/json"
    return answer.status_code, body["code"]


def stored() -> dict[str, int]:
    """How many rows each table has that a call may write."""
    tables = [model._meta.db_table for model in apps.get_models(include_auto_created=True)]
    counted = sorted(set(tables) - KEPT)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(f'(SELECT count(*) FROM {table})' for table in counted)}")
        return dict(zip(counted, cursor.fetchone(), strict=True))


class Unmoved:
    """Proves of refused calls that they wrote nothing."""

    def __init__(self, one: Host) -> None:
        self.one = one
        self.before = self.now()

    def now(self) -> tuple[object, ...]:
        return stored(), self.one.log(), self.one.get().json()

    def refuse(self, answer: Any, what: object) -> tuple[int, str]:
        """The status and the code of a refusal."""
        assert 400 <= answer.status_code < 500, (what, answer.content)
        assert self.now() == self.before, what
        return refusal(answer)
