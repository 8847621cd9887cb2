"""How far an owner can see: the earliest instant at which there is something for it to do."""

from django.conf import settings
from django.db import connection

from schedules.locked import Unit
from schedules.projection import rows
from schedules.sessions import events

#: How often an owner looks for work that other processes made, in seconds: the promise behind every hint.
POLL_SECONDS = 0.25


class Horizon:
    """The earliest instant at which there is something to do, as far as is known, and when it must be asked anew."""

    def __init__(self) -> None:
        self._armed_at: int | None = None
        self._lease_end: int | None = None
        self._version: tuple[int, int] | None = None
        self._asked_at: int | None = None

    def reached(self, now: int) -> bool:
        """Whether something is due now."""
        if self._stale(now):
            self.look(now)
        return any(at is not None and at <= now for at in (self._armed_at, self._lease_end))

    def look(self, now: int) -> None:
        """Ask the database for the earliest target and the earliest lease's end."""
        self._version = _version()
        self._asked_at = now
        row = rows.fetch(
            "SELECT (SELECT armed_at FROM schedules_sessionstate WHERE armed_at IS NOT NULL"
            " ORDER BY armed_at LIMIT 1), (SELECT min(expires_at) FROM schedules_lease)",
            [],
        )[0]
        self._armed_at, self._lease_end = row

    def wait(self, now: int) -> float:
        """Seconds until the horizon, at most until the next poll. What is due and could not be done waits for that."""
        seconds = min(POLL_SECONDS, settings.WAKEFUL_MAX_WAIT_SECONDS)
        for at in (self._armed_at, self._lease_end):
            if at is not None and at > now:
                seconds = min(seconds, (at - now) / 1000)
        return seconds

    def lag(self, now: int) -> int:
        """How long the earliest due reminder has waited, in milliseconds."""
        return 0 if self._armed_at is None else max(0, now - self._armed_at)

    def nearer(self, unit: Unit) -> bool:
        """Whether a committed unit may be due before the horizon."""
        projection = unit.projection
        if unit.lease is None or not projection.idle or not projection.active:
            return False
        if any(event.type in (events.TURN_END, events.SESSION_OPENED) for event in unit.appended):
            return True
        targets = [
            entry.record.scheduled_at
            for entry in map(projection.schedules.entries.get, projection.changed_entries)
            if entry is not None
        ]
        # Read once: the owner's thread may write it meanwhile.
        armed_at = self._armed_at
        return any(armed_at is None or target < armed_at for target in targets)

    def _stale(self, now: int) -> bool:
        if self._asked_at is None or connection.vendor != "sqlite":
            return True
        old = now - self._asked_at
        return not 0 <= old < settings.WAKEFUL_MAX_WAIT_SECONDS * 1000 or _version() != self._version


def _version() -> tuple[int, int] | None:
    """On SQLite, what changes whenever another connection commits or this one writes: a look without reading."""
    if connection.vendor != "sqlite":
        return None
    return int(rows.fetch("PRAGMA data_version", [])[0][0]), connection.connection.total_changes
