"""Answers kept for ``Idempotency-Key``: a call that is sent again learns what became of the first."""

import hashlib
from dataclasses import dataclass

from schedules.projection import rows
from schedules.sessions import lossless
from schedules.sessions.errors import Refusal


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


def answered(session_id: str, once: Once | None) -> lossless.Json:
    """The first answer to this key; None where it has none yet. Raises Refusal ``idempotency_conflict``."""
    if once is None:
        return None
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


def keep(session_id: str, once: Once, answer: lossless.Json, now: int) -> None:
    """Keep an answer in the transaction that it tells of, at ``now`` in epoch milliseconds."""
    rows.execute(
        "INSERT INTO schedules_idempotentanswer (session_id, call, key, body, answer, created_at) "
        "VALUES (%s, %s, %s, %s, %s, %s)",
        [session_id, once.call, lossless.index_key(once.key), once.digest, lossless.dumps(answer), now],
    )
