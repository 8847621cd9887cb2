"""Who fires a routine, and what they may fire: the settings' map of AIP-23 identities."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from routines.domain import manifest

#: The key of WAKEFUL_IDENTITIES for routines that name nobody.
DEFAULT = "default"
ANY_TOOL = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What an identity may do.

    name: the identity, or `default`.
    username: the Django user who owns the sessions it starts; None for the first superuser.
    tools: the names of the tools it may use; None is every one.
    notify: where a notice to it goes: `mailto:` or `https:`; None where it cannot be told.
    secret: the secret that signs notices to a webhook (Standard Webhooks, `whsec_...`).
    """

    name: str
    username: str | None
    tools: frozenset[str] | None
    notify: str | None
    secret: str | None

    def allows(self, tool: str) -> bool:
        """Whether it may use the tool."""
        return self.tools is None or tool in self.tools


_HOST = Grant(name=DEFAULT, username=None, tools=None, notify=None, secret=None)


def grant(identity: manifest.Identity | None) -> Grant | None:
    """The grant of an identity, or the host's default one for None; None where the settings do not know it."""
    name = DEFAULT if identity is None else identity.name
    if name is None:
        return None
    known: Any = settings.WAKEFUL_IDENTITIES.get(name)
    if known is None:
        return _HOST if name == DEFAULT else None
    tools = known.get("tools", [])
    return Grant(
        name=name,
        username=known.get("user"),
        tools=None if ANY_TOOL in tools else frozenset(tools),
        notify=known.get("notify"),
        secret=known.get("secret"),
    )


def refusal(granted: Grant | None, user: User | None, tool: str) -> str | None:
    """Why an identity does not fire a tool; None where it may.

    granted: its grant; None where the settings do not know it. user: the active user behind that.
    """
    if granted is None:
        return "The settings do not know the routine's identity; add it to WAKEFUL_IDENTITIES."
    if not granted.allows(tool):
        return f"The identity {granted.name} may not use {tool}; grant it in WAKEFUL_IDENTITIES."
    if user is None:
        return f"The identity {granted.name} has no active user; make one, or name another in WAKEFUL_IDENTITIES."
    return None


def user_of(granted: Grant) -> User | None:
    """The active user behind a grant."""
    active = User.objects.filter(is_active=True)
    if granted.username is None:
        return active.filter(is_superuser=True).order_by("pk").first()
    return active.filter(username=granted.username).first()
