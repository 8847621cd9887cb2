"""The recorded answers of the reference implementation, and how to compare ours with them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from schedules.domain import errors

FOLDER = Path(__file__).parents[2] / "vectors"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file. Lines end at a newline only: strings hold U+2028 and U+0085."""
    text = (FOLDER / f"{name}.jsonl").read_bytes().decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def differences(name: str, answer: Callable[[dict[str, Any]], Any]) -> list[str]:
    """The rows of a file to which `answer` gives another value or another code than the recorded one."""
    found = []
    for number, row in enumerate(rows(name), start=1):
        try:
            got = {"ok": answer(row)}
        except errors.ScheduleError as error:
            got = {"error": error.code}
        if got != {key: row[key] for key in ("ok", "error") if key in row}:
            found.append(f"{name}.jsonl:{number}: {json.dumps(row)[:300]} gave {json.dumps(got)[:300]}")
    return found
