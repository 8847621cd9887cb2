"""`command_execute`: runs a program that the settings allow, without a shell."""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from routines import lowering
from routines.tools import environment, processes, registry
from routines.tools.processes import Finished
from routines.tools.registry import Call, Result
from schedules.sessions import lossless

DEFAULT_SECONDS = 60
MOST_SECONDS = 600
MOST_OUTPUT = 64 * 1024
# So much longer may the whole call take: the time for a program that must be ended.
_MARGIN_SECONDS = 10

INPUTS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["command"],
    "properties": {
        "command": {
            "type": "string",
            "minLength": 1,
            "description": "The program: a name or an absolute path, exactly as WAKEFUL_ALLOWED_COMMANDS lists it.",
        },
        "args": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Its arguments, each passed as it is; no shell reads them.",
        },
        "cwd": {
            "type": "string",
            "minLength": 1,
            "maxLength": 4096,
            "description": "The folder it runs in, inside the workspace; the workspace itself unless given.",
        },
        "timeout_seconds": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_SECONDS,
            "description": f"How long it may take; {DEFAULT_SECONDS} unless given.",
        },
        "stdin": {"type": "string", "description": "What it reads from its standard input; nothing unless given."},
    },
}


class _Refused(ValueError):
    """A call that is not made; the message says what to do instead."""


@registry.tool(
    name="command_execute",
    description="Run a program that this host allows, without a shell; good where it exits with 0.",
    inputs=INPUTS,
    seconds=MOST_SECONDS + _MARGIN_SECONDS,
)
def command_execute(call: Call, inputs: dict[str, Any]) -> Result:
    """The value is `{exitCode, output}`; exitCode is None for a program that was ended from here."""
    name = os.path.basename(inputs["command"])
    seconds = min(inputs.get("timeout_seconds", DEFAULT_SECONDS), call.seconds)
    try:
        program = _program(inputs["command"])
        arguments = _arguments(inputs.get("args", []))
        stdin = _encoded(inputs.get("stdin", ""))
        with _folder(call.workspace, inputs.get("cwd")) as folder:
            done = _run([program, *arguments], folder, stdin, seconds, call.cancelled)
    except (_Refused, lowering.Unlowerable) as problem:
        return Result(ok=False, summary=str(problem))
    if done.missing:
        return Result(ok=False, summary=f"{name} could not be started; look at its file and its arguments' length.")
    return Result(
        ok=done.code == 0,
        summary=_summary(name, seconds, done),
        value={"exitCode": done.code, "output": done.output},
        failure="timeout" if done.timed_out else "error",
    )


def _run(argv: list[str], folder: str, stdin: bytes, seconds: float, cancelled: threading.Event) -> Finished:
    return processes.run(
        argv,
        cwd=folder,
        env=environment.clean(),
        seconds=seconds,
        most_output=MOST_OUTPUT,
        cancelled=cancelled,
        stdin=stdin,
    )


def _program(command: str) -> str:
    """The path of an allowed program. Raises _Refused."""
    if command not in settings.WAKEFUL_ALLOWED_COMMANDS:
        raise _Refused("This host does not allow that command; an operator can add it to WAKEFUL_ALLOWED_COMMANDS.")
    if os.path.isabs(command):
        return command
    if os.sep in command:
        raise _Refused("A command is a bare name or an absolute path; list and call it by one of these.")
    found = shutil.which(command, path=environment.clean()["PATH"])
    if found is None:
        raise _Refused(f"This host has no program {command} on its PATH; install it, or list its absolute path.")
    return found


def _arguments(given: list[str]) -> list[str]:
    if not all(lossless.is_unicode(one) and "\0" not in one for one in given):
        raise _Refused("args hold neither U+0000 nor lone surrogates, for no program takes them; leave them out.")
    return given


def _encoded(stdin: str) -> bytes:
    if not lossless.is_unicode(stdin):
        raise _Refused("stdin holds no lone surrogates, for it is passed as UTF-8; write whole characters.")
    return stdin.encode()


@contextmanager
def _folder(workspace: str | None, cwd: str | None) -> Iterator[str]:
    """The real path of the folder to run in. Raises _Refused and `lowering.Unlowerable`."""
    if workspace is not None:
        path = cwd or "."
        folder = lowering.within(workspace, path) if lossless.is_unicode(path) else ""
        if not os.path.isdir(folder):
            raise _Refused("There is no such cwd in the routine's workspace; make it first, or leave cwd out.")
        yield folder
    elif cwd is not None:
        raise _Refused("cwd lies inside the routine's workspace, and this call has none; leave cwd out.")
    else:
        with tempfile.TemporaryDirectory(prefix="wakeful-command-", ignore_cleanup_errors=True) as made:
            yield made


def _summary(name: str, seconds: float, done: Finished) -> str:
    if done.timed_out:
        return f"{name} was ended: it took longer than {seconds:g} s."
    if done.cancelled:
        return f"{name} was ended: its answer no longer counted."
    if done.code is not None and done.code < 0:
        return f"{name} was ended by signal {-done.code}."
    return f"{name} exited with {done.code}."
