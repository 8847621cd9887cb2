"""A session under its lock: what is read when it is taken, and what is written when its transaction ends."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from schedules import clock
from schedules.domain import instants
from schedules.projection import rows, state, store
from schedules.sessions import bulk, log, lossless
from schedules.sessions.bulk import NUMBER, TEXT
from schedules.sessions.errors import Refusal
from schedules.sessions.events import Event

_LEASES = "schedules_lease"
_SESSION = {"session_id": TEXT}
_LEASE = {"lease_id": TEXT, "holder": TEXT, "seconds": NUMBER, "expires_at": NUMBER}
_STATE = ", ".join(f"st.{name}" for name in rows.STATE_COLUMNS)


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


def lease_end(now: int, seconds: int) -> int:
    """When a lease taken or renewed now ends; never past the last instant that can be written."""
    return min(now + seconds * 1000, instants.MAX)


def take(session_ids: Sequence[str], *, skip_locked: bool = False) -> list[Unit]:
    """Lock sessions inside a barrier and load each, caught up with its log, at one sample of the clock."""
    locked = log.lock(session_ids, skip_locked=skip_locked)
    if not locked:
        return []
    now = clock.sample()
    # One statement for each table: joined, a database whose statistics are of younger days reads a whole table for
    # each session.
    ids = list(locked)
    states = {
        row[0]: row[1:]
        for row in rows.fetch(
            f"SELECT st.session_id, {_STATE}, (SELECT max(e.seq) FROM schedules_sessionevent e"
            " WHERE e.session_id = st.session_id) FROM schedules_sessionstate st"
            f" WHERE st.session_id IN ({log.marks(ids)})",
            ids,
        )
    }
    leases = {
        row[0]: Hold(lease_id=row[1], holder=row[2], seconds=row[3], expires_at=row[4])
        for row in rows.fetch(
            f"SELECT session_id, lease_id, holder, seconds, expires_at FROM {_LEASES}"
            f" WHERE session_id IN ({log.marks(ids)})",
            ids,
        )
    }
    return [_unit(id_, seed, states.get(id_), leases.get(id_), now) for id_, seed in locked.items()]


def _unit(session_id: str, seed_length: int, stored: Sequence[Any] | None, lease: Hold | None, now: int) -> Unit:
    if stored is None:
        projection = state.blank(session_id, seed_length=seed_length)
        last = _last_own_seq(session_id)
    else:
        projection = state.from_row(session_id, stored[:-1])
        last = stored[-1]
    unit = Unit(session_id=session_id, now=now, projection=projection, lease=lease)
    if lease is not None:
        unit._lease_stored = True
        latest = lease_end(now, lease.seconds)
        if lease.expires_at > latest:
            # The clock was set back since: a lease never lasts longer than one lease time from now.
            lease.expires_at = latest
            unit._lease_changed = True
    if last is not None and last > projection.folded_through:
        for event in log.own_stream(session_id, projection.folded_through + 1):
            projection.apply(event)
    return unit


def _last_own_seq(session_id: str) -> int | None:
    found = rows.fetch("SELECT max(seq) FROM schedules_sessionevent WHERE session_id = %s", [session_id])
    last: int | None = found[0][0]
    return last


def flush(units: Sequence[Unit], *, rearm: bool = False) -> None:
    """Write what was appended and what follows from it, for all these sessions in a few statements.

    With ``rearm`` each session's next due instant is written whether or not anything was appended.
    """
    appended = [(unit.session_id, event) for unit in units for event in unit.appended]
    log.append(appended)
    for hook in log.hooks:
        hook(appended)
    store.write(
        [unit.projection for unit in units if rearm or unit.projection.touched],
        {unit.session_id for unit in units if unit.lease is not None},
    )
    changed = [unit for unit in units if unit._lease_changed]
    bulk.delete(_LEASES, _SESSION, [(unit.session_id,) for unit in changed if unit.lease is None])
    for stored in (True, False):
        leases = [
            (unit.lease.lease_id, unit.lease.holder, unit.lease.seconds, unit.lease.expires_at, unit.session_id)
            for unit in changed
            if unit.lease is not None and unit._lease_stored is stored
        ]
        if stored:
            bulk.update(_LEASES, _LEASE, _SESSION, leases)
        else:
            bulk.insert(_LEASES, _LEASE | _SESSION, leases)
