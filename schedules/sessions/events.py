"""The event of a session's log, and the names of the types that Wakeful writes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from schedules.sessions.lossless import Json

SESSION_OPENED = "session/opened"
SESSION_CLOSED = "session/closed"
TURN_START = "turn/start"
TURN_END = "turn/end"
USER_MESSAGE = "user/message"
ASSISTANT_MESSAGE = "assistant/message"
FOLLOWUP_QUEUED = "followup/queued"
FOLLOWUP_DISCARDED = "followup/discarded"
SCHEDULE_CHANGE = "schedule/change"

WAKEFUL_TYPES = (
    SESSION_OPENED,
    SESSION_CLOSED,
    TURN_START,
    USER_MESSAGE,
    ASSISTANT_MESSAGE,
    TURN_END,
    FOLLOWUP_QUEUED,
    FOLLOWUP_DISCARDED,
    SCHEDULE_CHANGE,
)

HOST_TYPE_PATTERN = r"[A-Za-z0-9._/-]+:[A-Za-z0-9._/:-]+"
HOST_TYPE_LENGTHS = (3, 128)

_HOST_TYPE = re.compile(HOST_TYPE_PATTERN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of an append-only log.

    seq: its place in the log, contiguous from 0.
    type: what happened, such as `turn/start`.
    time: when, in milliseconds since the epoch.
    data: any JSON value, as it was given.
    extra: keys of an imported envelope that Wakeful does not know.
    """

    seq: int
    type: str
    time: int
    data: Json
    extra: Mapping[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        """The event as the log's readers get it; the envelope's own keys win over `extra`."""
        known: dict[str, Json] = {"seq": self.seq, "type": self.type, "time": self.time, "data": self.data}
        if self.extra:
            known.update({key: value for key, value in self.extra.items() if key not in known})
        return known


def is_host_type(text: str) -> bool:
    """Whether a host may append events of this type: `name:rest`, 3 to 128 characters of ASCII.

    The colon keeps a host's types apart from Wakeful's, now and later.
    """
    shortest, longest = HOST_TYPE_LENGTHS
    return shortest <= len(text) <= longest and _HOST_TYPE.fullmatch(text) is not None


def member(data: Json, key: str) -> Json:
    """The value under a key of an event's data; None where the data is no object or lacks it."""
    return data.get(key) if isinstance(data, dict) else None
