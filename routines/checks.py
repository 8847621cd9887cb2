"""System checks of the routines' settings: each says what to write instead."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core import checks

from routines import adapters

Apps = Sequence[AppConfig] | None

_MOST_OPEN_SECONDS = 30 * 86_400


@checks.register("wakeful")
def agent_adapters(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E110: an adapter that cannot work."""
    found: list[checks.CheckMessage] = []
    for name, given in settings.WAKEFUL_AGENT_ADAPTERS.items():
        hint = adapters.problem(given)
        if not (isinstance(name, str) and 0 < len(name) <= adapters.MOST_NAME):
            hint = f"An adapter's name has 1 to {adapters.MOST_NAME} characters."
        if hint is not None:
            found.append(
                checks.Error(
                    f"WAKEFUL_AGENT_ADAPTERS: the adapter {name!r} cannot be used.", hint=hint, id="wakeful.E110"
                )
            )
    return found


@checks.register("wakeful")
def agent_open_seconds(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E111: a time that an agent's session cannot stay open for."""
    given = settings.WAKEFUL_AGENT_OPEN_SECONDS
    if 0 <= given <= _MOST_OPEN_SECONDS:
        return []
    hint = f"Set WAKEFUL_AGENT_OPEN_SECONDS to a whole number of seconds from 0 to {_MOST_OPEN_SECONDS}."
    return [checks.Error(f"WAKEFUL_AGENT_OPEN_SECONDS is {given}.", hint=hint, id="wakeful.E111")]


@checks.register("wakeful")
def url(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E112: an address at which no agent can reach Wakeful."""
    try:
        parts = urlsplit(settings.WAKEFUL_URL)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if good:
        return []
    hint = "Set WAKEFUL_URL to where agents reach Wakeful, such as http://127.0.0.1:8000."
    return [checks.Error("WAKEFUL_URL is no address.", hint=hint, id="wakeful.E112")]
