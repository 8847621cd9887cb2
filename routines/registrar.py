"""Makes the jobs of routines equal to what the workspaces' files want: read, plan, then one short claim.

Any number of processes may do so at once. What one plans while another writes is thrown away and planned anew.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from routines import holdings, library, resolve
from routines.domain import arming, errors, eventnames, manifest, reconcile, rendering
from schedules import clock, transaction
from schedules.sessions import bulk, log, lossless
from schedules.sessions.errors import PersistenceUncertain
from schedules.sessions.lossless import Json

logger = logging.getLogger(__name__)

_TRIES = 5
_TAKEN = errors.Fault(
    code="routine_duplicate", field="id", message="The id is that of a cron job; give the routine another."
)

#: How many of the errors are kept for those who ask later.
MOST_PROBLEMS = 1_000
_MOST_LOGGED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a reconcile came to.

    registered: ids of all routines that hold a job now, sorted.
    skipped: routines that get none, on purpose.
    removed: ids of the jobs that were deleted.
    errors: what is wrong with files, by path; some are warnings.
    """

    registered: Sequence[str]
    skipped: Sequence[reconcile.Skipped]
    removed: Sequence[str]
    errors: Sequence[reconcile.Problem]

    @property
    def good(self) -> bool:
        """Whether nothing but warnings was found."""
        return all(problem.fault.warning for problem in self.errors)

    def to_json(self) -> dict[str, Json]:
        """As the API answers it."""
        return {
            "registered": list(self.registered),
            "skipped": [{"id": one.routine_id, "reason": _reason(one.reason)} for one in self.skipped],
            "removed": list(self.removed),
            "errors": [_problem(problem) for problem in self.errors],
        }


class Registrar:
    """Knows the files of the workspaces from one look to the next. One serves all threads of a process."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._library = library.Library()
        self._resolver = resolve.Resolver()

    def look(self) -> library.Scan:
        """What the workspaces hold now. Costs little where nothing changed."""
        with self._turn:
            return self._library.scan(settings.WAKEFUL_WORKSPACES)

    def reconcile(self) -> Report:
        """Make the jobs equal to what the files want. Where they are, nothing is written.

        Raises PersistenceUncertain where the database does not answer, or others change the jobs all the time.
        """
        with self._turn:
            for _ in range(_TRIES):
                if (report := self._reconciled()) is not None:
                    return report
        raise PersistenceUncertain

    def _reconciled(self) -> Report | None:
        """One try; None where another process changed the jobs meanwhile."""
        with transaction.asking():
            # Before the files: whoever wrote later than this read them later too, and its version stops this one.
            held = holdings.read()
        files = self._library.scan(settings.WAKEFUL_WORKSPACES).files
        resolver = resolve.Resolver(self._resolver)

        def refuse(routine: manifest.Routine, file: reconcile.Declared) -> errors.Fault | None:
            if routine.id in held.taken:
                return _TAKEN
            return resolver.refusal(routine, file.workspace)

        with transaction.asking():
            plan = reconcile.plan(files, held.jobs, refuse)
            # After the files: every edit that was seen lies before it, and so does what was due before the edit.
            now = clock.sample()
        self._resolver = resolver
        report = Report(registered=plan.registered, skipped=plan.skipped, removed=plan.remove, errors=plan.errors)
        changes = _changes(plan, files, held, report, now)
        if changes:
            with transaction.barrier():
                if not holdings.write(changes, held.version, now):
                    return None
            _log(plan, tell=changes.problems is not None)
        return report


#: The one of this process: its watcher and its callers read the files once between them.
OWN = Registrar()


def _log(plan: reconcile.Plan, *, tell: bool) -> None:
    """Log what was done; tell: the problems too, since they are not those of before."""
    logger.info(
        "routines: %d registered, of which %d are new and %d changed; %d removed, %d skipped, %d errors and warnings",
        len(plan.registered),
        len(plan.create),
        len(plan.replace),
        len(plan.remove),
        len(plan.skipped),
        len(plan.errors),
    )
    for problem in plan.errors[: _MOST_LOGGED if tell else 0]:
        logger.warning("%s: %s", problem.path, errors.describe(problem.fault))


def _changes(
    plan: reconcile.Plan, files: Sequence[reconcile.Declared], held: holdings.Held, report: Report, now: int
) -> holdings.Changes:
    changes = holdings.Changes(
        created=[
            (*_said(one.file, one.routine), *_timed(one.file, one.routine, now), *_fresh(one.routine), log.new_id())
            for one in plan.create
        ],
        replaced=[(*_said(one.file, one.routine), one.job_id) for one in plan.replace if one.keep_anchor],
        timed=[
            (*_said(one.file, one.routine), *_timed(one.file, one.routine, now), one.job_id)
            for one in plan.replace
            if not one.keep_anchor
        ],
        stale=[*((True, job) for job in plan.mark_stale), *((False, job) for job in plan.refresh)],
        removed=list(plan.remove),
    )
    anew = {one.routine.id for one in plan.create} | {one.routine.id for one in plan.replace}
    for outcome in plan.outcomes:
        _tell(changes, outcome, held.routines.get(outcome.routine_id), now, anew=outcome.routine_id in anew)
    _linger(changes, plan, files, held, now)
    problems = lossless.dumps([_problem(problem) for problem in report.errors[:MOST_PROBLEMS]])
    if problems != held.problems:
        changes.problems = problems
    return changes


def _tell(
    changes: holdings.Changes, outcome: reconcile.Outcome, known: holdings.Known | None, now: int, *, anew: bool
) -> None:
    """Note what became of an id, where that is not known already."""
    file, routine, fault = outcome.file, outcome.file.routine, outcome.fault
    verdict = (outcome.state, None if fault is None else fault.code, None if fault is None else fault.message)
    judged = known is not None and (known.state, known.code, known.reason) != verdict
    if routine is None:
        # What its manifest was stays told; where that was never told, it is once the file is mended.
        if judged:
            changes.judged.append((*verdict, now, outcome.routine_id))
        return
    stands = (
        known is not None
        and not (judged or anew)
        and (known.path, known.workspace) == (file.path, file.workspace)
        # The manifest of one that holds a job is the job's, which was compared by its digest.
        and (known.document is None or known.document == _document(routine))
    )
    if not stands:
        row = (*verdict, now, file.path, file.workspace or "", _document(routine), routine.id)
        (changes.told if known is None else changes.retold).append(row)


def _linger(
    changes: holdings.Changes,
    plan: reconcile.Plan,
    files: Sequence[reconcile.Declared],
    held: holdings.Held,
    now: int,
) -> None:
    """Forget the routines that no file declares; one whose file is broken stays told of, with what is wrong."""
    told = {outcome.routine_id for outcome in plan.outcomes}
    rest = {routine_id: known for routine_id, known in held.routines.items() if routine_id not in told}
    paths = sorted({known.path for known in rest.values()} - {file.path for file in files})
    broken: dict[str, errors.Fault] = {}
    for file in files:
        if file.routine is None:
            for path in reconcile.below(paths, file.path) if file.folder else [file.path]:
                broken.setdefault(path, errors.gravest(file.faults))
    for routine_id, known in rest.items():
        if (fault := broken.get(known.path)) is None:
            changes.forgotten.append(routine_id)
        elif (known.state, known.code, known.reason) != ("error", fault.code, fault.message):
            changes.judged.append(("error", fault.code, fault.message, now, routine_id))


def _said(file: reconcile.Declared, routine: manifest.Routine) -> bulk.Row:
    return (file.path, file.workspace, _document(routine), file.content, False)


def _timed(file: reconcile.Declared, routine: manifest.Routine, now: int) -> bulk.Row:
    schedule = routine.schedule
    kind = str(rendering.schedule_to_json(schedule)["kind"])
    event = eventnames.canonical(schedule.on) if isinstance(schedule, manifest.EventSchedule) else None
    armed = arming.arm(routine, now, now)
    return (file.schedule, kind, event, now, now, armed.slot, armed.fire_at)


def _fresh(routine: manifest.Routine) -> bulk.Row:
    source = f"routine:{routine.id}"
    return (source, source, routine.id, False, 0, 0, 0)


def _document(routine: manifest.Routine) -> str:
    return lossless.dumps(rendering.to_json(routine))


def _reason(fault: errors.Fault) -> str:
    return f"{fault.code}: {fault.message}"


def _problem(problem: reconcile.Problem) -> dict[str, Json]:
    fault = problem.fault
    shown: dict[str, Json] = {
        "file": problem.path,
        "error": fault.message,
        "code": fault.code,
        "field": fault.field,
        "line": fault.line,
    }
    return shown | {"warning": True} if fault.warning else shown
