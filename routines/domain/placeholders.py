"""`${{ ... }}` in a target's inputs: what may stand there, and what it becomes when the routine fires.

Filling is one pass: what an event or the vault brings in is data, and is never read for placeholders again. `$${{`
stands for the three characters `${{` themselves.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from routines.domain.findings import Path, shown
from routines.domain.jsonvalues import Frozen
from schedules.domain import instants
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

REDACTED = "[redacted]"

_FIXED = ("now", "routine.id", "routine.run_id", "routine.scheduled_for")
_EVENT = re.compile(r"event((?:\.[A-Za-z0-9_-]+)+)")
_VAULT = re.compile(r"vault\.([A-Za-z_][A-Za-z0-9_]*)")
# Neither part can fail after a long match, so no text makes the scan start over.
_PLACEHOLDER = re.compile(r"\$(\$?)\{\{((?:[^{}]++|\{(?!\{)|\}(?!\}))*+)(\}\})?")
_INDEX = re.compile(r"0|[1-9][0-9]{0,5}")
_FORMS = (
    "${{ now }}, ${{ routine.id }}, ${{ routine.run_id }}, ${{ routine.scheduled_for }}, ${{ event.NAME }} or "
    "${{ vault.NAME }}"
)


class Unfilled(ValueError):
    """A placeholder for which there is no value at this firing; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What placeholders stand for at one firing.

    now: the present instant, in ms since the epoch.
    routine_id: the routine's id.
    run_id: the run's id.
    scheduled_for: the slot's instant, in ms; of a routine fired by hand, when that was.
    event: the payload that fired it; None where no event did.
    vault: gives the secret of a name; None for a name that it does not know.
    """

    now: int
    routine_id: str
    run_id: str
    scheduled_for: int
    event: Mapping[str, Json] | None
    vault: Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Inputs without placeholders.

    value: the inputs.
    secrets: every secret of the vault that stands somewhere in them; `redact` takes them out of what is shown.
    """

    value: Json
    secrets: frozenset[str]


def problems(value: Frozen, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """What is wrong with the placeholders anywhere in a value, each with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from problems(item, (*path, key))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from problems(item, (*path, index))
    elif isinstance(value, str):
        for match in _PLACEHOLDER.finditer(value):
            escaped, name, closing = match.groups()
            if escaped:
                continue
            if closing is None:
                yield path, "A placeholder ${{ is not closed; write }} after its name, or $${{ for the characters."
            elif not _is_known(name.strip()):
                words = shown(f"${{{{{name}}}}}")
                yield path, f"{words} is no placeholder; write {_FORMS}, or $${{{{ for the characters."


def fill(value: Frozen, context: Context) -> Filled:
    """The value with every placeholder filled.

    A string that is exactly one placeholder becomes the value itself, of whatever type an event's payload has
    there; within a longer string it becomes its text, or its JSON where it is no string. Raises `Unfilled` for a
    path that the event has not, for a secret that the vault has not, and for what `problems` reports.
    """
    filling = _Filling(context)
    return Filled(value=filling.value(value), secrets=frozenset(filling.secrets))


def redact(value: Json, secrets: frozenset[str]) -> Json:
    """The value with `[redacted]` wherever one of the secrets stands in a string, keys included."""
    longest_first = sorted(filter(None, secrets), key=len, reverse=True)
    if not longest_first:
        return value
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return _redacted(value, pattern)


class _Filling:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.secrets: set[str] = set()

    def value(self, value: Frozen) -> Json:
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, tuple):
            return [self.value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def text(self, text: str) -> Json:
        whole = _PLACEHOLDER.fullmatch(text)
        if whole is not None and not whole[1]:
            return self.placeholder(whole)
        return _PLACEHOLDER.sub(self._within, text)

    def _within(self, match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        value = self.placeholder(match)
        return value if isinstance(value, str) else lossless.dumps(value)

    def placeholder(self, match: re.Match[str]) -> Json:
        name = match[2].strip()
        context = self.context
        if match[3] is None or not _is_known(name):
            raise Unfilled(f"{shown(match[0])} is no placeholder; write {_FORMS}.")
        if name == "now":
            return instants.render(context.now)
        if name == "routine.id":
            return context.routine_id
        if name == "routine.run_id":
            return context.run_id
        if name == "routine.scheduled_for":
            return instants.render(context.scheduled_for)
        if (secret := _VAULT.fullmatch(name)) is not None:
            return self._secret(secret[1])
        return self._of_event(name)

    def _secret(self, name: str) -> str:
        secret = self.context.vault(name)
        if secret is None:
            raise Unfilled(f"The vault has no {shown(name)}; set it on the host, or name one that is there.")
        self.secrets.add(secret)
        return secret

    def _of_event(self, name: str) -> Json:
        value: Json = dict(self.context.event) if self.context.event is not None else None
        for part in name.split(".")[1:]:
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and _INDEX.fullmatch(part) and int(part) < len(value):
                value = value[int(part)]
            else:
                raise Unfilled(f"The event that fired the routine has no {shown(name.removeprefix('event.'))}.")
        return value


def _is_known(name: str) -> bool:
    return name in _FIXED or _EVENT.fullmatch(name) is not None or _VAULT.fullmatch(name) is not None


def _redacted(value: Json, pattern: re.Pattern[str]) -> Json:
    if isinstance(value, str):
        return pattern.sub(REDACTED, value)
    if isinstance(value, list):
        return [_redacted(item, pattern) for item in value]
    if isinstance(value, dict):
        return {pattern.sub(REDACTED, key): _redacted(item, pattern) for key, item in value.items()}
    return value
