"""Strict YAML 1.2 into JSON values, with the line of every key.

libyaml scans and parses; this builds values from its events, because PyYAML's own constructor follows YAML 1.1
(`on` is true, `12:30` is 750), lets the last duplicate key win and expands aliases. Anything that could mean more than
plain data is refused. The work is bounded by the number of nodes, whatever the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import yaml

from routines.domain import errors, limits, scalars, yamlwords
from routines.domain.findings import Findings, Path, shown
from schedules.sessions import lossless
from schedules.sessions.lossless import Json

# YAML 1.1, and so libyaml, ends a line at these; YAML 1.2 takes them for ordinary characters.
_OLD_BREAKS = "\x85\u2028\u2029"

_NODES = (yaml.ScalarEvent, yaml.CollectionStartEvent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One YAML document.

    value: its value, of JSON's types alone.
    findings: what was wrong with it so far; knows the line of each key and list item.
    """

    value: Json
    findings: Findings


def load(text: str, *, first_line: int = 1) -> Document:
    """Read a text that holds one document.

    first_line: the line number of the text's first line in its file.
    Faults of single values are in the answer's findings, with a stand-in where the value would be. Raises
    `errors.Invalid` where the text cannot be read on: a syntax error, a second document, one that is too large.
    """
    if not lossless.is_unicode(text):
        raise errors.Invalid([errors.Fault(code="routine_invalid", message=limits.NOT_UNICODE)])
    # Unused characters of a private plane stand in for them while libyaml reads.
    used = set(text)
    stand_ins = {
        old: next(char for char in map(chr, range(0x100000 + 0x5000 * n, 0x110000)) if char not in used)
        for n, old in enumerate(_OLD_BREAKS)
        if old in used
    }
    read = text.translate({ord(old): new for old, new in stand_ins.items()})
    builder = _Builder(read, first_line, {ord(new): old for old, new in stand_ins.items()})
    try:
        return builder.document()
    except yaml.YAMLError as error:
        words, line = yamlwords.explain(error, read)
        builder.stop(words, line)


class _Builder:
    """Makes values of libyaml's events; one for each text. Lines are counted from 0, as libyaml does."""

    def __init__(self, text: str, first_line: int, restore: dict[int, str]) -> None:
        # No object of Python is made of the events: the loader's kind only says who scans, and it is libyaml.
        self.events: Iterator[yaml.Event] = iter(yaml.CSafeLoader(text).get_event, None)
        self.first_line = first_line
        self.restore = restore
        self.lines: dict[Path, int] = {(): first_line}
        self.findings = Findings(self.lines)
        self.nodes = 0

    def document(self) -> Document:
        value: Json = None
        started = False
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if started:
                    self.stop(yamlwords.SECOND_DOCUMENT, self._line(event))
                if event.version is not None or event.tags:
                    self.stop(yamlwords.DIRECTIVE, self._line(event))
                started = True
                value = self._node(next(self.events), ())
        return Document(value=value, findings=self.findings)

    def stop(self, message: str, line: int | None) -> NoReturn:
        """Give up, with all that was found so far."""
        place = None if line is None else line + self.first_line
        fault = errors.Fault(code="routine_invalid", message=message, line=place)
        raise errors.Invalid((*self.findings.faults(), fault))

    def _node(self, event: yaml.Event, path: Path) -> Json:
        self.nodes += 1
        if self.nodes > limits.MAX_NODES:
            self.stop(limits.TOO_MANY, self._line(event))
        if isinstance(event, yaml.AliasEvent):
            self.findings.refuse(path, yamlwords.ALIAS)
            return None
        if isinstance(event, _NODES):
            if event.anchor is not None:
                self.findings.refuse(path, yamlwords.ANCHOR)
            if event.tag is not None:
                self.findings.refuse(path, yamlwords.TAG)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        # A path is as long as its value is deep: the root is at the first level with the empty one.
        if len(path) >= limits.MAX_DEPTH:
            self.stop(limits.TOO_DEEP, self._line(event))
        return self._mapping(path) if isinstance(event, yaml.MappingStartEvent) else self._sequence(path)

    def _mapping(self, path: Path) -> Json:
        members: dict[str, Json] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            name = self._key(event, path)
            place = (*path, name)
            again = name in members
            if again:
                line = self._line(event) + self.first_line
                self.findings.refuse(place, f"The key {shown(name)} is given twice; keep one.", line=line)
            value = self._node(next(self.events), place)
            if not again:
                members[name] = value
        return members

    def _key(self, event: yaml.Event, path: Path) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            # A key that is itself a mapping would let values nest without their paths growing.
            self.stop(limits.KEY_NOT_STRING, self._line(event))
        name = self._text(event)
        place = (*path, name)
        self.lines.setdefault(place, self._line(event) + self.first_line)
        if not isinstance(self._node(event, place), str):
            self.findings.refuse(place, limits.KEY_NOT_STRING)
        return name

    def _sequence(self, path: Path) -> Json:
        items: list[Json] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            place = (*path, len(items))
            self.lines.setdefault(place, self._line(event) + self.first_line)
            items.append(self._node(event, place))
        return items

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> Json:
        text = self._text(event)
        if "\0" in text:
            self.findings.refuse(path, limits.NUL)
        if event.style:
            return text
        try:
            return scalars.resolve(text)
        except ValueError as error:
            self.findings.refuse(path, str(error))
            return None

    def _text(self, event: yaml.ScalarEvent) -> str:
        text: str = event.value
        return text.translate(self.restore) if self.restore else text

    @staticmethod
    def _line(event: yaml.Event) -> int:
        return 0 if event.start_mark is None else int(event.start_mark.line)
