"""A crontab as manifests: what an operator runs by cron today, as routines that call `command_execute`.

A user's crontab is read, as Vixie's cron and its successors read it (man 5 crontab). A system crontab has a column
more, the user; the text does not tell which it is, so nothing is guessed: remove that column first.
"""

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath

from routines.domain import dispatchable, errors, parse, rendering
from routines.domain.slots import fields
from schedules.domain import zones
from schedules.sessions.lossless import Json

_VARIABLE = re.compile(r"""("[^"]*"|'[^']*'|[^\s="']+)\s*=\s*(.*)""")
_ENTRY = re.compile(r"(@\S+|(?:\S+[ \t]+){4}\S+)[ \t]+(\S.*)")
_STDIN = re.compile(r"(?<!\\)%")
_SHELL = frozenset("|&;<>()$`*?[]{}~#!\n")
_NO_NAME = re.compile(r"[^a-z0-9._-]+")
_MAX_DESCRIPTION = 2_000
_MAX_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One entry as a manifest.

    name: the routine's id, and the name for its folder.
    text: the text of its ROUTINE.md.
    line: the entry's line in the crontab, from 1.
    """

    name: str
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What could not be carried over as it stood.

    line: the line in the crontab, from 1.
    message: what it is and what to do instead.
    refused: whether an entry was left out, or means another time now; else all that fires still does.
    """

    line: int
    message: str
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A crontab, carried over.

    manifests: one for each entry that has a routine of the same meaning.
    notes: everything else, by line.
    """

    manifests: tuple[Imported, ...]
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Zone:
    name: str
    from_cron_tz: bool = False


def read(text: str, timezone: str = "UTC") -> Import:
    """Read a crontab. Never raises, whatever the text.

    timezone: the zone in which the machine's cron reads times, where the crontab names none with CRON_TZ or TZ.
    """
    reader = _Reader(timezone)
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        reader.line(number, line.strip(" \t\r"))
    return Import(manifests=tuple(reader.manifests), notes=tuple(reader.notes))


class _Reader:
    def __init__(self, timezone: str) -> None:
        self.zone = _Zone(timezone)
        self.comments: list[str] = []
        self.names: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.manifests: list[Imported] = []
        self.notes: list[Note] = []

    def line(self, number: int, line: str) -> None:
        if line.startswith("#"):
            self.comments.append(line.lstrip("#").strip())
            return
        if not line:
            self.comments.clear()
            return
        variable = _VARIABLE.fullmatch(line)
        if variable is not None:
            self._variable(number, variable[1].strip("\"'"), variable[2].strip().strip("\"'"))
            return
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            self._refuse(number, "This is neither an entry nor NAME=value; it was left out.")
        else:
            self._entry(number, entry[1], entry[2])
        self.comments.clear()

    def _variable(self, number: int, name: str, value: str) -> None:
        if name in ("CRON_TZ", "TZ"):
            # CRON_TZ is about times alone, so it outranks TZ, which some crons give only to the commands.
            if self.zone.from_cron_tz and name == "TZ":
                return
            canonical = zones.canonical(value.removeprefix(":"))
            if canonical is None:
                self._refuse(number, f"{name} names no IANA zone with a slash; entries keep {self.zone.name}.")
            else:
                self.zone = _Zone(canonical, name == "CRON_TZ")
        elif name == "MAILTO":
            self._note(number, "MAILTO is not carried over; name whom to tell in on_failure.notify.")
        else:
            self._note(number, f"{name} is not carried over: commands run in the host's environment, without a shell.")

    def _entry(self, number: int, times: str, command: str) -> None:
        if times.lower() == "@reboot":
            self._refuse(number, "@reboot has no schedule; use kind event with on: workspace-open, or a service unit.")
            return
        if _STDIN.search(command):
            self._refuse(number, "The text after % is input for the command; put both in a script and schedule that.")
            return
        command = command.replace("\\%", "%")
        inputs, program = self._inputs(number, command)
        description = " ".join(filter(None, self.comments)) or f"From a crontab: {command}"
        name = self._name(program)
        members: dict[str, Json] = {
            "schema": "routine/v1",
            "id": name,
            "description": description[:_MAX_DESCRIPTION],
            "schedule": {
                "kind": "cron",
                "cron": fields.MACROS.get(times.lower(), " ".join(times.split())),
                "timezone": self.zone.name,
            },
            "target": {"tool": "command_execute", "inputs": inputs},
        }
        text = rendering.to_text(members, f"# {name}\n\nFrom line {number} of a crontab.\n")
        faults = parse.read_routine(text).faults
        self.notes += [_left_out(number, fault) for fault in faults]
        if not faults:
            self.names.add(name)
            self.manifests.append(Imported(name=name, text=text, line=number))

    def _inputs(self, number: int, command: str) -> tuple[dict[str, Json], str]:
        """The arguments of `command_execute`, and the program's name."""
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        if words and "=" not in words[0] and not _SHELL.intersection(command):
            return {"command": words[0], "args": list(words[1:])}, words[0]
        self._note(
            number,
            "The command needs a shell, so it became /bin/sh -c: allow that program, or better put the command in a "
            "script and schedule that.",
        )
        program = next((word for word in command.split() if "=" not in word), "sh")
        script = command.replace("${{", "$${{")
        return {"command": "/bin/sh", "args": ["-c", script]}, program

    def _name(self, program: str) -> str:
        base = _NO_NAME.sub("-", PurePosixPath(program).name.lower()).strip(".-_")[:_MAX_NAME]
        if len(base) < 2 or dispatchable.unaddressable(base) is not None:
            base = f"cron-{base or 'job'}"
        name = base
        while name in self.names:
            self.counts[base] += 1
            name = f"{base}-{self.counts[base] + 1}"
        return name

    def _note(self, number: int, message: str) -> None:
        self.notes.append(Note(line=number, message=message))

    def _refuse(self, number: int, message: str) -> None:
        self.notes.append(Note(line=number, message=message, refused=True))


def _left_out(number: int, fault: errors.Fault) -> Note:
    return Note(line=number, message=f"The entry was left out. {fault.message}", refused=True)
