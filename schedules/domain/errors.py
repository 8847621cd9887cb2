"""The closed list of the tools' error codes, and one stable message for each situation.

A message is read by a model: it says what is wrong and what to send instead. It is the same for every input,
so it never echoes any.
"""

from dataclasses import dataclass
from typing import Literal, get_args

Code = Literal[
    "invalid_selector",
    "invalid_prompt",
    "invalid_rule",
    "invalid_time_zone",
    "not_future",
    "time_out_of_range",
    "frequency_too_high",
    "corrupt_schedule_log",
    "persistence_uncertain",
    "internal_error",
]
CODES: tuple[Code, ...] = get_args(Code)


class ScheduleError(Exception):
    """A refusal of the schedules' core: `code` is one of CODES, `message` is plain words for a model."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One thing that can be wrong.

    code: the public code it has.
    message: what a model is told, word for word.
    """

    code: Code
    message: str

    def error(self) -> ScheduleError:
        """A fresh exception for this situation."""
        return ScheduleError(self.code, self.message)


CREATE_ARGUMENTS = Situation(
    code="invalid_selector",
    message="schedule_create takes a JSON object with prompt and one of after_seconds, at or every_seconds, "
    'and nothing else, for example {"prompt": "Check the build", "after_seconds": 600}.',
)
LIST_ARGUMENTS = Situation(
    code="invalid_selector", message="schedule_list takes no arguments; send an empty JSON object, {}."
)
DELETE_ARGUMENTS = Situation(
    code="invalid_selector",
    message='schedule_delete takes a JSON object with id and nothing else, for example {"id": "schedule-1"}.',
)
NO_SELECTOR = Situation(
    code="invalid_selector",
    message='Say when: give exactly one of after_seconds, at or every_seconds, for example "after_seconds": 600.',
)
SEVERAL_SELECTORS = Situation(
    code="invalid_selector",
    message="Give only one of after_seconds, at and every_seconds, and leave out the others.",
)
PROMPT = Situation(
    code="invalid_prompt",
    message="prompt must be a string of valid Unicode that is not blank: the text to be reminded of, "
    'for example "Check the build".',
)
AFTER_SECONDS = Situation(
    code="invalid_rule",
    message="after_seconds must be a whole number of seconds from 1 to 9007199254740991, for example 600.",
)
EVERY_SECONDS = Situation(
    code="invalid_rule",
    message="every_seconds must be a whole number of seconds, 300 or more, for example 3600.",
)
FREQUENCY = Situation(code="frequency_too_high", message="every_seconds must be at least 300, which is five minutes.")
AT_TYPE = Situation(
    code="invalid_rule",
    message='at must be a string such as "2030-01-31T09:00:00+01:00", or an object such as {"date": '
    '"2030-01-31", "time": "09:00:00", "time_zone": "Europe/Paris"}.',
)
AT_STRING = Situation(
    code="invalid_rule",
    message="at must be a real date and time with an offset, written like 2030-01-31T09:00:00Z or "
    "2030-01-31T09:00:00.500+01:00. Use the object form for a time zone by name.",
)
AT_KEYS = Situation(
    code="invalid_rule",
    message='at as an object must have exactly date, time and time_zone, for example {"date": "2030-01-31", '
    '"time": "09:00:00", "time_zone": "Europe/Paris"}.',
)
AT_LOCAL = Situation(
    code="invalid_rule",
    message="date must be a real date written like 2030-01-31, and time a real time written like 09:00:00 or "
    "09:00:00.500, both strings.",
)
GAP = Situation(
    code="invalid_rule",
    message="That local time does not exist: the clocks of the time zone skip it on that day. Choose a time "
    "before or after the skipped hour, or give at with an offset.",
)
TIME_ZONE = Situation(
    code="invalid_time_zone",
    message='time_zone must be "UTC" or an IANA name with a slash, such as "Europe/Paris". Abbreviations and '
    "offsets are not accepted; give an offset in the string form of at.",
)
NOT_FUTURE = Situation(
    code="not_future",
    message="That time is not in the future. Check the current date and time, and give a later one.",
)
OUT_OF_RANGE = Situation(
    code="time_out_of_range",
    message="The reminder would fall outside the years 0001 to 9999 (UTC). Give an earlier time or fewer seconds.",
)
DELETE_ID = Situation(
    code="invalid_rule",
    message="id must be the id of a reminder, a string without blanks around it such as schedule-1. "
    "schedule_list shows the ids.",
)
CORRUPT = Situation(
    code="corrupt_schedule_log",
    message="The reminders of this session cannot be read: its schedule log is corrupt. They are stopped, "
    "and no argument will help; tell the user that an operator must look at this session.",
)
UNCERTAIN = Situation(
    code="persistence_uncertain",
    message="It is not known whether this call took effect, for the database did not confirm it in time. "
    "Call schedule_list to see, or repeat the same call with the same Idempotency-Key.",
)
INTERNAL = Situation(
    code="internal_error",
    message="Something went wrong inside the scheduler. Try again later; if it happens again, tell the user.",
)

SITUATIONS: tuple[Situation, ...] = (
    CREATE_ARGUMENTS,
    LIST_ARGUMENTS,
    DELETE_ARGUMENTS,
    NO_SELECTOR,
    SEVERAL_SELECTORS,
    PROMPT,
    AFTER_SECONDS,
    EVERY_SECONDS,
    FREQUENCY,
    AT_TYPE,
    AT_STRING,
    AT_KEYS,
    AT_LOCAL,
    GAP,
    TIME_ZONE,
    NOT_FUTURE,
    OUT_OF_RANGE,
    DELETE_ID,
    CORRUPT,
    UNCERTAIN,
    INTERNAL,
)


class CorruptLog(ScheduleError):
    """A `schedule/change` that does not decode or does not fit what came before it.

    The tools' message is the same whatever the fault. `reason` names it in plain words and `seq` is the
    event's, if known, for the operator.
    """

    def __init__(self, reason: str, seq: int | None = None) -> None:
        super().__init__(CORRUPT.code, CORRUPT.message)
        self.reason = reason
        self.seq = seq

    def __str__(self) -> str:
        return self.reason if self.seq is None else f"event {self.seq}: {self.reason}"

    def at(self, seq: int) -> "CorruptLog":
        """The same fault, with the seq of its event."""
        return CorruptLog(self.reason, seq)
