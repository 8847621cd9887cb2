"""Running a workflow: the order of its steps, what they hand on, how they fail, and where they end."""

import itertools
import threading
from typing import Any

import pytest

from routines.workflow import run
from routines.workflow.run import Answer
from tests.routines.workflow.texts import Tools, execute, refuses, tool_step, workflow


def test_steps_run_in_the_order_of_the_list_and_the_last_value_is_the_output() -> None:
    tools = Tools()
    outcome = execute(workflow(tool_step("one", inputs="{n: 1}") + tool_step("two", inputs="{n: $steps.one.n}")), tools)
    assert (outcome.ok, outcome.value, outcome.ran) == (True, {"n": 1}, 2)


def test_start_and_next_lead_elsewhere_and_end_ends() -> None:
    tools = Tools({name: lambda inputs, cancelled: None for name in ("a", "b", "c")})
    made = workflow(
        tool_step("one", "a", next="$end") + tool_step("two", "b") + tool_step("three", "c", next="one"), "start: two"
    )
    assert execute(made, tools).ok
    assert tools.names == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ("{deep: [$steps.one.n], text: n is $steps.one.n}", {"deep": [3], "text": "n is $steps.one.n"}),
        ("$steps.one", {"n": 3}),
        ("all done", "all done"),
    ],
)
def test_result_makes_the_output(result: str, value: Any) -> None:
    made = workflow(tool_step("one", inputs="{n: $input.n}") + tool_step("two"), f"result: {result}")
    assert execute(made, Tools(), {"n": 3}).value == value


def test_a_result_that_is_not_there_fails_the_run() -> None:
    outcome = execute(workflow(tool_step("one"), "result: {a: $steps.one.a}"), Tools())
    assert (outcome.ok, outcome.words) == (False, "result: $steps.one.a is not there: nothing has the name a.")


BRANCH = """\
- id: choose
  kind: branch
  branches:
    - {when: $input.n < 0, next: below}
    - {when: $input.n == 0, next: zero}
  default: above
""" + "".join(tool_step(name, name, next="$end") for name in ("below", "zero", "above"))


@pytest.mark.parametrize(("n", "name"), [(-1, "below"), (0, "zero"), (5, "above")])
def test_a_branch_goes_on_with_the_first_choice_that_holds(n: int, name: str) -> None:
    tools = Tools({step: lambda inputs, cancelled: None for step in ("below", "zero", "above")})
    assert execute(workflow(BRANCH), tools, {"n": n}).ok
    assert tools.names == [name]


def test_a_branch_without_a_default_ends_where_nothing_holds() -> None:
    listed = "- {id: ask, kind: branch, branches: [{when: false, next: one}]}\n" + tool_step("one")
    outcome = execute(workflow(listed), tools := Tools())
    assert (outcome.ok, outcome.value, tools.names) == (True, None, [])


def test_what_cannot_be_compared_fails_the_step_by_name() -> None:
    outcome = execute(workflow(BRANCH), Tools(), {"n": "many"})
    assert not outcome.ok
    assert outcome.words.startswith("step choose: $input.n < 0 cannot be told")


def test_a_reference_that_leads_nowhere_fails_the_step_before_its_tool_is_called() -> None:
    tools = Tools()
    outcome = execute(workflow(tool_step("one") + tool_step("two", inputs="{a: $steps.one.b}")), tools)
    assert outcome.words == "step two: $steps.one.b is not there: nothing has the name b."
    assert tools.names == ["echo"]


def test_a_step_that_fails_ends_the_run_and_passes_its_class_on() -> None:
    tools = Tools({"bad": refuses("The forge is busy.", "rate-limit")})
    outcome = execute(workflow(tool_step("one", "bad") + tool_step("two")), tools)
    assert (outcome.ok, outcome.words, outcome.failure) == (False, "step one: The forge is busy.", "rate-limit")
    assert tools.names == ["bad"]


def test_a_tool_with_nothing_to_do_is_counted_and_no_failure() -> None:
    tools = Tools({"busy": lambda inputs, cancelled: Answer(ok=True, summary="Busy.", skipped=True)})
    outcome = execute(workflow(tool_step("one", "busy") + tool_step("two")), tools)
    assert (outcome.ok, outcome.ran, outcome.skipped) == (True, 2, 1)


def test_a_loop_by_next_runs_until_its_condition_holds() -> None:
    counter = itertools.count(1)
    tools = Tools({"count": lambda inputs, cancelled: next(counter)})
    listed = tool_step("count", "count") + (
        "- {id: again, kind: branch, branches: [{when: $steps.count < 4, next: count}]}\n"
    )
    outcome = execute(workflow(listed), tools)
    assert (outcome.ok, len(tools.called), outcome.ran) == (True, 4, 8)


def test_a_loop_without_end_is_ended_by_max_steps() -> None:
    outcome = execute(workflow(tool_step("one", next="one"), "max_steps: 25"), tools := Tools())
    assert (outcome.ok, len(tools.called)) == (False, 25)
    assert outcome.words == "step one: the run took 25 steps already, which is max_steps"
    spinning = "- {id: spin, kind: branch, branches: [{when: true, next: spin}]}"
    assert execute(workflow(spinning), Tools()).ran == 1_000


def counting(fail_until: int, failure: Any = "error") -> tuple[list[int], Any]:
    tries: list[int] = []

    def tool(inputs: dict[str, Any], cancelled: threading.Event) -> Answer:
        tries.append(1)
        return Answer(ok=len(tries) > fail_until, summary="Not yet.", value=len(tries), failure=failure)

    return tries, tool


def test_a_step_is_tried_again_as_often_as_it_may_be() -> None:
    retry = "{max_attempts: 3, backoff: exponential, initial_ms: 0}"
    tries, tool = counting(2)
    assert execute(workflow(tool_step("one", "flaky", retry=retry)), Tools({"flaky": tool})).value == 3
    tries, tool = counting(3, "5xx")
    outcome = execute(workflow(tool_step("one", "flaky", retry=retry)), Tools({"flaky": tool}))
    assert (outcome.ok, outcome.failure, len(tries), outcome.ran) == (False, "5xx", 3, 1)


def test_a_wait_that_ends_after_the_run_is_not_begun() -> None:
    tries, tool = counting(1)
    retry = "{max_attempts: 2, backoff: fixed, initial_ms: 3600000}"
    outcome = execute(workflow(tool_step("one", "flaky", retry=retry)), Tools({"flaky": tool}))
    assert (outcome.ok, outcome.words, len(tries)) == (False, "step one: Not yet.", 1)


def waits(inputs: dict[str, Any], cancelled: threading.Event) -> Answer:
    """A tool that works until it is told to end."""
    assert cancelled.wait(60)
    return Answer(ok=False, summary="It was told to end.")


@pytest.mark.parametrize(
    ("listed", "more", "words"),
    [
        (tool_step("one", "waits", timeout_ms="1"), "", "step one: it took longer than 1 ms"),
        (tool_step("one", "waits"), "timeout_ms: 1", "step one: the workflow took longer than 1 ms"),
        (
            "- {id: each, kind: map, over: $input.list, timeout_ms: 1, steps: [{id: one, kind: tool, tool: waits}]}\n",
            "",
            "step each: item 0: step one: it took longer than 1 ms",
        ),
    ],
)
def test_each_limit_ends_the_tool_and_is_a_timeout(listed: str, more: str, words: str) -> None:
    outcome = execute(workflow(listed, more), Tools({"waits": waits}), {"list": [1, 2]})
    assert (outcome.ok, outcome.words, outcome.failure) == (False, words, "timeout")


def test_a_run_takes_no_longer_than_it_is_given_and_a_tool_no_longer_than_its_own_limit() -> None:
    made = workflow(tool_step("one", "waits"))
    outcome = execute(made, Tools({"waits": waits}), seconds=0.001)
    assert (outcome.words, outcome.failure) == ("step one: the time for the workflow is over", "timeout")
    outcome = execute(made, Tools({"waits": waits}, most_seconds=0.001))
    assert (outcome.words, outcome.failure) == ("step one: waits took longer than 1 ms", "timeout")


def test_each_attempt_has_the_time_of_the_step_anew() -> None:
    tries: list[int] = []

    def slow_once(inputs: dict[str, Any], cancelled: threading.Event) -> Answer:
        tries.append(1)
        return waits(inputs, cancelled) if len(tries) == 1 else Answer(ok=True, summary="", value="done")

    retry = "{max_attempts: 2, backoff: fixed, initial_ms: 0}"
    made = workflow(tool_step("one", "slow", retry=retry, timeout_ms="200"))
    assert execute(made, Tools({"slow": slow_once})).value == "done"


def test_a_tool_that_does_not_end_is_left_behind_and_not_started_beside_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "GRACE_SECONDS", 0.01)
    let_go = threading.Event()
    tools = Tools({"deaf": lambda inputs, cancelled: let_go.wait(60)})
    retry = "{max_attempts: 5, backoff: fixed, initial_ms: 0}"
    try:
        outcome = execute(workflow(tool_step("one", "deaf", retry=retry, timeout_ms="1")), tools)
    finally:
        let_go.set()
    assert (outcome.ok, outcome.failure, tools.names) == (False, "timeout", ["deaf"])


def test_a_cancelled_run_ends_its_tool_and_begins_no_more() -> None:
    cancelled = threading.Event()

    def cancels(inputs: dict[str, Any], stop: threading.Event) -> Answer:
        cancelled.set()
        return waits(inputs, stop)

    tools = Tools({"cancels": cancels})
    retry = "{max_attempts: 5, backoff: fixed, initial_ms: 0}"
    outcome = execute(workflow(tool_step("one", "cancels", retry=retry) + tool_step("two")), tools, cancelled=cancelled)
    assert (outcome.ok, outcome.words, tools.names) == (False, "step one: the run was cancelled", ["cancels"])
    outcome = execute(workflow(tool_step("one")), tools, cancelled=cancelled)
    assert outcome.words == "step one: the run was cancelled before it"
