"""The owner's heartbeat row, and the small chores that ride on it."""

from schedules import transaction
from schedules.projection import rows

#: How often an owner says that it lives, in seconds.
BEAT_SECONDS = 5
_FORGET_OWNERS_MS = 3600 * 1000
_KEEP_ANSWERS_MS = 24 * 3600 * 1000
_ANSWERS_AT_ONCE = 1000
_FORGETS_A_BEAT = 20


class Heart:
    """One owner's heartbeat."""

    def __init__(self, owner_id: str) -> None:
        self._id = owner_id
        self._started_at: int | None = None
        self._beat_at = 0
        self._seen_at = 0
        self._set_back = True
        self._admitted = 0
        self._failed = 0
        self._lag_ms = 0

    def count(self, *, admitted: int, failed: int, lag_ms: int) -> None:
        """Note what a step did; the next beat tells it."""
        self._admitted += admitted
        self._failed += failed
        self._lag_ms = max(self._lag_ms, lag_ms)

    def beat(self, now: int) -> None:
        """Write the row if it is time, at ``now`` in epoch milliseconds. Call it at every step."""
        # Compared with the last step's time, not the last beat's: no step back may pass unseen between two beats. It
        # stays known until a beat is written, for one that failed shortened no lease.
        self._set_back = self._set_back or now < self._seen_at
        self._seen_at = now
        if not self._set_back and 0 <= now - self._beat_at < BEAT_SECONDS * 1000:
            return
        if self._started_at is None:
            self._started_at = now
        with transaction.barrier():
            if self._set_back:
                # A lease never lasts longer than one lease time from now, whatever the clock said before.
                rows.execute(
                    "UPDATE schedules_lease SET expires_at = %s + seconds * 1000"
                    " WHERE expires_at > %s + seconds * 1000",
                    [now, now],
                )
            rows.execute(
                "INSERT INTO schedules_ownerheartbeat (id, started_at, beat_at, lag_ms, admitted, failed)"
                " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at,"
                " lag_ms = excluded.lag_ms, admitted = excluded.admitted, failed = excluded.failed",
                [self._id, self._started_at, now, self._lag_ms, self._admitted, self._failed],
            )
            rows.execute("DELETE FROM schedules_ownerheartbeat WHERE beat_at < %s", [now - _FORGET_OWNERS_MS])
        self._set_back = False
        self._beat_at = now
        self._lag_ms = 0
        _forget_answers(now)

    def stop(self) -> None:
        """Take the row away: a clean end is no missing heartbeat."""
        with transaction.barrier():
            rows.execute("DELETE FROM schedules_ownerheartbeat WHERE id = %s", [self._id])


def _forget_answers(now: int) -> None:
    """Delete answers that were kept long enough, in short transactions."""
    for _ in range(_FORGETS_A_BEAT):
        with transaction.barrier():
            gone = rows.execute(
                "DELETE FROM schedules_idempotentanswer WHERE id IN (SELECT id FROM schedules_idempotentanswer"
                " WHERE created_at < %s ORDER BY created_at LIMIT %s)",
                [now - _KEEP_ANSWERS_MS, _ANSWERS_AT_ONCE],
            )
        if gone < _ANSWERS_AT_ONCE:
            return
