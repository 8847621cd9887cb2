"""The registrar's rows: what is registered, read in one look and changed in one claim.

Whoever changes the jobs of routines first claims the version that it read. So nothing is ever written that was planned
on what another process has changed meanwhile, and no transaction lasts while files are read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from routines import jobs, runs
from routines.domain import reconcile
from schedules.projection import rows
from schedules.sessions import bulk, log
from schedules.sessions.bulk import NUMBER, TEXT

_FLAG = "boolean"
_ID = {"id": TEXT}
_JOB = "routines_job"
_ROUTINE = "routines_routine"

# What a job holds of its manifest, and what follows from its schedule.
_SAID = {"path": TEXT, "workspace": TEXT, "document": TEXT, "content": TEXT, "stale": _FLAG}
_TIMED = {"schedule": TEXT, "kind": TEXT, "event": TEXT, "anchor": NUMBER, "cursor": NUMBER} | {
    "next_slot": NUMBER,
    "fire_at": NUMBER,
}
_FRESH = {"source": TEXT, "label": TEXT, "routine_id": TEXT, "once": _FLAG} | {
    "failures": NUMBER,
    "burst_at": NUMBER,
    "burst": NUMBER,
}
_VERDICT = {"state": TEXT, "code": TEXT, "reason": TEXT, "changed_at": NUMBER}
_DECLARED = {"path": TEXT, "workspace": TEXT, "document": TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A routine as the registrar last told of it.

    document: JSON text of its manifest; None where its job has the same.
    """

    path: str
    workspace: str
    state: str
    code: str | None
    reason: str | None
    document: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """All that is registered.

    version: what a change must claim.
    problems: JSON text of the errors that were last told of; None before the first reconcile.
    jobs: the jobs of routines.
    routines: the routines by id.
    taken: ids that no routine can have, since they are those of cron jobs.
    """

    version: int
    problems: str | None
    jobs: Sequence[reconcile.Registered]
    routines: Mapping[str, Known]
    taken: frozenset[str]


@dataclass(slots=True, kw_only=True)
class Changes:
    """Rows to write: each holds the columns that stand beside it, in their order, and then the id.

    created: jobs: said, timed, fresh.
    replaced: jobs whose schedule stays: said.
    timed: jobs whose schedule changed as well: said, timed.
    stale: jobs: whether their file for now is no routine.
    removed: ids of jobs.
    told: routines that are new: verdict, declared.
    retold: routines of which something changed: verdict, declared.
    judged: routines whose manifest stands and whose verdict changed: verdict.
    forgotten: ids of routines that no file declares any more.
    problems: JSON text of what is to be told; None where that is told already.
    """

    created: list[bulk.Row] = field(default_factory=list)
    replaced: list[bulk.Row] = field(default_factory=list)
    timed: list[bulk.Row] = field(default_factory=list)
    stale: list[bulk.Row] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    told: list[bulk.Row] = field(default_factory=list)
    retold: list[bulk.Row] = field(default_factory=list)
    judged: list[bulk.Row] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    problems: str | None = None

    def __bool__(self) -> bool:
        jobs = self.created or self.replaced or self.timed or self.stale or self.removed
        routines = self.told or self.retold or self.judged or self.forgotten
        return bool(jobs or routines or self.problems is not None)


def read() -> Held:
    """What is registered now. The version is read first: what changes later makes a claim fail."""
    found = rows.fetch("SELECT version, problems, reconciled_at FROM routines_registrar WHERE id = 1", [])
    version, problems, reconciled_at = found[0] if found else (0, None, None)
    made = rows.fetch(f"SELECT id, routine_id, path, content, schedule, stale, workspace, source FROM {_JOB}", [])
    ours = [row for row in made if row[7].startswith("routine:")]
    told = rows.fetch(
        "SELECT id, path, workspace, state, code, reason, CASE WHEN state IN ('skipped', 'error') THEN document END"
        f" FROM {_ROUTINE}",
        [],
    )
    return Held(
        version=version,
        problems=None if reconciled_at is None else problems,
        jobs=[
            reconcile.Registered(
                job_id=row[0],
                routine_id=row[1],
                path=row[2],
                content=row[3],
                schedule=row[4],
                stale=bool(row[5]),
                workspace=row[6],
            )
            for row in ours
        ],
        routines={
            row[0]: Known(path=row[1], workspace=row[2], state=row[3], code=row[4], reason=row[5], document=row[6])
            for row in told
        },
        taken=frozenset(row[1] for row in made if not row[7].startswith("routine:")),
    )


def write(changes: Changes, version: int, now: int) -> bool:
    """Make changes, in the caller's transaction; False, and nothing done, where another has made some since.

    What a job owes by ``now`` under a schedule that changes is turned into runs first.
    """
    rows.execute(
        "INSERT INTO routines_registrar (id, version, problems) VALUES (1, 0, '[]') ON CONFLICT (id) DO NOTHING", []
    )
    if not rows.execute(
        "UPDATE routines_registrar SET version = version + 1, reconciled_at = %s, problems = COALESCE(%s, problems)"
        " WHERE id = 1 AND version = %s",
        [now, changes.problems, version],
    ):
        return False
    timed = [str(row[-1]) for row in changes.timed]
    touched = timed + changes.removed + [str(row[-1]) for row in (*changes.replaced, *changes.stale)]
    # In the order in which schedulers lock several at a time, so that neither waits for the other for ever.
    for ids in _parts(sorted(touched)):
        rows.fetch(f"SELECT id FROM {_JOB} WHERE id IN ({log.marks(ids)}) ORDER BY id{runs.lock()}", ids)
    for ids in _parts(timed):
        jobs.settle(ids, now)
    bulk.delete(_JOB, _ID, [(job,) for job in changes.removed])
    bulk.update(_JOB, _SAID, _ID, changes.replaced)
    bulk.update(_JOB, _SAID | _TIMED, _ID, changes.timed)
    bulk.update(_JOB, {"stale": _FLAG}, _ID, changes.stale)
    bulk.insert(_JOB, _SAID | _TIMED | _FRESH | _ID, changes.created)
    bulk.delete(_ROUTINE, _ID, [(routine,) for routine in changes.forgotten])
    bulk.update(_ROUTINE, _VERDICT, _ID, changes.judged)
    bulk.update(_ROUTINE, _VERDICT | _DECLARED, _ID, changes.retold)
    bulk.insert(_ROUTINE, _VERDICT | _DECLARED | _ID, changes.told)
    return True


def _parts(ids: Sequence[str]) -> list[list[str]]:
    """The ids by as many as one statement names."""
    waiting = iter(ids)
    return list(iter(lambda: list(islice(waiting, jobs.BATCH)), []))
