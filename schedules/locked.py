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
