"""The names of events that AIP-37 and the routines give, and how to tell a host's own.

A name that nobody fires is no error: hosts may post any. Those of hosts hold a colon or a dot.
"""

import re

ALIASES = {"each-write": "write", "per-turn": "turn-end", "per-conversation": "conversation-end"}
NAMES = frozenset(
    {
        "workspace-open",
        "workspace-close",
        "conversation-start",
        "conversation-end",
        "turn-start",
        "turn-end",
        "turn-error",
        "tool-call",
        "tool-result",
        "tool-error",
        "write",
        "delete",
        "manual",
        "routine-triggered",
        "routine-completed",
        "routine-failed",
    }
)

_IDLE = re.compile(r"(?:conversation-)?idle-[1-9][0-9]*")
_WELL_FORMED = re.compile(r"[^\s\x00-\x1f\x7f]+")


def canonical(name: str) -> str:
    """The one name of an event that has several; any other as it is."""
    return ALIASES.get(name, name)


def is_well_formed(name: str) -> bool:
    """Whether an event can have that name: it is not empty and holds no blank or control character."""
    return _WELL_FORMED.fullmatch(name) is not None


def is_known(name: str) -> bool:
    """Whether it is a name or alias of AIP-37 or of the routines, or has the form of a host's own."""
    return canonical(name) in NAMES or ":" in name or "." in name or _IDLE.fullmatch(name) is not None
