"""Collects all that is wrong with one manifest, and says where in its text each thing stands."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from routines.domain import errors, limits

Path: TypeAlias = "tuple[str | int, ...]"

_SHOWN = 80


class Findings:
    """The faults of one manifest, in the order of their lines.

    A field that is at fault is reported once: what is found later in it, or below it, only follows from that. At
    most 100 faults are kept.
    """

    def __init__(self, lines: Mapping[Path, int] | None = None) -> None:
        """lines: the line of each key and list item, by its path; none where there is no text."""
        self.lines: Mapping[Path, int] = {} if lines is None else lines
        #: What the manifest as a whole is called in messages.
        self.subject = "a routine"
        self._faults: list[errors.Fault] = []
        self._refused: set[Path] = set()

    def refuse(
        self, path: Path, message: str, *, code: errors.Code = "routine_invalid", line: int | None = None
    ) -> None:
        """Note a fault that makes the manifest no routine. line: where it stands, if not where the field does."""
        if len(self._faults) < limits.MAX_FAULTS and not self.touched(path):
            self._refused.add(path)
            self._faults.append(self._fault(path, message, code, line))

    def warn(self, path: Path, message: str, *, code: errors.Code = "routine_invalid") -> None:
        """Note something that the author should know of a routine that is good all the same."""
        if len(self._faults) < limits.MAX_FAULTS and not self.touched(path):
            self._faults.append(replace(self._fault(path, message, code, None), warning=True))

    def touched(self, path: Path) -> bool:
        """Whether the field, or one that holds it, was refused."""
        return any(path[:length] in self._refused for length in range(len(path) + 1))

    @property
    def good(self) -> bool:
        """Whether nothing but warnings was found."""
        return not self._refused

    def faults(self) -> tuple[errors.Fault, ...]:
        """All that was found, by line; without lines, in the order it was found."""
        return tuple(sorted(self._faults, key=lambda fault: fault.line or 0))

    def _fault(self, path: Path, message: str, code: errors.Code, line: int | None) -> errors.Fault:
        where = self._line(path) if line is None else line
        return errors.Fault(code=code, field=dotted(path) or None, line=where, message=message)

    def _line(self, path: Path) -> int | None:
        """The field's own line; where it is missing, that of what should hold it."""
        known = (path[:length] for length in range(len(path), -1, -1))
        return next((self.lines[prefix] for prefix in known if prefix in self.lines), None)


def dotted(path: Path) -> str:
    """`on_failure.notify.0`. Keys over 80 characters are shown cut: they are somebody's data."""
    return ".".join(shown(str(part)) for part in path)


def shown(text: str) -> str:
    """A text as a message may quote it: never longer than a line."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
