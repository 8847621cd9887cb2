"""From a ROUTINE.md, or from Python values, to a `manifest.Routine`, with all that is wrong with it at once.

Nothing is read, registered or run here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from routines.domain import errors, eventnames, frontmatter, jsonvalues, manifest, schedulefields, targetfields
from routines.domain.cursor import Field, Record
from routines.domain.findings import Findings, shown
from schedules.sessions.lossless import Json

_REQUIRED = ("schema", "id", "description", "schedule", "target")
_OPTIONAL = (
    "version",
    "identity",
    "retry",
    "on_failure",
    "history",
    "fires_events",
    "enabled",
    "tags",
    "metadata",
)

_ID = re.compile(r"[a-z0-9@][a-z0-9.@/_-]*")
_ID_FORM = "2 to 80 lower-case letters, digits and . @ / _ -, starting with a letter, digit or @"
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:[-+][A-Za-z0-9_.-]+)?")
_VERSION_FORM = 'a version of three numbers in quotes, for example "1.0.0"'
_IDENTITY_FORM = 'a string such as "bot://nightly", or a mapping with ref, file or inline'
_EVENT_FORM = "an event's name, a string"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What reading a manifest came to.

    routine: the routine; None where it is none.
    faults: all that was found, by line; of a routine, only warnings.
    id_line: the line of its id; None where it is no routine or did not come from a text.
    """

    routine: manifest.Routine | None
    faults: tuple[errors.Fault, ...]
    id_line: int | None = None


def read_routine(text: str, folder: str | None = None) -> Reading:
    """Read the text of a ROUTINE.md. Never raises.

    folder: the name of the folder that holds the file, to be compared with the id; None where there is none.
    """
    try:
        document = frontmatter.read(text)
    except errors.Invalid as invalid:
        return Reading(routine=None, faults=invalid.faults)
    return _reading(document.value, document.findings, folder)


def parse_routine(text: str, folder: str | None = None) -> manifest.Routine:
    """The routine that the text of a ROUTINE.md declares. Raises `errors.Invalid`.

    folder: as for `read_routine`, which also tells the warnings of a good one.
    """
    return _routine(read_routine(text, folder))


def define_routine(**fields: object) -> manifest.Routine:
    """The routine of a manifest's fields, given as Python values: equal to that of a file with the same fields.

    Raises `errors.Invalid` with the faults that a file would have, but for their lines.
    """
    findings = Findings()
    value = _admitted(fields, findings)
    return _routine(_reading(value, findings, None))


def read_schedule(value: object) -> manifest.Schedule:
    """A schedule alone, as a manifest holds it. Raises `errors.Invalid`, with fields that start at `schedule`."""
    findings = Findings()
    admitted = _admitted({"schedule": value}, findings)
    schedule = schedulefields.read(Field(value=admitted, path=(), findings=findings).at("schedule"))
    if not findings.good:
        raise errors.Invalid(findings.faults())
    return schedule


def _admitted(fields: Mapping[str, object], findings: Findings) -> Json:
    try:
        return jsonvalues.admit(fields, findings)
    except jsonvalues.TooLarge as error:
        fault = errors.Fault(code="routine_invalid", message=str(error))
        raise errors.Invalid((*findings.faults(), fault)) from None


def _routine(reading: Reading) -> manifest.Routine:
    if reading.routine is None:
        raise errors.Invalid(reading.faults)
    return reading.routine


def _reading(value: Json, findings: Findings, folder: str | None) -> Reading:
    root = Field(value=value, path=(), findings=findings)
    if not isinstance(value, dict):
        root.refuse("The front matter must hold a routine's fields, one `key: value` a line.")
        return Reading(routine=None, faults=findings.faults())
    routine = _read(root.record(required=_REQUIRED, optional=_OPTIONAL))
    last = routine.id.rsplit("/", 1)[-1]
    if folder is not None and last != folder:
        findings.warn(
            ("id",),
            f"The id ends in {shown(last)}, but its folder is {shown(folder)}; give both the same name.",
            code="routine_id_mismatch",
        )
    if not findings.good:
        return Reading(routine=None, faults=findings.faults())
    return Reading(routine=routine, faults=findings.faults(), id_line=findings.lines.get(("id",)))


def _read(record: Record) -> manifest.Routine:
    schema = record.need("schema")
    if schema.value != manifest.SCHEMA:
        schema.refuse(f"schema must be {manifest.SCHEMA}.")
    version = record.get("version")
    identity = record.get("identity")
    return manifest.Routine(
        id=record.need("id").text(_ID_FORM, least=2, most=80, pattern=_ID),
        description=record.need("description").text("a string of 1 to 2,000 characters", most=2_000),
        version="1.0.0" if version is None else version.text(_VERSION_FORM, pattern=_VERSION),
        schedule=schedulefields.read(record.need("schedule")),
        target=targetfields.read(record.need("target")),
        identity=None if identity is None else _identity(identity),
        retry=_retry(record.get("retry")),
        on_failure=_on_failure(record.get("on_failure")),
        history=_history(record.get("history")),
        fires_events=_fires_events(record.get("fires_events")),
        enabled=record.flag("enabled", True),
        tags=_strings(record.get("tags"), "a string", least=0),
        metadata=record.free("metadata"),
    )


def _identity(field: Field) -> manifest.Identity:
    if not isinstance(field.value, dict):
        return manifest.Identity(form=field.text(_IDENTITY_FORM))
    for key in ("ref", "file"):
        if key in field.value:
            field.at(key).text()
    if "inline" in field.value:
        inline = field.at("inline")
        for key in ("name", "email"):
            if key in inline.mapping():
                inline.at(key).text(least=0)
    return manifest.Identity(form=field.free())


def _retry(field: Field | None) -> manifest.Retry:
    if field is None:
        return manifest.Retry()
    record = field.record(optional=("max_attempts", "backoff", "initial_ms", "max_ms", "on"))
    on = record.get("on")
    return manifest.Retry(
        max_attempts=record.integer("max_attempts", 1, least=1, most=10),
        backoff=record.choice("backoff", manifest.BACKOFFS, "exponential"),
        initial_ms=record.integer("initial_ms", 60_000),
        max_ms=record.integer("max_ms", 3_600_000),
        on=None
        if on is None
        else tuple(item.choice(manifest.FAILURE_CLASSES) for item in on.items("a list of failure classes")),
    )


def _on_failure(field: Field | None) -> manifest.OnFailure:
    if field is None:
        return manifest.OnFailure()
    record = field.record(optional=("notify", "create_work_item", "fire_event"))
    notify = record.get("notify")
    fire_event = record.get("fire_event")
    return manifest.OnFailure(
        notify=() if notify is None else tuple(map(_identity, notify.items("a list of identities"))),
        create_work_item=record.flag("create_work_item", False),
        fire_event=None if fire_event is None else _event_name(fire_event),
    )


def _history(field: Field | None) -> manifest.History:
    if field is None:
        return manifest.History()
    record = field.record(optional=("retain_runs", "retain_failed"))
    return manifest.History(
        retain_runs=record.integer("retain_runs", 100), retain_failed=record.integer("retain_failed", 30)
    )


def _fires_events(field: Field | None) -> tuple[str, ...]:
    if field is None:
        return manifest.STANDARD_EVENTS
    return tuple(map(_event_name, field.items("a list of event names")))


def _event_name(field: Field) -> str:
    name = field.text(_EVENT_FORM)
    if name and not eventnames.is_well_formed(name):
        field.refuse(f"{field.name} must be {_EVENT_FORM} without blanks.")
    return name


def _strings(field: Field | None, form: str, *, least: int) -> tuple[str, ...]:
    if field is None:
        return ()
    return tuple(item.text(form, least=least) for item in field.items("a list of strings"))
