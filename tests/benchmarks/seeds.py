"""What a benchmark starts from: long logs and many waiting reminders, written as quickly as they can be."""

from collections.abc import Iterator

from schedules import clock, exchange, live, transaction
from schedules.domain import codec, records
from schedules.projection import rows
from schedules.sessions import bulk, log, lossless
from schedules.sessions.bulk import NUMBER, TEXT

_BATCH = 10_000
_DAY = 86_400_000


def long_session(owner_id: int, events: int) -> str:
    """A live session whose log has so many events: imported, a reminder made and deleted in every ten."""
    session = log.new_id()
    now = clock.sample()
    exchange.import_log(_lines(session, events, now), owner_id=owner_id)
    live.open_(session, live.Opening(holder="benchmark", seconds=86_400))
    _analyze()
    return session


def _analyze() -> None:
    """What the database does by itself a little after much was written."""
    rows.execute("ANALYZE", [])


def changes(events: int, now: int) -> Iterator[tuple[str, lossless.Json]]:
    """The types and data of such a log."""
    for seq in range(events):
        number, step = divmod(seq, 10)
        name = f"schedule-{number + 1}"
        if step == 0:
            record = records.Record(
                id=name, kind="every", prompt="look at the build", scheduled_at=now + seq, seconds=300
            )
            yield "schedule/change", codec.encode(codec.Create(record=record))
        elif step == 9:
            yield "schedule/change", codec.encode(codec.Delete(id=name))
        elif step % 2:
            due = now + seq - step + (step // 2) * 300_000
            yield "schedule/change", codec.encode(codec.Dispatch(id=name, accepted_at=due))
        else:
            yield "host:note", {"text": "the build is green"}


def _lines(session: str, events: int, now: int) -> Iterator[bytes]:
    header = {"type": "session", "version": 0, "id": session, "createdAt": now, "delegationDepth": 0}
    yield lossless.dumps(header).encode()
    for seq, (kind, data) in enumerate(changes(events, now)):
        yield lossless.dumps({"type": kind, "seq": seq, "time": now, "data": data}).encode()


def waiting(owner_id: int, *, sessions: int, reminders: int) -> None:
    """Live sessions, each with reminders due in a day: rows alone, for an owner at rest reads nothing else."""
    now = clock.sample()
    for first in range(0, sessions, _BATCH // reminders):
        ids = [log.new_id() for _ in range(min(_BATCH // reminders, sessions - first))]
        with transaction.barrier():
            bulk.insert(
                "schedules_session",
                {"id": TEXT, "owner_id": NUMBER, "created_at": NUMBER, "seed_length": NUMBER}
                | {"origin": TEXT, "metadata": TEXT},
                [(session, owner_id, now, 0, "api", "{}") for session in ids],
            )
            bulk.insert(
                "schedules_lease",
                {"session_id": TEXT, "lease_id": TEXT, "holder": TEXT, "seconds": NUMBER, "expires_at": NUMBER},
                [(session, log.new_id(), "benchmark", 86_400, now + _DAY) for session in ids],
            )
            bulk.insert(
                "schedules_reminder",
                {"session_id": TEXT, "key": TEXT, "seq": NUMBER, "kind": TEXT, "record": TEXT, "due_at": NUMBER},
                [_reminder(session, number, now + _DAY + number) for session in ids for number in range(reminders)],
            )
            bulk.insert(
                "schedules_sessionstate",
                {"session_id": TEXT, "folded_through": NUMBER, "created": NUMBER, "active": NUMBER}
                | {"next_due": NUMBER, "armed_at": NUMBER, "last_turn": NUMBER, "waiting": NUMBER, "exhausted": NUMBER},
                [(s, reminders - 1, reminders, reminders, now + _DAY, now + _DAY, 0, 0, 0) for s in ids],
            )
    _analyze()


def _reminder(session: str, number: int, due: int) -> bulk.Row:
    name = f"schedule-{number + 1}"
    record = records.Record(id=name, kind="at", prompt="look", scheduled_at=due, seconds=None)
    return (session, name, number, "at", lossless.dumps(records.to_json(record)), due)
