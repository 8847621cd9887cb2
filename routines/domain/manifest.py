"""What a ROUTINE.md says, as frozen values: the routine, its five kinds of schedule, its four kinds of target.

Field names are the manifest's own; AIP-41 and the contract (3.1) say what they mean. `parse` makes these and checks
them first, so whoever holds one need not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from routines.domain.jsonvalues import Frozen

Catchup = Literal["skip", "one", "all"]
Backoff = Literal["exponential", "linear", "fixed"]
FailureClass = Literal["timeout", "5xx", "rate-limit", "error"]
WorkflowForm = Literal["path", "file", "ref", "inline"]

CATCHUPS: tuple[Catchup, ...] = get_args(Catchup)
BACKOFFS: tuple[Backoff, ...] = get_args(Backoff)
FAILURE_CLASSES: tuple[FailureClass, ...] = get_args(FailureClass)

SCHEMA = "routine/v1"
STANDARD_EVENTS = ("routine-triggered", "routine-completed", "routine-failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class CronSchedule:
    """Fires when a clock on the wall of its zone matches five fields.

    cron: the expression.
    timezone: the canonical name of the zone.
    jitter_seconds: the window over which firings are spread, 0 to 3600 seconds.
    catchup: which of the slots missed while nothing ran are made up for.
    """

    cron: str
    timezone: str = "UTC"
    jitter_seconds: int = 0
    catchup: Catchup = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalSchedule:
    """Fires at a fixed distance of elapsed time.

    every: the distance, `N` with `s`, `m`, `h` or `d`.
    start: the instant to count from, in ms since the epoch (`from` in the manifest); None is the registration.
    jitter_seconds: the window over which firings are spread, 0 to 3600 seconds.
    """

    every: str
    start: int | None = None
    jitter_seconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarSchedule:
    """Fires by a recurrence rule of RFC 5545.

    rrule: the rule, with or without DTSTART.
    timezone: the canonical name of the zone whose clock the rule speaks of.
    """

    rrule: str
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualSchedule:
    """Fires only when somebody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSchedule:
    """Fires when an event is emitted.

    on: the event's name or its alias, as written.
    filter: the pairs that the event's payload must hold, all of them.
    """

    on: str
    filter: Mapping[str, Frozen]


Schedule: TypeAlias = CronSchedule | IntervalSchedule | CalendarSchedule | ManualSchedule | EventSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTarget:
    """Calls a tool.

    tool: its name in the registry.
    inputs: its arguments; strings may hold placeholders.
    """

    tool: str
    inputs: Mapping[str, Frozen]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTarget:
    """Starts an agent.

    adapter: the adapter's name in the settings.
    prompt: what the agent is told; may hold placeholders.
    options: every other argument of `agent_start` (`model`, `cwd`, ...); strings may hold placeholders.
    """

    adapter: str
    prompt: str
    options: Mapping[str, Frozen]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowTarget:
    """Runs an AIP-15 workflow.

    form: how it is named: `path` is a bare string, the others are the keys of AIP-27's reference.
    workflow: the path or reference; an object for `inline`.
    inputs: the workflow's input; strings may hold placeholders.
    """

    form: WorkflowForm
    workflow: str | Mapping[str, Frozen]
    inputs: Mapping[str, Frozen]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTarget:
    """Names an AIP-39 action.

    action: the reference.
    inputs: its arguments; strings may hold placeholders.
    """

    action: str
    inputs: Mapping[str, Frozen]


Target: TypeAlias = ToolTarget | AgentTarget | WorkflowTarget | ActionTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who fires a routine, or who is told of its failure (AIP-23).

    form: the string or the object, as written.
    """

    form: str | Mapping[str, Frozen]

    @property
    def name(self) -> str | None:
        """The string by which settings know it: the string form, or an object's `ref`."""
        ref = self.form if isinstance(self.form, str) else self.form.get("ref")
        return ref if isinstance(ref, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How a failed run is tried again.

    max_attempts: how often a run is tried in all, 1 to 10.
    backoff: how the waits grow.
    initial_ms: the first wait, in milliseconds.
    max_ms: the longest wait, in milliseconds.
    on: the classes of failure that are tried again; None is all.
    """

    max_attempts: int = 1
    backoff: Backoff = "exponential"
    initial_ms: int = 60_000
    max_ms: int = 3_600_000
    on: tuple[FailureClass, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnFailure:
    """What happens after the last attempt failed.

    notify: who is told.
    create_work_item: whether a work item is opened.
    fire_event: the name of an event to fire; None is none.
    """

    notify: tuple[Identity, ...] = ()
    create_work_item: bool = False
    fire_event: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """How many of the newest runs are kept.

    retain_runs: of all.
    retain_failed: of the failed ones.
    """

    retain_runs: int = 100
    retain_failed: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Routine:
    """A routine: when to fire what.

    id: its name, unique on the host.
    description: what it is for.
    version: the manifest's own version.
    schedule: when it fires.
    target: what it fires.
    identity: who fires it; None is the host's default.
    retry: how a failed run is tried again.
    on_failure: what happens after the last attempt failed.
    history: how many runs are kept.
    fires_events: the names of the events that it fires.
    enabled: whether its schedule counts.
    tags: words to find it by.
    metadata: whatever its author keeps with it.
    """

    id: str
    description: str
    version: str
    schedule: Schedule
    target: Target
    identity: Identity | None
    retry: Retry
    on_failure: OnFailure
    history: History
    fires_events: tuple[str, ...]
    enabled: bool
    tags: tuple[str, ...]
    metadata: Mapping[str, Frozen]
