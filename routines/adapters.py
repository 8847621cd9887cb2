"""Adapters: the programs that run agents, as the settings name them.

``WAKEFUL_AGENT_ADAPTERS`` maps a name to ``{"command": [argument, ...], "seconds"?, "env"?}``. The command runs without
a shell; ``{prompt}``, ``{model}``, ``{cwd}`` and ``{session}`` are filled in, and one that nowhere holds ``{prompt}``
gets the prompt on its standard input.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

PLACEHOLDERS = ("prompt", "model", "cwd", "session")
#: How long one turn of an agent may take, in seconds: unless its adapter says otherwise, and at most.
DEFAULT_SECONDS = 600
MOST_SECONDS = 3_600
MOST_NAME = 100

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A program that runs an agent for one turn.

    name: by which routines call it.
    command: its argument list, placeholders included.
    seconds: how long one turn may take.
    env: what its environment holds beside the usual few.
    """

    name: str
    command: tuple[str, ...]
    seconds: int
    env: Mapping[str, str]

    @property
    def reads_prompt(self) -> bool:
        """Whether it gets the prompt on its standard input."""
        return not any("{prompt}" in part for part in self.command)

    def arguments(self, values: Mapping[str, str]) -> list[str]:
        """The argument list with its placeholders filled; what is filled in is never looked at again.

        An argument can hold neither U+0000 nor a lone surrogate: each becomes a replacement character.
        """
        return [_PLACEHOLDER.sub(lambda found: _argument(values[found[1]]), part) for part in self.command]


def find(name: str) -> Adapter | None:
    """The adapter of that name; None where the settings have none, or one that cannot work."""
    given = settings.WAKEFUL_AGENT_ADAPTERS.get(name)
    if given is None or problem(given) is not None:
        return None
    return Adapter(
        name=name,
        command=tuple(given["command"]),
        seconds=given.get("seconds", DEFAULT_SECONDS),
        env=given.get("env", {}),
    )


def names() -> list[str]:
    """The names that there are."""
    return sorted(settings.WAKEFUL_AGENT_ADAPTERS)


def problem(given: Any) -> str | None:
    """What is wrong with an adapter's setting, as a sentence that says what to write; None where it is good."""
    if not isinstance(given, dict):
        return 'It must be an object such as {"command": ["my-agent", "{prompt}"]}.'
    if unknown := sorted(given.keys() - {"command", "seconds", "env"}, key=str):
        return f"It has no {unknown[0]!r}: leave that out. It takes command, seconds and env."
    return _command_problem(given.get("command")) or _seconds_problem(given) or _env_problem(given.get("env", {}))


def _command_problem(command: Any) -> str | None:
    if not (isinstance(command, list | tuple) and command and all(_is_word(part) for part in command)):
        return 'Its command must be a list of strings, the program first, such as ["my-agent", "{prompt}"].'
    if not command[0] or _PLACEHOLDER.search(command[0]):
        return "Its command must begin with the program's own name, without a placeholder."
    for part in command:
        for found in _PLACEHOLDER.finditer(part):
            if found[1] not in PLACEHOLDERS:
                known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
                return f"Its command holds {found[0]}, which nothing fills: use {known}, or put it into a file."
    return None


def _seconds_problem(given: Mapping[str, Any]) -> str | None:
    seconds = given.get("seconds", DEFAULT_SECONDS)
    if isinstance(seconds, int) and not isinstance(seconds, bool) and 1 <= seconds <= MOST_SECONDS:
        return None
    return f"Its seconds must be a whole number from 1 to {MOST_SECONDS}."


def _env_problem(env: Any) -> str | None:
    if not isinstance(env, dict) or not all(
        isinstance(name, str) and _NAME.fullmatch(name) and _is_word(value) for name, value in env.items()
    ):
        return 'Its env must be an object of names and texts, such as {"MY_KEY": "value"}.'
    if taken := sorted(name for name in env if name.startswith("WAKEFUL_")):
        return f"Its env holds {taken[0]}: Wakeful itself sets such names, so choose another."
    return None


def _is_word(part: Any) -> bool:
    return isinstance(part, str) and _argument(part) == part


def _argument(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
