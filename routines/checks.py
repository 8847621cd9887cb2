"""System checks of the routines' settings: each says what to write instead."""

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks

from routines import adapters
from routines.tools import registry
from schedules.checks import Apps, Range, out_of_range

# Each has a check id of its own, wakeful.E104 onwards.
RANGES: tuple[Range, ...] = (
    ("WAKEFUL_SCAN_SECONDS", 0.1, 3_600, "a number of seconds"),
    ("WAKEFUL_WORKERS", 1, 256, "a whole number of runs"),
    ("WAKEFUL_PAUSE_AFTER", 1, 2**31 - 1, "a whole number of runs"),
    ("WAKEFUL_EVENT_RATE", 1, 2**31 - 1, "a whole number of events"),
)

_GRANT = (
    '{"user": "USERNAME", "tools": ["NAME" or "*"], "notify": "mailto:..." or "https://...", "secret": "whsec_..."}'
)


@checks.register("wakeful")
def workspaces(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E101: a workspace that no process would find again. W101: one that is not there now, as where a disk is away."""
    found: list[checks.CheckMessage] = []
    for path in settings.WAKEFUL_WORKSPACES:
        if not Path(path).is_absolute():
            hint = "Write the folder's whole path, from / on; relative ones follow the current directory."
            found.append(checks.Error(f"WAKEFUL_WORKSPACES names {path!r}.", hint=hint, id="wakeful.E101"))
        elif not Path(path).is_dir():
            hint = "Make the folder, mount its disk, or take it out of WAKEFUL_WORKSPACES to remove its routines."
            message = f"WAKEFUL_WORKSPACES names {path!r}, which is no folder now."
            found.append(checks.Warning(message, hint=hint, id="wakeful.W101"))
    return found


@checks.register("wakeful")
def identities(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E102: a grant of another shape than an identity's."""
    return [
        checks.Error(
            f"WAKEFUL_IDENTITIES: the grant of {name!r} cannot be read: {problem}.",
            hint=f"Write it as {_GRANT}; each part may be left out.",
            id="wakeful.E102",
        )
        for name, grant in settings.WAKEFUL_IDENTITIES.items()
        if (problem := _grant_problem(grant)) is not None
    ]


def _grant_problem(grant: object) -> str | None:
    if not isinstance(grant, Mapping):
        return "it is no object"
    for key, value in grant.items():
        if key == "tools":
            if not isinstance(value, list) or not all(isinstance(tool, str) for tool in value):
                return "tools is no list of names"
        elif key not in ("user", "notify", "secret"):
            return f"it has the unknown part {key!r}"
        elif not isinstance(value, str) or not value:
            return f"{key} is no text"
    if not str(grant.get("notify", "mailto:")).lower().startswith(("mailto:", "https:", "http:")):
        return "notify is neither mailto: nor http(s):"
    return None


@checks.register("wakeful")
def tools(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E103: tools that cannot be had."""
    if not settings.WAKEFUL_TOOLS and not metadata.entry_points(group=registry.ENTRY_POINTS):
        return []  # not every command needs the built-in ones
    try:
        registry.tools()
    except (ImportError, AttributeError, ValueError) as problem:
        words = str(problem)
    except Exception as problem:  # noqa: BLE001  an app's own module may raise anything while it is imported
        words = f"a module breaks with a {type(problem).__name__} while it is imported."
    else:
        return []
    hint = "Name modules that are installed and hold tools, or tools in them, each tool once; or mend the module."
    return [checks.Error(f"WAKEFUL_TOOLS: {words}", hint=hint, id="wakeful.E103")]


@checks.register("wakeful")
def ranges(app_configs: Apps, **_: Any) -> list[checks.CheckMessage]:
    """E104 and on: a number outside what it may be."""
    return out_of_range(RANGES, first_id=104)


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
    return out_of_range([("WAKEFUL_AGENT_OPEN_SECONDS", 0, 30 * 86_400, "a whole number of seconds")], first_id=111)


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
