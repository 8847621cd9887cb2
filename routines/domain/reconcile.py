"""What makes the persisted jobs equal to what the files want: declared routines + registered jobs → a plan.

Content decides, not time: a plan carried out and made again keeps everything.
"""

import hashlib
import os
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from routines.domain import dispatchable, errors, manifest, rendering
from schedules.sessions import lossless

State = Literal["registered", "stale", "skipped", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One file, as it was read.

    path: the file's path, the same at every scan. Of two files with one id the smaller path wins.
    routine: what it declares; None where it could not be read or is no routine.
    faults: what is wrong with it; of a routine, only warnings.
    id_line: the line of its id, where known.
    workspace: the real path of its workspace; None where it is read for itself.
    folder: whether it is a folder that could not be searched: of what lies below it, only the rest is known.
    content: `content` of the routine; computed here, once for each reading.
    schedule: `schedule_content` of it, likewise.
    """

    path: str
    routine: manifest.Routine | None
    faults: tuple[errors.Fault, ...] = ()
    id_line: int | None = None
    workspace: str | None = None
    folder: bool = False
    content: str = field(init=False, default="")
    schedule: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if self.routine is not None:
            object.__setattr__(self, "content", content(self.routine))
            object.__setattr__(self, "schedule", schedule_content(self.routine.schedule))


Refuse = Callable[[manifest.Routine, Declared], errors.Fault | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """One persisted job of a routine.

    job_id: the job's id.
    routine_id: the routine's id.
    path: the file that declared it.
    content: `content` of the routine that was registered.
    schedule: `schedule_content` of it.
    stale: whether it is marked as held by a file that for now fails to parse.
    workspace: the real path of the file's workspace; None where it has none.
    """

    job_id: str
    routine_id: str
    path: str
    content: str
    schedule: str
    stale: bool = False
    workspace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Register a job with a fresh anchor, the registration.

    file: the file.
    routine: what it declares.
    """

    file: Declared
    routine: manifest.Routine


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Make a job say what its file says now. It is no longer stale.

    job_id: the job.
    file: the file.
    routine: what it declares.
    keep_anchor: whether the schedule is unchanged, so that slots count on from where they did.
    """

    job_id: str
    file: Declared
    routine: manifest.Routine
    keep_anchor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A routine that gets no job, on purpose.

    routine_id: the routine.
    reason: why, with its code.
    """

    routine_id: str
    reason: errors.Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A fault to report.

    path: the file it is in.
    fault: the fault; it may be a warning.
    """

    path: str
    fault: errors.Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an id.

    routine_id: the id, of a routine that a file declares, or whose job a broken file holds.
    file: that file.
    state: whether it has its job, has a stale one, or why it has none.
    fault: what stands against it; None where nothing does.
    """

    routine_id: str
    file: Declared
    state: State
    fault: errors.Fault | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do, and what to say of it.

    registered: the ids of all routines that hold a job afterwards, sorted.
    keep: ids of the jobs to leave alone.
    refresh: ids of the jobs that are as their files want but still marked stale: take the mark off.
    mark_stale: ids of the jobs whose file for now is no routine.
    create: the jobs to register.
    replace: the jobs to change.
    remove: ids of the jobs to delete.
    skipped: routines that get no job.
    errors: what to report, by path.
    outcomes: what became of each id, in the order of paths.
    """

    registered: tuple[str, ...]
    keep: tuple[str, ...]
    refresh: tuple[str, ...]
    mark_stale: tuple[str, ...]
    create: tuple[Create, ...]
    replace: tuple[Replace, ...]
    remove: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    errors: tuple[Problem, ...]
    outcomes: tuple[Outcome, ...]


def content(routine: manifest.Routine) -> str:
    """A digest that two routines share exactly if they say the same, defaults filled in."""
    return _digest(rendering.to_json(routine))


def schedule_content(schedule: manifest.Schedule) -> str:
    """The same of the schedule alone: where it is unchanged, the anchor stays."""
    return _digest(rendering.schedule_to_json(schedule))


def plan(declared: Iterable[Declared], registered: Iterable[Registered], refuse: Refuse) -> Plan:
    """Compare files with jobs.

    declared: all files of all workspaces, in any order, each path once.
    registered: all jobs of routines, one for each id.
    refuse: says why the host will not fire a routine, or None: `routine_permission_denied` is skipped, any other
    code is an error. What a manifest alone shows (`dispatchable.refusal`) is asked first.
    """
    files = sorted(declared, key=lambda file: file.path)
    planner = _Planner(files, registered, refuse)
    for file in files:
        planner.take(file)
    return planner.plan()


def below(paths: list[str], folder: str) -> list[str]:
    """Those of some sorted paths that lie below a folder."""
    inside = os.path.join(folder, "")
    first = last = bisect_left(paths, inside)
    while last < len(paths) and paths[last].startswith(inside):
        last += 1
    return paths[first:last]


class _Planner:
    def __init__(self, files: Iterable[Declared], registered: Iterable[Registered], refuse: Refuse) -> None:
        self.jobs = {job.routine_id: job for job in sorted(registered, key=lambda job: job.job_id)}
        self.ids_by_path = {job.path: job.routine_id for job in self.jobs.values()}
        self.seen = {file.path for file in files}
        self.unseen = sorted(self.ids_by_path.keys() - self.seen)
        self.refuse = refuse
        self.claims: dict[str, str] = {}
        self.held: set[str] = set()
        self.keep: list[str] = []
        self.refresh: list[str] = []
        self.mark_stale: list[str] = []
        self.create: list[Create] = []
        self.replace: list[Replace] = []
        self.skipped: list[Skipped] = []
        self.errors: list[Problem] = []
        self.outcomes: list[Outcome] = []

    def take(self, file: Declared) -> None:
        self.errors += [Problem(path=file.path, fault=fault) for fault in file.faults]
        if file.routine is None:
            for path in below(self.unseen, file.path) if file.folder else [file.path]:
                self._take_broken(path, file)
            return
        routine = file.routine
        if (first := self.claims.setdefault(routine.id, file.path)) != file.path:
            self._report_duplicate(file, first)
            return
        if (fault := dispatchable.refusal(routine)) is not None:
            self._skip(file, routine, fault)
        elif (fault := self.refuse(routine, file)) is None:
            self._hold(file, routine)
        elif fault.code == "routine_permission_denied":
            self._skip(file, routine, fault)
        else:
            self.errors.append(Problem(path=file.path, fault=fault))
            self._note(routine.id, file, "error", fault)

    def _take_broken(self, path: str, file: Declared) -> None:
        """A file that was saved halfway keeps its job, and its claim on the id against files further down.

        So does one in a folder that cannot be searched, as where a disk is away.
        """
        routine_id = self.ids_by_path.get(path)
        if routine_id is None or routine_id in self.claims:
            return
        self.claims[routine_id] = path
        self.held.add(routine_id)
        job = self.jobs[routine_id]
        # A mark that is there already needs no write.
        (self.keep if job.stale else self.mark_stale).append(job.job_id)
        self._note(routine_id, file, "stale", errors.gravest(file.faults))

    def _report_duplicate(self, file: Declared, first: str) -> None:
        message = f"The id is already taken by {first}, which comes first by path; give this routine another id."
        fault = errors.Fault(code="routine_duplicate", message=message, field="id", line=file.id_line)
        self.errors.append(Problem(path=file.path, fault=fault))

    def _skip(self, file: Declared, routine: manifest.Routine, fault: errors.Fault) -> None:
        self.skipped.append(Skipped(routine_id=routine.id, reason=fault))
        self._note(routine.id, file, "skipped", fault)

    def _hold(self, file: Declared, routine: manifest.Routine) -> None:
        self.held.add(routine.id)
        self._note(routine.id, file, "registered", None)
        job = self.jobs.get(routine.id)
        if job is None:
            self.create.append(Create(file=file, routine=routine))
        elif (job.content, job.path, job.workspace) == (file.content, file.path, file.workspace):
            (self.refresh if job.stale else self.keep).append(job.job_id)
        else:
            keep_anchor = job.schedule == file.schedule
            self.replace.append(Replace(job_id=job.job_id, file=file, routine=routine, keep_anchor=keep_anchor))

    def _note(self, routine_id: str, file: Declared, state: State, fault: errors.Fault | None) -> None:
        self.outcomes.append(Outcome(routine_id=routine_id, file=file, state=state, fault=fault))

    def plan(self) -> Plan:
        return Plan(
            registered=tuple(sorted(self.held)),
            keep=tuple(self.keep),
            refresh=tuple(self.refresh),
            mark_stale=tuple(self.mark_stale),
            create=tuple(self.create),
            replace=tuple(self.replace),
            remove=tuple(job.job_id for job in self.jobs.values() if job.routine_id not in self.held),
            skipped=tuple(self.skipped),
            errors=tuple(self.errors),
            outcomes=tuple(self.outcomes),
        )


def _digest(fields: rendering.Fields) -> str:
    return hashlib.sha256(lossless.canonical(fields).encode("ascii")).hexdigest()
