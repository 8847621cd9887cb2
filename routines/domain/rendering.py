"""A routine as JSON, and a manifest's JSON as the text of a ROUTINE.md: the ways back from `parse`."""

import re
from collections.abc import Mapping
from typing import TypeAlias, assert_never

from routines.domain import manifest, scalars
from routines.domain.jsonvalues import thaw, thaw_object
from schedules.domain import instants
from schedules.sessions.lossless import Json

Fields: TypeAlias = dict[str, Json]

_WORD = re.compile(r"[A-Za-z_]+")

# YAML allows a key without its question mark 1,024 characters.
_LONGEST_SIMPLE_KEY = 1_000


def to_json(routine: manifest.Routine) -> Fields:
    """The manifest as JSON, defaults filled in. What has no default and was not given is left out.

    `define_routine` of it gives an equal routine.
    """
    retry = routine.retry
    on_failure = routine.on_failure
    fields: Fields = {
        "schema": manifest.SCHEMA,
        "id": routine.id,
        "description": routine.description,
        "version": routine.version,
        "schedule": schedule_to_json(routine.schedule),
        "target": target_to_json(routine.target),
    }
    if routine.identity is not None:
        fields["identity"] = thaw(routine.identity.form)
    fields["retry"] = {
        "max_attempts": retry.max_attempts,
        "backoff": retry.backoff,
        "initial_ms": retry.initial_ms,
        "max_ms": retry.max_ms,
        **({} if retry.on is None else {"on": list(retry.on)}),
    }
    fields["on_failure"] = {
        "notify": [thaw(identity.form) for identity in on_failure.notify],
        "create_work_item": on_failure.create_work_item,
        **({} if on_failure.fire_event is None else {"fire_event": on_failure.fire_event}),
    }
    fields["history"] = {
        "retain_runs": routine.history.retain_runs,
        "retain_failed": routine.history.retain_failed,
    }
    fields["fires_events"] = list(routine.fires_events)
    fields["enabled"] = routine.enabled
    fields["tags"] = list(routine.tags)
    fields["metadata"] = thaw_object(routine.metadata)
    return fields


def schedule_to_json(schedule: manifest.Schedule) -> Fields:
    """The manifest's `schedule`, defaults filled in."""
    match schedule:
        case manifest.CronSchedule():
            return {
                "kind": "cron",
                "cron": schedule.cron,
                "timezone": schedule.timezone,
                "jitter_seconds": schedule.jitter_seconds,
                "catchup": schedule.catchup,
            }
        case manifest.IntervalSchedule():
            start: Fields = {} if schedule.start is None else {"from": instants.render(schedule.start)}
            return {"kind": "interval", "every": schedule.every, **start, "jitter_seconds": schedule.jitter_seconds}
        case manifest.CalendarSchedule():
            return {"kind": "calendar", "rrule": schedule.rrule, "timezone": schedule.timezone}
        case manifest.ManualSchedule():
            return {"kind": "manual"}
        case manifest.EventSchedule():
            return {"kind": "event", "on": schedule.on, "filter": thaw_object(schedule.filter)}
        case _:
            assert_never(schedule)


def target_to_json(target: manifest.Target) -> Fields:
    """The manifest's `target`, defaults filled in."""
    match target:
        case manifest.ToolTarget():
            return {"tool": target.tool, "inputs": thaw_object(target.inputs)}
        case manifest.AgentTarget():
            agent: Fields = {"adapter": target.adapter, "prompt": target.prompt, **thaw_object(target.options)}
            return {"agent": agent}
        case manifest.WorkflowTarget():
            workflow = thaw(target.workflow)
            reference: Fields = {target.form: workflow}
            named = workflow if target.form == "path" else reference
            return {"workflow": named, "inputs": thaw_object(target.inputs)}
        case manifest.ActionTarget():
            return {"action": target.action, "inputs": thaw_object(target.inputs)}
        case _:
            assert_never(target)


def to_text(fields: Mapping[str, Json], body: str = "") -> str:
    """A ROUTINE.md with these fields: `parse_routine` of it reads the same values.

    Every string stands in double quotes, so that none of them can mean anything else. body: the Markdown.
    """
    lines = ["---", *_mapping(fields, ""), "---", ""]
    return "\n".join(lines) + (f"\n{body}" if body else "")


def _mapping(fields: Mapping[str, Json], indent: str) -> list[str]:
    lines: list[str] = []
    for key, value in fields.items():
        name = key if _WORD.fullmatch(key) and isinstance(scalars.resolve(key), str) else _string(key)
        if len(name) > _LONGEST_SIMPLE_KEY:
            lines += [f"{indent}? {name}", f"{indent}: {_flow(value)}"]
        elif isinstance(value, dict) and value:
            lines += [f"{indent}{name}:", *_mapping(value, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {_flow(value)}")
    return lines


def _flow(value: Json) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"? {_string(key)} : {_flow(item)}" for key, item in value.items()) + "}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _string(text: str) -> str:
    return '"' + "".join(map(_character, text)) + '"'


def _character(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    # YAML's escapes name code points, unlike JSON's: beyond U+FFFF they have eight digits.
    return char if char == " " or char.isprintable() else f"\\U{ord(char):08X}"
