"""System checks: ``manage.py check``, and every command as it starts, explains a setting that cannot work."""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from django.apps import AppConfig
from django.conf import settings
from django.core import checks

from schedules.domain import addresses

#: Setting, least, most, and what it is a number of.
Range: TypeAlias = tuple[str, float, float, str]

# Each has a check id of its own, wakeful.E010 onwards.
RANGES: tuple[Range, ...] = (
    ("WAKEFUL_LEASE_SECONDS", 5, 86_400, "a whole number of seconds"),
    ("WAKEFUL_BATCH_SESSIONS", 1, 10_000, "a whole number of sessions"),
    ("WAKEFUL_MAX_WAIT_SECONDS", 0.3, 3_600, "a number of seconds"),
    ("WAKEFUL_MAX_REMINDERS", 1, 2**53 - 1, "a whole number of reminders"),
    ("WAKEFUL_MAX_SESSIONS", 1, 2**53 - 1, "a whole number of sessions"),
    ("WAKEFUL_PORT", 1, 65_535, "a port's number"),
)
LOG_FORMATS = ("text", "json")

Apps = Sequence[AppConfig] | None


@checks.register("wakeful")
def readable(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E001: a value of the environment that could not be read at all."""
    return [
        checks.Error(f"{name} cannot be read.", hint=f"Set {name} to {wanted}, or unset it.", id="wakeful.E001")
        for name, wanted in sorted(settings.UNREADABLE.items())
    ]


@checks.register("wakeful")
def ranges(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E010 and on: a number outside what it may be."""
    return out_of_range(RANGES, first_id=10)


def out_of_range(ranges: Sequence[Range], *, first_id: int) -> list[checks.CheckMessage]:
    """An error for each number outside what it may be; the ids count on from the first."""
    return [
        checks.Error(
            f"{name} is {getattr(settings, name)}.",
            hint=f"Set {name} to {what} from {low:,} to {high:,}.",
            id=f"wakeful.E{number:03}",
        )
        for number, (name, low, high, what) in enumerate(ranges, start=first_id)
        if not low <= getattr(settings, name) <= high
    ]


@checks.register("wakeful")
def log_format(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E002: a log format that does not exist."""
    if settings.WAKEFUL_LOG_FORMAT in LOG_FORMATS:
        return []
    hint = f"Set WAKEFUL_LOG_FORMAT to {' or '.join(LOG_FORMATS)}."
    return [checks.Error(f"WAKEFUL_LOG_FORMAT is {settings.WAKEFUL_LOG_FORMAT!r}.", hint=hint, id="wakeful.E002")]


@checks.register("wakeful")
def outbound_exceptions(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E003: an exception from the guard of outbound requests that is none."""
    return [
        checks.Error(
            f"WAKEFUL_OUTBOUND_ALLOW holds {text!r}, which allows nothing.",
            hint="Write hosts' names (hook.example, or in their xn-- form), addresses (10.0.0.5) or networks "
            "(10.0.0.0/8, with the first address before the slash), separated by commas; no scheme, port or wildcard.",
            id="wakeful.E003",
        )
        for text in settings.WAKEFUL_OUTBOUND_ALLOW
        if addresses.entry(text) is None
    ]


@checks.register("wakeful", deploy=True)
def secret_key_lasts(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """W001: a secret key made up for this process alone."""
    if os.environ.get("SECRET_KEY") or settings.SECRET_KEY_FILE.exists():
        return []
    hint = "Set SECRET_KEY to a long random text, the same in every process; serve makes one and keeps it."
    return [
        checks.Warning(
            "SECRET_KEY comes from nowhere: browser sessions end with the process.",
            hint=hint,
            id="wakeful.W001",
        )
    ]
