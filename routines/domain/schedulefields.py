"""Reads a manifest's `schedule`: exactly one of five kinds, its values checked by the slots that will be computed."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from routines.domain import eventnames, manifest
from routines.domain.cursor import Field, Record
from routines.domain.slots import calendar, cron, interval, walls
from routines.domain.slots.refused import Refused

Parsed = TypeVar("Parsed")

_MAX_JITTER_SECONDS = 3_600

_CRON = 'five fields in quotes, for example "30 7 * * 1-5"'
_EVERY = "a whole number with s, m, h or d, for example 15m"
_RRULE = "a rule of RFC 5545, for example FREQ=WEEKLY;BYDAY=MO;BYHOUR=9"
_ZONE = 'a string, "UTC" or an IANA name with a slash such as Europe/Paris'
_FROM = "a date and time with an offset, for example 2030-01-31T09:00:00Z"
_ON = "an event's name without blanks, for example turn-end or host:deployed"


def read(field: Field) -> manifest.Schedule:
    """The schedule. Notes every fault in it; the answer is a stand-in then."""
    kind = field.at("kind")
    if not isinstance(field.value, dict) or not isinstance(kind.value, str) or kind.value not in _KINDS:
        _refuse_kind(field, kind)
        return manifest.ManualSchedule()
    required, optional, reader = _KINDS[kind.value]
    return reader(field.record(required=("kind", *required), optional=optional))


def _refuse_kind(field: Field, kind: Field) -> None:
    kinds = ", ".join(_KINDS)
    if not isinstance(field.value, dict):
        field.refuse(f"{field.name} must be a mapping with a kind ({kinds}), not {field.kind}.")
    elif "kind" not in field.value:
        kind.refuse(f"{field.name} must have a kind; add one of {kinds}.")
    else:
        kind.refuse(f"{kind.name} must be one of {kinds}.")


def _cron(record: Record) -> manifest.CronSchedule:
    timezone = _timezone(record)
    expression = record.need("cron")
    text = expression.text(_CRON)
    _check(expression, text, lambda: cron.parse(text, timezone))
    return manifest.CronSchedule(
        cron=text,
        timezone=timezone,
        jitter_seconds=record.integer("jitter_seconds", 0, most=_MAX_JITTER_SECONDS),
        catchup=record.choice("catchup", manifest.CATCHUPS, "skip"),
    )


def _interval(record: Record) -> manifest.IntervalSchedule:
    every = record.need("every")
    text = every.text(_EVERY)
    _check(every, text, lambda: interval.parse(text, 0))
    return manifest.IntervalSchedule(
        every=text,
        start=_start(record.get("from")),
        jitter_seconds=record.integer("jitter_seconds", 0, most=_MAX_JITTER_SECONDS),
    )


def _start(field: Field | None) -> int | None:
    if field is None:
        return None
    text = field.text(_FROM)
    return _check(field, text, lambda: interval.parse_from(text))


def _calendar(record: Record) -> manifest.CalendarSchedule:
    timezone = _timezone(record)
    rule = record.need("rrule")
    text = rule.text(_RRULE)
    # The anchor is the job's, and not known yet: any will do to judge the rule itself.
    _check(rule, text, lambda: calendar.parse(text, timezone, 0))
    return manifest.CalendarSchedule(rrule=text, timezone=timezone)


def _manual(record: Record) -> manifest.ManualSchedule:
    return manifest.ManualSchedule()


def _event(record: Record) -> manifest.EventSchedule:
    on = record.need("on")
    name = on.text(_ON)
    if name and not eventnames.is_well_formed(name):
        on.refuse(f"{on.name} must be {_ON}.")
    elif name and not eventnames.is_known(name):
        on.warn(
            f"{on.name} is no event of AIP-37, so it fires only if a host posts that very name. Check its spelling; "
            "a host's own name is better written with a colon, as in host:deployed."
        )
    return manifest.EventSchedule(on=name, filter=record.free("filter"))


def _timezone(record: Record) -> str:
    field = record.get("timezone")
    if field is None:
        return "UTC"
    text = field.text(_ZONE)
    return _check(field, text, lambda: walls.zone_name(text)) or "UTC"


def _check(field: Field, text: str, parse: Callable[[], Parsed]) -> Parsed | None:
    """What a parser of the slots makes of the text; None, and noted, where it refuses. An empty text is a stand-in."""
    if not text:
        return None
    try:
        return parse()
    except Refused as refused:
        field.refuse(str(refused))
        return None


_KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Callable[[Record], manifest.Schedule]]] = {
    "cron": (("cron",), ("timezone", "jitter_seconds", "catchup"), _cron),
    "interval": (("every",), ("from", "jitter_seconds"), _interval),
    "calendar": (("rrule",), ("timezone",), _calendar),
    "manual": ((), (), _manual),
    "event": (("on",), ("filter",), _event),
}
