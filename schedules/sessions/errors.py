"""What a caller is refused, and why: the transport's closed list of codes."""

from typing import Literal

Code = Literal[
    "invalid_json",
    "invalid_request",
    "unauthenticated",
    "forbidden",
    "not_found",
    "session_exists",
    "session_live",
    "session_not_live",
    "lease_lost",
    "turn_open",
    "turn_not_open",
    "nothing_to_claim",
    "invalid_outcome",
    "invalid_time_zone",
    "idempotency_conflict",
    "limit_reached",
    "rate_limited",
    "too_large",
    "corrupt_schedule_log",
    "persistence_uncertain",
    "internal_error",
]


class Refusal(Exception):
    """A call that is refused and has changed nothing. ``message`` tells the caller what to do instead."""

    def __init__(self, code: Code, message: str, fields: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fields = fields


class PersistenceUncertain(Refusal):
    """A durability barrier did not complete: the caller cannot know whether anything was written."""

    def __init__(self) -> None:
        super().__init__(
            "persistence_uncertain",
            "The database did not confirm this call, so it may or may not have taken effect. "
            "Send the same call again with the same Idempotency-Key to learn which.",
        )
