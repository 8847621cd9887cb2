"""The tools' arguments: what a model may send, in the order in which it is checked.

Reading is in two steps. The `parse_...` functions need nothing but the arguments and run before the
session's lock; `resolve` needs the id and the clock sample that only the lock gives.
"""

from dataclasses import dataclass
from typing import TypeAlias

from schedules.domain import errors, instants, records, zones
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

SELECTORS = ("after_seconds", "at", "every_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """`after_seconds`.

    seconds: above 0.
    """

    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """`every_seconds`.

    seconds: 300 or more.
    """

    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """`at` with an offset.

    instant: in epoch milliseconds; perhaps outside the four-digit years.
    """

    instant: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTime:
    """`at` by a clock in a time zone.

    wall: the clock's reading, as the instant it would be in UTC.
    time_zone: as it was given; not checked yet.
    """

    wall: int
    time_zone: Json


At: TypeAlias = Instant | LocalTime
Rule: TypeAlias = Delay | Interval | At


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A well-formed `schedule_create`.

    prompt: trimmed, not empty, valid Unicode.
    rule: when.
    """

    prompt: str
    rule: Rule


def parse_create(arguments: Json) -> Request:
    """The request of `schedule_create`. Raises ScheduleError: selectors, then prompt, then the rule's shape."""
    if not isinstance(arguments, dict) or not arguments.keys() <= {"prompt", *SELECTORS}:
        raise errors.CREATE_ARGUMENTS.error()
    chosen = [name for name in SELECTORS if arguments.get(name) is not None]
    if not chosen:
        raise errors.NO_SELECTOR.error()
    if len(chosen) > 1:
        raise errors.SEVERAL_SELECTORS.error()
    prompt = parse_prompt(arguments.get("prompt"))
    return Request(prompt=prompt, rule=parse_rule(chosen[0], arguments[chosen[0]]))


def parse_list(arguments: Json) -> None:
    """Check that `schedule_list` was given an object with nothing in it. Raises ScheduleError."""
    if arguments != {} or not isinstance(arguments, dict):
        raise errors.LIST_ARGUMENTS.error()


def parse_delete(arguments: Json) -> str:
    """The id that `schedule_delete` names. Raises ScheduleError."""
    if not isinstance(arguments, dict) or not arguments.keys() <= {"id"}:
        raise errors.DELETE_ARGUMENTS.error()
    schedule_id = arguments.get("id")
    if not isinstance(schedule_id, str) or not schedule_id or records.trim(schedule_id) != schedule_id:
        raise errors.DELETE_ID.error()
    return schedule_id


def parse_prompt(value: Json) -> str:
    """The trimmed prompt. Raises ScheduleError."""
    if not isinstance(value, str):
        raise errors.PROMPT.error()
    prompt = records.trim(value)
    # A stored prompt may hold a lone surrogate, for logs are kept as they are; a new one may not.
    if not prompt or not lossless.is_unicode(prompt):
        raise errors.PROMPT.error()
    return prompt


def parse_rule(selector: str, value: Json) -> Rule:
    """The rule of one selector's value, null included. Raises ScheduleError for its shape and its frequency."""
    if selector == "at":
        return _at(value)
    seconds = records.safe_integer(value)
    if selector == "after_seconds":
        if seconds is None or seconds < 1:
            raise errors.AFTER_SECONDS.error()
        return Delay(seconds=seconds)
    if seconds is None:
        raise errors.EVERY_SECONDS.error()
    if seconds < records.MIN_EVERY_SECONDS:
        raise errors.FREQUENCY.error()
    return Interval(seconds=seconds)


def resolve(request: Request, schedule_id: str, now: int) -> records.Record:
    """The record that the request makes at `now`, the one clock sample, in epoch milliseconds.

    Raises ScheduleError: zone, gap, range, future, in that order.
    """
    rule = request.rule
    kind: records.Kind
    seconds: int | None
    match rule:
        case Delay():
            kind, seconds, target = "after", rule.seconds, now + rule.seconds * instants.SECOND
        case Interval():
            kind, seconds, target = "every", rule.seconds, now + rule.seconds * instants.SECOND
        case _:
            kind, seconds, target = "at", None, _instant(rule)
    if not instants.MIN <= target <= instants.MAX:
        raise errors.OUT_OF_RANGE.error()
    if target <= now:
        raise errors.NOT_FUTURE.error()
    return records.Record(id=schedule_id, kind=kind, prompt=request.prompt, scheduled_at=target, seconds=seconds)


def _at(value: Json) -> At:
    if isinstance(value, str):
        instant = instants.parse_offset(value)
        if instant is None:
            raise errors.AT_STRING.error()
        return Instant(instant=instant)
    if not isinstance(value, dict):
        raise errors.AT_TYPE.error()
    if value.keys() != {"date", "time", "time_zone"}:
        raise errors.AT_KEYS.error()
    date, time = value["date"], value["time"]
    wall = instants.parse_wall(date, time) if isinstance(date, str) and isinstance(time, str) else None
    if wall is None:
        raise errors.AT_LOCAL.error()
    return LocalTime(wall=wall, time_zone=value["time_zone"])


def _instant(rule: At) -> int:
    if isinstance(rule, Instant):
        return rule.instant
    zone = zones.canonical(rule.time_zone) if isinstance(rule.time_zone, str) else None
    if zone is None:
        raise errors.TIME_ZONE.error()
    instant = zones.resolve(rule.wall, zone)
    if instant is None:
        raise errors.GAP.error()
    return instant
