"""Import and export of session logs in the reference harness's layout: a header line, then one record a line.

An import reads and checks the whole log before it touches the database, so that neither a slow source nor a
fault in the last line holds a lock. Then one transaction writes the log and the projection that follows.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import IO

from django.db import IntegrityError

from schedules import live, transaction
from schedules.domain import instants
from schedules.projection import rebuild
from schedules.sessions import events, log, lossless, packed
from schedules.sessions.errors import Refusal
from schedules.sessions.events import Event
from schedules.sessions.lossless import Json

_SESSION_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_COLUMN = 128
_ORIGIN = "api"
_CHUNK = 1000
_KEPT_IN_MEMORY = 16 * 1024 * 1024

# The reference harness refuses a type that it does not know, unless the event bears this mark.
_MARK = "ignorable"
_OURS_ALONE = frozenset(
    (events.SESSION_OPENED, events.SESSION_CLOSED, events.FOLLOWUP_QUEUED, events.FOLLOWUP_DISCARDED)
)


class Malformed(Exception):
    """A log that cannot be imported: ``message`` says what is wrong with line ``line``, counted from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.message = message


def import_log(lines: Iterable[bytes], *, owner_id: int) -> log.Header:
    """Write a session from the lines of its log, whole or not at all; its header.

    Raises Malformed, and Refusal: ``session_exists``, ``limit_reached``. A log whose schedule changes do not
    fold is imported all the same, and is corrupt.
    """
    with tempfile.SpooledTemporaryFile(_KEPT_IN_MEMORY, "w+", encoding="ascii", newline="\n") as checked:
        header = _check(lines, owner_id, checked)
        checked.seek(0)
        with transaction.barrier():
            try:
                log.create(header)
            except IntegrityError as error:
                raise Refusal("session_exists", "A session with this log's id exists already.") from error
            live.claim_quota(owner_id)
            while chunk := [(header.id, _kept_event(line)) for line in islice(checked, _CHUNK)]:
                log.append(chunk)
            rebuild.write(header, leased=False)
    return header


def export_log(header: log.Header) -> Iterator[str]:
    """A session's log as lines, each with its newline: the header, then every event, inherited ones too."""
    yield lossless.dumps(_header_line(header)) + "\n"
    for event in log.stream(header):
        yield lossless.dumps(_event_line(event)) + "\n"


class _Fault(ValueError):
    """What is wrong with the line being read, in plain words."""


def _check(lines: Iterable[bytes], owner_id: int, checked: IO[str]) -> log.Header:
    """Read a whole log and put its events, one a line, into ``checked``."""
    header: log.Header | None = None
    length = 0
    for number, line in enumerate(lines, start=1):
        try:
            record = lossless.loads(line)
            if not isinstance(record, dict):
                raise _Fault("A line must be a JSON object.")
            if header is None:
                header = _header(record, owner_id)
                continue
            for event in _events(record):
                if event.seq != length:
                    raise _Fault(f"The seq is {event.seq}, but {length} comes next: a log has no gaps.")
                if not instants.MIN <= event.time <= instants.MAX:
                    raise _Fault("The time lies outside the years 0001 to 9999.")
                checked.write(lossless.dumps(event.to_json()) + "\n")
                length += 1
        except (lossless.Invalid, packed.Misshapen, _Fault) as fault:
            raise Malformed(number, str(fault)) from None
    if header is None:
        raise Malformed(1, "The log is empty; its first line must be the session's header.")
    if header.seed_length > length:
        raise Malformed(1, f"seedLength is {header.seed_length}, but the log has {length} events.")
    return header


def _header(line: dict[str, Json], owner_id: int) -> log.Header:
    members = dict(line)
    if members.pop("type", None) != "session" or lossless.safe_integer(members.pop("version", None)) != 0:
        raise _Fault('The first line must be a header with "type":"session" and "version":0.')
    session_id = members.pop("id", None)
    if not isinstance(session_id, str) or not _SESSION_ID.fullmatch(session_id):
        raise _Fault("id must be 1 to 128 of A-Z a-z 0-9 . _ : and -, so that the session has an address.")
    metadata = members.pop("metadata", {})
    if not isinstance(metadata, dict):
        raise _Fault("metadata must be an object.")
    depth = _integer(members, "delegationDepth")
    origin = _text(members, "origin", _COLUMN)
    header = log.Header(
        id=session_id,
        owner_id=owner_id,
        created_at=_integer(members, "createdAt", instants.MIN, instants.MAX),
        parent=_text(members, "parentSession", _COLUMN),
        seed_length=_integer(members, "seedLength") if "seedLength" in members else 0,
        origin=_ORIGIN if origin is None else origin,
        title=_text(members, "title"),
        cwd=_text(members, "cwd"),
        metadata=lossless.dumps(metadata),
    )
    extra = {"delegationDepth": depth, **members} if depth else members
    return replace(header, extra=lossless.dumps(extra)) if extra else header


def _header_line(header: log.Header) -> dict[str, Json]:
    extra = {} if header.extra is None else lossless.loads_trusted(header.extra)
    line: dict[str, Json] = {
        "type": "session",
        "version": 0,
        "id": header.id,
        "createdAt": header.created_at,
        "delegationDepth": 0,
    }
    optional: dict[str, Json] = {
        "parentSession": header.parent,
        "seedLength": header.seed_length or None,
        "origin": None if header.origin == _ORIGIN else header.origin,
        "cwd": header.cwd,
        "title": header.title,
        "metadata": lossless.loads_trusted(header.metadata) or None,
    }
    line.update({key: value for key, value in optional.items() if value is not None})
    return line | extra if isinstance(extra, dict) else line


def _events(record: dict[str, Json]) -> Iterable[Event]:
    kind = record.get("type")
    return packed.expand(record) if isinstance(kind, str) and kind in packed.TAGS else [_event(record)]


def _event(line: dict[str, Json]) -> Event:
    members = dict(line)
    kind = _text(members, "type")
    if not kind:
        raise _Fault("An event's type must be a string that is not empty.")
    if "data" not in members:
        raise _Fault("An event must have data.")
    seq = _integer(members, "seq")
    time = _integer(members, "time", -lossless.MAX_SAFE_INTEGER)
    data = members.pop("data")
    if _marked(kind) and members.get(_MARK) is True:
        del members[_MARK]
    return Event(seq=seq, type=kind, time=time, data=data, extra=members or None)


def _event_line(event: Event) -> dict[str, Json]:
    line: dict[str, Json] = {"type": event.type, "seq": event.seq, "time": event.time, "data": event.data}
    line |= event.extra or {}
    if _marked(event.type):
        line.setdefault(_MARK, True)
    return line


def _marked(kind: str) -> bool:
    """Whether only Wakeful knows a type: it writes it, or lets its hosts write it."""
    return kind in _OURS_ALONE or events.is_host_type(kind)


def _integer(members: dict[str, Json], key: str, low: int = 0, high: int = lossless.MAX_SAFE_INTEGER) -> int:
    number = lossless.safe_integer(members.pop(key, None))
    if number is None or not low <= number <= high:
        raise _Fault(f"{key} must be a whole number from {low} to {high}.")
    return number


def _text(members: dict[str, Json], key: str, longest: int | None = None) -> str | None:
    """An optional string, taken out of ``members``; None where it is absent."""
    if key not in members:
        return None
    text = members.pop(key)
    if not isinstance(text, str):
        raise _Fault(f"{key} must be a string.")
    if longest is not None and len(text) > longest:
        raise _Fault(f"{key} must be at most {longest} characters long.")
    if "\0" in text or not lossless.is_unicode(text):
        raise _Fault(f"{key} holds U+0000 or a lone surrogate, and no database keeps those in such a text.")
    return text


def _kept_event(line: str) -> Event:
    members = lossless.loads_trusted(line)
    if not isinstance(members, dict):
        raise TypeError("a checked event is not an object")
    return _event(members)
