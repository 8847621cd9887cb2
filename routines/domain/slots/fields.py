"""The five fields of a cron expression: checked, and written in numbers only.

cronsim takes more than standard cron does (six fields, `L`, `W`, `#`, steps that do nothing, blanks that are not
ASCII) and less (`FRI-SUN`). What leaves this module means the same to it as to Debian's cron.
"""

import re
from dataclasses import dataclass

from routines.domain.slots.refused import Refused

MIN_LENGTH, MAX_LENGTH = 9, 100

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_ITEM = re.compile(r"(?:\*|([0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?)(?:/([0-9]{1,2}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One of the five.

    name: what messages call it.
    low, high: the values it takes, ends included.
    names: three letters for the values from `low` on; empty where it has none.
    steps: how many different values it has, which is the largest step.
    """

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    steps: int


FIELDS = (
    Field(name="minute", low=0, high=59, steps=60),
    Field(name="hour", low=0, high=23, steps=24),
    Field(name="day of month", low=1, high=31, steps=31),
    Field(name="month", low=1, high=12, names=_MONTHS, steps=12),
    Field(name="day of week", low=0, high=7, names=_DAYS, steps=7),
)


def normalise(expression: str) -> str:
    """The expression with one blank between its fields and numbers for names. Raises Refused."""
    if expression.startswith("@"):
        instead = MACROS.get(expression.lower(), "0 0 * * * for once a day")
        raise _refused(f"names with @ are not standard cron: write {instead}.")
    if not MIN_LENGTH <= len(expression) <= MAX_LENGTH:
        raise _refused(f"it has {MIN_LENGTH} to {MAX_LENGTH} characters, such as 30 9 * * 1-5.")
    if not re.fullmatch(r"[\x21-\x7e \t]+", expression):
        raise _refused("it takes ASCII letters, digits and blanks in one line only, such as 30 9 * * 1-5.")
    parts = expression.upper().split()
    if len(parts) != len(FIELDS):
        raise _refused(
            f"it has five fields (minute, hour, day of month, month, day of week), and here are {len(parts)}; seconds "
            "and years have none. Write 30 9 * * 1-5 for half past nine on weekdays."
        )
    return " ".join(_field(text, field) for text, field in zip(parts, FIELDS, strict=True))


def _field(text: str, field: Field) -> str:
    return ",".join(_item(item, text, field) for item in text.split(","))


def _item(item: str, text: str, field: Field) -> str:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise _unreadable(item, text, field)
    first, last, step = match.groups()
    if step is not None:
        _check_step(item, int(step), first, last, field)
    suffix = "" if step is None else f"/{int(step)}"
    if first is None:
        return "*" + suffix
    low = _value(first, field)
    if last is None:
        return f"{low}{suffix}"
    high = _value(last, field)
    if last == "SUN" and low > 0:
        high = 7
    if high < low:
        top = field.low + field.steps - 1  # of days of the week Saturday, for 7 is Sunday again
        raise _refused(f"{field.name}: {item} runs backwards: write {low}-{top},{field.low}-{high}.")
    return f"{low}-{high}{suffix}"


def _check_step(item: str, step: int, first: str | None, last: str | None, field: Field) -> None:
    if first is not None and last is None:
        # Debian's cron ignores such a step, others count from the value on: nobody can know what was meant.
        raise _refused(f"{field.name}: a step needs a range: write {first}-{field.high}/{step} in place of {item}.")
    if 1 <= step <= field.steps:
        return
    hint = "kind interval, such as every: 90m, can do other steps" if field.steps > 12 else "list the values instead"
    raise _refused(f"{field.name}: the step of {item} must be from 1 to {field.steps}; {hint}.")


def _value(text: str, field: Field) -> int:
    if text in field.names:
        return field.low + field.names.index(text)
    if not text.isdigit():
        raise _unreadable(text, text, field)
    value = int(text)
    if not field.low <= value <= field.high:
        raise _refused(f"{field.name}: {value} is not from {field.low} to {field.high}.")
    return value


def _unreadable(item: str, text: str, field: Field) -> Refused:
    if "?" in item:
        return _refused(f"{field.name}: ? is not standard cron: write *.")
    if "#" in item or re.fullmatch(r"L|LW|L-[0-9]+|[0-9]{1,2}W|([0-9]|[A-Z]{3})L", item):
        return _refused(
            f"{field.name}: L, W and # are not standard cron: use kind calendar, such as rrule: "
            "FREQ=MONTHLY;BYMONTHDAY=-1 for the last day of the month."
        )
    names = f", or {field.names[0]} to {field.names[-1]}" if field.names else ""
    return _refused(
        f"{field.name}: {text} cannot be read: write *, numbers from {field.low} to {field.high}{names}, ranges such "
        f"as {field.low}-{field.low + 4}, steps such as */2, or several of them with commas and no blanks."
    )


def _refused(message: str) -> Refused:
    return Refused(f"cron: {message}", "cron")
