"""The one serialized path of a session: lock, fold, act, append, project, commit.

Tools, the live handle and the owner all come through here, in every process of every machine that shares the
database. A caller hands in an action; it gets a :class:`Unit`, the session as it stands under its lock at one sample
of the clock, and appends to it. Whatever it raises undoes everything.
"""

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from schedules import clock
from schedules.projection import rows, state
from schedules.sessions import log, lossless
from schedules.sessions.errors import PersistenceUncertain, Refusal
from schedules.sessions.events import Event

logger = logging.getLogger(__name__)

# SQLite lets one writer in at a time and makes the others poll. Queueing the threads of a process here first keeps
# their worst wait short.
_writer = threading.Lock()

_GIVE_UP_AFTER = 3

_STATE = ", ".join(f"st.{name}" for name in rows.STATE_COLUMNS)

#: Called after each commit with what it changed, in the committing thread: hints for the owner and for long polls.
listeners: list[Callable[[Sequence["Unit"]], None]] = []


@dataclass(slots=True, kw_only=True)
class Hold:
    """A host's lease as it is stored. ``expires_at`` is in epoch milliseconds."""

    lease_id: str
    holder: str
    seconds: int
    expires_at: int


@dataclass(slots=True, kw_only=True)
class Unit:
    """A session under its lock, at the decision time ``now``. ``appended`` is what this transaction adds to the log."""

    session_id: str
    now: int
    projection: state.Projection
    lease: Hold | None
    appended: list[Event] = field(default_factory=list)
    _lease_stored: bool = False
    _lease_changed: bool = False

    @property
    def live(self) -> bool:
        """Whether a host holds the session now."""
        return self.lease is not None and self.now < self.lease.expires_at

    def append(self, kind: str, data: lossless.Json) -> Event:
        """Add the next event, and fold it at once."""
        event = Event(seq=self.projection.folded_through + 1, type=kind, time=self.now, data=data)
        self.projection.apply(event)
        self.appended.append(event)
        return event

    def set_lease(self, lease: Hold | None) -> None:
        """Give the session to a host, or take it from whoever held it."""
        self.lease = lease
        self._lease_changed = True

    def hold(self, lease_id: str) -> None:
        """Prove that the caller holds the live session, and renew its lease."""
        if not self.live or self.lease is None or self.lease.lease_id != lease_id:
            raise Refusal(
                "lease_lost",
                "This leaseId no longer holds the session. Open the session again and use the new leaseId.",
            )
        self.lease.expires_at = lease_end(self.now, self.lease.seconds)
        self._lease_changed = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """An ``Idempotency-Key``: within a session and call, the same key and body get the first answer again."""

    call: str
    key: str
    body: lossless.Json

    @property
    def digest(self) -> str:
        """Equal for bodies that are equal as JSON values."""
        return hashlib.sha256(lossless.canonical(self.body).encode()).hexdigest()


def lease_end(now: int, seconds: int) -> int:
    """When a lease taken or renewed now ends; never past the last instant that can be written."""
    return min(now + seconds * 1000, 253_402_300_799_999)


def perform(
    session_id: str,
    action: Callable[[Unit], lossless.Json],
    *,
    lease_id: str | None = None,
    once: Once | None = None,
) -> lossless.Json:
    """Run one call on a session and answer when what it wrote is durable.

    ``lease_id``, from the ``Wakeful-Lease`` header, must hold the session, and is renewed. Raises Refusal, whatever the
    action raises, and PersistenceUncertain where the database cannot be asked or did not confirm.
    """
    with barrier():
        units = take([session_id])
        if not units:
            raise Refusal("not_found", "There is no such session.")
        unit = units[0]
        if (answer := replayed(session_id, once)) is not None:
            return answer
        if lease_id is not None:
            unit.hold(lease_id)
        answer = action(unit)
        if once is not None and unit.appended:
            _keep(session_id, once, answer, unit.now)
        flush(units)
    announce(units)
    return answer


@contextmanager
def asking() -> Iterator[None]:
    """Turn a database that cannot be reached into PersistenceUncertain."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        logger.warning("the database did not answer: %s", type(error).__name__, exc_info=error)
        raise PersistenceUncertain from error


@contextmanager
def barrier() -> Iterator[None]:
    """A durable transaction: when the block ends without an error, what it wrote has been confirmed as committed."""
    waits = connection.vendor == "sqlite"
    if waits and not _writer.acquire(timeout=settings.LOCK_SECONDS):
        raise PersistenceUncertain
    try:
        with asking(), transaction.atomic(durable=True):
            yield
    finally:
        if waits:
            _writer.release()


def take(session_ids: Sequence[str], *, skip_locked: bool = False) -> list[Unit]:
    """Lock sessions inside a barrier and load each, caught up with its log, at one sample of the clock."""
    locked = log.lock(session_ids, skip_locked=skip_locked)
    if not locked:
        return []
    now = clock.sample()
    found = rows.fetch(
        f"SELECT s.id, s.seed_length, st.session_id, {_STATE}, "
        "l.lease_id, l.holder, l.seconds, l.expires_at, "
        "(SELECT max(e.seq) FROM schedules_sessionevent e WHERE e.session_id = s.id) "
        "FROM schedules_session s LEFT JOIN schedules_sessionstate st ON st.session_id = s.id "
        f"LEFT JOIN schedules_lease l ON l.session_id = s.id WHERE s.id IN ({log.marks(locked)})",
        locked,
    )
    return [_unit(row, now) for row in found]


def _unit(row: Sequence[Any], now: int) -> Unit:
    session_id, seed_length, stored = row[0], row[1], row[2] is not None
    projection = state.from_row(session_id, row[3:13]) if stored else state.blank(session_id, seed_length=seed_length)
    unit = Unit(session_id=session_id, now=now, projection=projection, lease=None)
    if row[13] is not None:
        lease = Hold(lease_id=row[13], holder=row[14], seconds=row[15], expires_at=row[16])
        unit._lease_stored = True
        latest = lease_end(now, lease.seconds)
        if lease.expires_at > latest:
            # The clock was set back since: a lease never lasts longer than one lease time from now.
            lease.expires_at = latest
            unit._lease_changed = True
        unit.lease = lease
    last = row[17]
    if last is not None and last > projection.folded_through:
        for event in log.own_stream(session_id, projection.folded_through + 1):
            projection.apply(event)
    return unit


def flush(units: Sequence[Unit], *, rearm: bool = False) -> None:
    """Write what was appended and what follows from it, for all these sessions in a few statements.

    With ``rearm`` each session's next due instant is written whether or not anything was appended.
    """
    log.append([(unit.session_id, event) for unit in units for event in unit.appended])
    rows.store(
        [unit.projection for unit in units if rearm or unit.projection.touched],
        {unit.session_id for unit in units if unit.lease is not None},
    )
    changed = [unit for unit in units if unit._lease_changed]
    rows.write(
        "DELETE FROM schedules_lease WHERE session_id = %s",
        [(unit.session_id,) for unit in changed if unit.lease is None],
    )
    for stored, statement in (
        (
            True,
            "UPDATE schedules_lease SET lease_id = %s, holder = %s, seconds = %s, expires_at = %s "
            "WHERE session_id = %s",
        ),
        (
            False,
            "INSERT INTO schedules_lease (lease_id, holder, seconds, expires_at, session_id) "
            "VALUES (%s, %s, %s, %s, %s)",
        ),
    ):
        rows.write(
            statement,
            [
                (
                    unit.lease.lease_id,
                    unit.lease.holder,
                    unit.lease.seconds,
                    unit.lease.expires_at,
                    unit.session_id,
                )
                for unit in changed
                if unit.lease is not None and unit._lease_stored is stored
            ],
        )


def announce(units: Sequence[Unit]) -> None:
    """Tell this process's listeners of a commit."""
    for listener in listeners:
        listener(units)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What became of many sessions: units committed, ids skipped because others hold their lock, ids that failed."""

    done: list[Unit]
    skipped: list[str]
    failed: list[str]


def perform_each(session_ids: Sequence[str], action: Callable[[Sequence[Unit]], list[Unit]]) -> Batch:
    """Run one step on many sessions in one commit; where that fails, on each by itself.

    ``action`` gets the units it could lock and gives back those to write; it leaves out the ones that it could not
    decide. One session whose part fails is left out and the others commit.
    """
    try:
        return _together(session_ids, action)
    except Exception as error:
        if len(session_ids) == 1 and isinstance(error, PersistenceUncertain):
            raise
        logger.warning("a commit for %d sessions failed; trying each by itself", len(session_ids), exc_info=True)
    done: list[Unit] = []
    skipped: list[str] = []
    failed: list[str] = []
    unanswered = 0
    for session_id in session_ids:
        try:
            one = _together([session_id], action)
        except Exception as error:
            logger.exception("session %s: nothing was written", session_id)
            failed.append(session_id)
            # One session can be poisoned; when several in a row get no answer, it is the database that is gone.
            unanswered = unanswered + 1 if isinstance(error, PersistenceUncertain) else 0
            if unanswered == _GIVE_UP_AFTER:
                raise
        else:
            unanswered = 0
            done += one.done
            skipped += one.skipped
            failed += one.failed
    return Batch(done=done, skipped=skipped, failed=failed)


def _together(session_ids: Sequence[str], action: Callable[[Sequence[Unit]], list[Unit]]) -> Batch:
    with barrier():
        units = take(session_ids, skip_locked=True)
        done = action(units)
        # Whatever made a session look due, its row tells the truth afterwards: no owner sees it for ever.
        flush(done, rearm=True)
    announce(done)
    taken = {unit.session_id for unit in units}
    written = {unit.session_id for unit in done}
    return Batch(
        done=done,
        skipped=[i for i in session_ids if i not in taken],
        failed=[i for i in taken if i not in written],
    )


def replayed(session_id: str, once: Once | None) -> lossless.Json:
    """The first answer to this key; None where it has none yet. Raises Refusal ``idempotency_conflict``."""
    if once is None:
        return None
    with asking():
        found = rows.fetch(
            "SELECT body, answer FROM schedules_idempotentanswer WHERE session_id = %s AND call = %s AND key = %s",
            [session_id, once.call, lossless.index_key(once.key)],
        )
    if not found:
        return None
    body, answer = found[0]
    if body != once.digest:
        raise Refusal(
            "idempotency_conflict",
            "This Idempotency-Key was used with another body. Send a new key with a new call.",
        )
    return lossless.loads_trusted(answer)


def _keep(session_id: str, once: Once, answer: lossless.Json, now: int) -> None:
    rows.write(
        "INSERT INTO schedules_idempotentanswer (session_id, call, key, body, answer, created_at) "
        "VALUES (%s, %s, %s, %s, %s, %s)",
        [(session_id, once.call, lossless.index_key(once.key), once.digest, lossless.dumps(answer), now)],
    )
