"""Runs a workflow: its steps one after the other or at once, within its limits, and what came of it.

It knows no tool: whoever runs it says how one is called.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from routines.domain import retry
from routines.domain.manifest import FailureClass
from routines.workflow import conditions, references
from routines.workflow.crew import MOST, Crew
from routines.workflow.references import Item, Missing, Scope
from routines.workflow.steps import END, BranchStep, MapStep, ParallelStep, Step, ToolStep, Workflow, ids
from schedules.sessions.lossless import Json

#: How long a tool that was told to end may still take, in seconds, before its step goes on without it.
GRACE_SECONDS = 5.0
# How often a step looks whether the run was cancelled while its tool works.
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool answered.

    ok: whether it did what it was asked.
    summary: one line for a person.
    value: what it gives to later steps.
    failure: how it failed; means nothing where ok.
    skipped: it found nothing that it could do now, on purpose.
    """

    ok: bool
    summary: str
    value: Json = None
    failure: FailureClass = "error"
    skipped: bool = False


class Tools(Protocol):
    """The tools that a run may call."""

    def seconds(self, name: str) -> float:
        """How long a call of the tool may take at most."""

    def call(self, name: str, inputs: dict[str, Json], seconds: float, cancelled: threading.Event) -> Answer:
        """Call a tool within so many seconds, and until the event is set. Called in a thread of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run.

    ok: whether it came to its end.
    words: why not, with the step that failed; empty where ok.
    value: the workflow's output.
    failure: how it failed; means nothing where ok.
    ran: how many steps were begun.
    skipped: how many of their tools found nothing to do.
    """

    ok: bool
    words: str = ""
    value: Json = None
    failure: FailureClass = "error"
    ran: int = 0
    skipped: int = 0


class Failed(Exception):
    """A step, or the run as a whole, failed."""

    def __init__(self, words: str, failure: FailureClass = "error") -> None:
        self.failure: FailureClass = failure
        super().__init__(words)

    def within(self, place: str) -> "Failed":
        """The same failure, with where it was."""
        return Failed(f"{place}: {self}", self.failure)


def run(
    workflow: Workflow, given: Mapping[str, Json], tools: Tools, *, seconds: float, cancelled: threading.Event
) -> Outcome:
    """Run a workflow with an input. Answers some seconds after its time is over, or it was cancelled, at the latest."""
    limit = _Limit(ends=time.monotonic() + seconds, words="the time for the workflow is over")
    running = _Run(workflow=workflow, tools=tools, cancelled=cancelled)
    scope = Scope(input=given)
    try:
        value = running.steps(workflow.steps, workflow.start, scope, limit.within(workflow.timeout_ms, "the workflow"))
        if workflow.result is not None:
            value = _result(workflow, scope)
    except Failed as problem:
        return Outcome(ok=False, words=str(problem), failure=problem.failure, ran=running.ran, skipped=running.skipped)
    return Outcome(ok=True, value=value, ran=running.ran, skipped=running.skipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """Until when something may take.

    ends: by the monotonic clock, in seconds.
    words: what to say when it is over.
    """

    ends: float
    words: str

    def within(self, timeout_ms: float | None, what: str) -> "_Limit":
        """The limit of what may take no longer than so many ms from now either."""
        if timeout_ms is None or (ends := time.monotonic() + timeout_ms / 1000) >= self.ends:
            return self
        return _Limit(ends=ends, words=f"{what} took longer than {timeout_ms:,.0f} ms")

    @property
    def left(self) -> float:
        return self.ends - time.monotonic()


@dataclass(slots=True, kw_only=True)
class _Run:
    workflow: Workflow
    tools: Tools
    cancelled: threading.Event
    ran: int = 0
    skipped: int = 0
    crew: Crew = field(default_factory=Crew)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def steps(self, steps: Sequence[Step], start: str, scope: Scope, limit: _Limit) -> Json:
        """Run a list of steps to its end; the value of the last that gave one. Raises Failed."""
        places = {step.id: index for index, step in enumerate(steps)}
        at: int | None = places[start]
        last: Json = None
        while at is not None:
            step = steps[at]
            self._begin(step, limit)
            if isinstance(step, BranchStep):
                following: str | None = _chosen(step, scope)
            else:
                last = scope.steps[step.id] = self._value(step, scope, limit)
                following = step.next
            if following is None:
                at = at + 1 if at + 1 < len(steps) else None
            else:
                at = None if following == END else places[following]
        return last

    def _begin(self, step: Step, limit: _Limit) -> None:
        if self.cancelled.is_set():
            raise Failed(f"step {step.id}: the run was cancelled before it")
        if limit.left <= 0:
            raise Failed(f"step {step.id}: {limit.words}", "timeout")
        with self.lock:
            if self.ran >= self.workflow.max_steps:
                raise Failed(f"step {step.id}: the run took {self.ran:,} steps already, which is max_steps")
            self.ran += 1

    def _value(self, step: ToolStep | ParallelStep | MapStep, scope: Scope, limit: _Limit) -> Json:
        try:
            if isinstance(step, ToolStep):
                return self._tool(step, scope, limit)
            limit = limit.within(step.timeout_ms, "it")
            if isinstance(step, ParallelStep):
                return self._parallel(step, scope, limit)
            return self._map(step, scope, limit)
        except Missing as problem:
            raise Failed(f"step {step.id}: {problem}") from None
        except Failed as problem:
            raise problem.within(f"step {step.id}") from None

    def _parallel(self, step: ParallelStep, scope: Scope, limit: _Limit) -> Json:
        scopes = [scope.inner() for _ in step.branches]
        jobs = [
            partial(self._inside, strand.steps, inner, limit, f"branch {strand.id}")
            for strand, inner in zip(step.branches, scopes, strict=True)
        ]
        values = _all(self.crew.work(jobs, at_once=MOST, until=lambda answer: False))
        for strand, inner in zip(step.branches, scopes, strict=True):
            scope.steps.update((name, inner.steps[name]) for name in ids(strand.steps) & inner.steps.keys())
        return {strand.id: value for strand, value in zip(step.branches, values, strict=True)}

    def _map(self, step: MapStep, scope: Scope, limit: _Limit) -> Json:
        items = references.value_of(step.over, scope)
        if not isinstance(items, list):
            raise Missing(f"{step.over.text} is no list; map runs over lists alone.")
        if len(items) > self.workflow.max_steps - self.ran:
            raise Failed(f"{len(items):,} items take more steps than max_steps leaves ({self.workflow.max_steps:,})")
        jobs = [
            partial(self._inside, step.steps, scope.inner(Item(value=item, index=index)), limit, f"item {index}")
            for index, item in enumerate(items)
        ]
        at_once = min(step.parallelism or MOST, MOST)
        return _all(self.crew.work(jobs, at_once=at_once, until=lambda answer: isinstance(answer, Failed)))

    def _inside(self, steps: Sequence[Step], scope: Scope, limit: _Limit, place: str) -> "_Value | Failed":
        try:
            return _Value(self.steps(steps, steps[0].id, scope, limit))
        except Failed as problem:
            return problem.within(place)

    def _tool(self, step: ToolStep, scope: Scope, limit: _Limit) -> Json:
        attempt = 1
        while True:
            inputs = references.fill(step.inputs, scope)
            attempt_limit = limit.within(step.timeout_ms, "it").within(self.tools.seconds(step.tool) * 1000, step.tool)
            answer = self._call(step.tool, inputs if isinstance(inputs, dict) else {}, attempt_limit)
            if answer is not None and answer.ok:
                with self.lock:
                    self.skipped += answer.skipped
                return answer.value
            if self.cancelled.is_set():
                raise Failed("the run was cancelled")
            over = attempt_limit.left <= 0
            failed = Failed(attempt_limit.words, "timeout") if over or answer is None else _failure(answer)
            pause = retry.wait(step.retry, attempt) / 1000
            # A tool that did not end when told to may still be at work: it is not started once more beside itself.
            if answer is None or attempt >= step.retry.max_attempts or limit.left <= pause:
                raise failed
            if self.cancelled.wait(pause):
                raise Failed("the run was cancelled")
            attempt += 1

    def _call(self, tool: str, inputs: dict[str, Json], limit: _Limit) -> Answer | None:
        """A tool's answer; None where it had to be left behind, still at work."""
        answers: list[Answer] = []
        ended, stop = threading.Event(), threading.Event()

        def work() -> None:
            try:
                answers.append(self.tools.call(tool, inputs, max(limit.left, 0.001), stop))
            finally:
                ended.set()

        # A daemon: a tool that hangs for good must not hold up the end of the process as well.
        threading.Thread(target=work, name=threading.current_thread().name, daemon=True).start()
        while not ended.wait(max(0.0, min(limit.left, _LOOK_SECONDS))) and limit.left > 0:
            if self.cancelled.is_set():
                break
        stop.set()
        if not ended.wait(GRACE_SECONDS):
            return None
        return answers[0] if answers else Answer(ok=False, summary=f"{tool} gave no answer")


@dataclass(frozen=True, slots=True)
class _Value:
    value: Json


def _chosen(step: BranchStep, scope: Scope) -> str:
    """The step that a branch goes on with. Raises Failed."""
    try:
        return next((choice.next for choice in step.branches if conditions.holds(choice.when, scope)), step.default)
    except Missing as problem:
        raise Failed(f"step {step.id}: {problem}") from None


def _result(workflow: Workflow, scope: Scope) -> Json:
    try:
        return references.fill(workflow.result, scope)
    except Missing as problem:
        raise Failed(f"result: {problem}") from None


def _failure(answer: Answer) -> Failed:
    return Failed(answer.summary or "it failed", answer.failure)


def _all(answers: "Sequence[_Value | Failed | None]") -> list[Json]:
    """The values of what ended well. Raises the first failure, in the order of the text."""
    for answer in answers:
        if isinstance(answer, Failed):
            raise answer
    return [answer.value for answer in answers if isinstance(answer, _Value)]
