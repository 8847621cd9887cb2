"""Parallel and map steps: at once, joined, in order, bounded, and failing as a whole."""

import itertools
import threading
from typing import Any

import pytest

from routines.workflow import crew
from routines.workflow.run import Answer
from tests.routines.workflow.texts import Tools, execute, refuses, tool_step, workflow


def parallel(**tools: str) -> str:
    branches = "".join(
        f"    - {{id: {name}, steps: [{{id: in-{name}, kind: tool, tool: {tool}, inputs: {{of: {name}}}}}]}}\n"
        for name, tool in tools.items()
    )
    return f"- id: both\n  kind: parallel\n  branches:\n{branches}"


def mapped(tool: str = "echo", parallelism: int = 0, inputs: str = "{}") -> str:
    return (
        f"- id: each\n  kind: map\n  over: $input.list\n  parallelism: {parallelism}\n"
        f"  steps: [{{id: one, kind: tool, tool: {tool}, inputs: {inputs}}}]\n"
    )


def meeting(count: int) -> Any:
    """A tool that ends only when so many of it are at work at once."""
    barrier = threading.Barrier(count, timeout=30)
    return lambda inputs, cancelled: barrier.wait() >= 0


def test_branches_run_at_once_and_join_into_one_value() -> None:
    outcome = execute(workflow(parallel(a="meet", b="meet", c="echo")), Tools({"meet": meeting(2)}))
    assert outcome.value == {"a": True, "b": True, "c": {"of": "c"}}


def test_what_branches_did_is_seen_after_they_joined() -> None:
    made = workflow(parallel(a="echo", b="echo") + tool_step("last", inputs="{a: $steps.in-a.of, both: $steps.both}"))
    assert execute(made, Tools()).value == {"a": "a", "both": {"a": {"of": "a"}, "b": {"of": "b"}}}


def test_a_failing_branch_fails_the_step_after_the_others_have_ended() -> None:
    ended = threading.Event()

    def late(inputs: dict[str, Any], cancelled: threading.Event) -> str:
        ended.set()
        return "late"

    tools = Tools({"bad": refuses("No.", "5xx"), "late": late})
    outcome = execute(workflow(parallel(a="bad", b="late", c="bad") + tool_step("next")), tools)
    assert (outcome.ok, outcome.words, outcome.failure) == (False, "step both: branch a: step in-a: No.", "5xx")
    assert ended.is_set()
    assert sorted(tools.names) == ["bad", "bad", "late"]


def test_a_second_round_of_branches_replaces_what_the_first_gave() -> None:
    rounds = itertools.count(1)
    tools = Tools({"count": lambda inputs, cancelled: next(rounds)})
    listed = parallel(a="count", b="echo") + (
        "- {id: again, kind: branch, branches: [{when: $steps.in-a < 3, next: both}]}\n"
    )
    assert execute(workflow(listed, "result: $steps.in-a"), tools).value == 3


@pytest.mark.parametrize("parallelism", [0, 1, 3, 50])
def test_a_map_gives_the_values_in_the_order_of_its_list(parallelism: int) -> None:
    made = workflow(mapped(parallelism=parallelism, inputs="{item: $item, at: $index}"))
    outcome = execute(made, Tools(), {"list": list("abcdefghijklmnopqrst")})
    assert outcome.value == [{"item": letter, "at": index} for index, letter in enumerate("abcdefghijklmnopqrst")]
    assert outcome.ran == 21


def test_a_map_of_nothing_is_an_empty_list() -> None:
    assert execute(workflow(mapped()), Tools(), {"list": []}).value == []


@pytest.mark.parametrize("value", [None, "text", {"a": 1}, 3])
def test_a_map_over_what_is_no_list_fails_by_name(value: Any) -> None:
    outcome = execute(workflow(mapped()), Tools(), {"list": value})
    assert outcome.words == "step each: $input.list is no list; map runs over lists alone."


def test_a_map_begins_no_more_items_after_one_failed() -> None:
    tools = Tools({"bad": refuses("No.")})
    outcome = execute(workflow(mapped("bad", parallelism=1)), tools, {"list": [1, 2, 3]})
    assert (outcome.words, tools.names) == ("step each: item 0: step one: No.", ["bad"])


def test_a_map_of_more_items_than_max_steps_leaves_runs_none() -> None:
    outcome = execute(workflow(mapped(), "max_steps: 10"), tools := Tools(), {"list": [0] * 11})
    assert not outcome.ok
    assert "max_steps" in outcome.words
    assert tools.names == []


class Gauge:
    """How many calls of a tool were at work at once at most, and how many threads there were."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = self.threads = 0

    def tool(self, inputs: dict[str, Any], cancelled: threading.Event) -> Answer:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.threads = max(self.threads, threading.active_count())
        cancelled.wait(0.001)
        with self.lock:
            self.now -= 1
        return Answer(ok=True, summary="")


@pytest.mark.parametrize(("parallelism", "most"), [(1, 1), (3, 3), (0, crew.MOST), (500, crew.MOST)])
def test_no_more_items_than_may_be_are_at_work_at_once(parallelism: int, most: int) -> None:
    gauge = Gauge()
    assert execute(workflow(mapped("gauge", parallelism)), Tools({"gauge": gauge.tool}), {"list": [0] * 60}).ok
    assert gauge.most <= most


def test_as_many_items_as_may_be_are_at_work_at_once() -> None:
    made = workflow(mapped("meet", parallelism=0))
    assert execute(made, Tools({"meet": meeting(crew.MOST)}), {"list": [0] * crew.MOST}).ok


def test_maps_inside_of_maps_share_one_crew_and_never_wait_for_a_thread() -> None:
    listed = """\
    - id: outer
      kind: map
      over: $input.list
      parallelism: 0
      steps:
        - id: middle
          kind: map
          over: $item
          parallelism: 0
          steps:
            - id: inner
              kind: map
              over: $item
              parallelism: 0
              steps: [{id: one, kind: tool, tool: gauge}]
    """
    gauge = Gauge()
    tools = Tools({"gauge": gauge.tool})
    before = threading.active_count()
    outcome = execute(workflow(listed), tools, {"list": [[[0] * 5] * 5] * 5})
    assert (outcome.ok, len(tools.called)) == (True, 125)
    assert gauge.most <= crew.MOST
    # A helper and a tool's thread for each that works at once.
    assert gauge.threads <= before + 2 * crew.MOST


def test_items_do_not_see_what_the_steps_of_others_gave() -> None:
    listed = """\
    - id: each
      kind: map
      over: $input.list
      parallelism: 4
      steps:
        - {id: first, kind: tool, tool: echo, inputs: {item: $item}}
        - {id: second, kind: tool, tool: echo, inputs: {seen: $steps.first.item, outer: $input.list.0}}
    """
    outcome = execute(workflow(listed), Tools(), {"list": list(range(30))})
    assert outcome.value == [{"seen": n, "outer": 0} for n in range(30)]


def test_what_a_job_raises_is_raised_once_all_have_ended() -> None:
    with pytest.raises(ZeroDivisionError):
        crew.Crew().work([lambda: 1, lambda: 1 // 0, lambda: 2], at_once=2, until=lambda answer: False)
