"""A WORKFLOW.md is a workflow that runs here, or is refused with all that stands against it."""

import json
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from routines.domain import errors
from routines.workflow import parse, steps
from routines.workflow.steps import BranchStep, MapStep, ParallelStep, ToolStep
from tests.routines.workflow import texts
from tests.routines.workflow.texts import ALL_KINDS, faults, text, tool_step, workflow


def refused(listed: str, *more: str) -> list[tuple[str | None, str]]:
    return [(field, words) for field, _, words in faults(text(listed, *more))]


def test_every_kind_of_step_that_runs_here_is_read() -> None:
    made = workflow(ALL_KINDS, "start: choose", "result: {of: $steps.build.of}", "max_steps: 7", "timeout_ms: 900")
    assert [type(step) for step in made.steps] == [ToolStep, BranchStep, ParallelStep, MapStep]
    assert (made.id, made.version, made.start, made.max_steps, made.timeout_ms) == (
        "a-workflow",
        "1.0.0",
        "choose",
        7,
        900,
    )
    assert [step.id for step in steps.tool_steps(made.steps)] == ["build", "left-one", "right-one", "item-one"]


def test_what_is_left_out_has_its_default() -> None:
    made = workflow(tool_step("one"))
    assert (made.start, made.timeout_ms, made.max_steps, made.result) == ("one", 600_000, 1_000, None)
    (step,) = made.steps
    assert isinstance(step, ToolStep)
    assert (step.next, step.timeout_ms, step.retry.max_attempts) == (None, None, 1)


def test_a_step_is_tried_as_often_as_it_says_or_else_as_the_workflow_says() -> None:
    own = "{max_attempts: 2, backoff: fixed, initial_ms: 5}"
    made = workflow(tool_step("own", retry=own) + tool_step("other"), "retry: {max_attempts: 20, backoff: exponential}")
    retries = [step.retry for step in steps.tool_steps(made.steps)]
    assert [(retry.max_attempts, retry.backoff, retry.initial_ms) for retry in retries] == [
        (2, "fixed", 5),
        (20, "exponential", 1_000),
    ]


@pytest.mark.parametrize("kind", ["suspend", "approval", "loop", "subworkflow"])
def test_kinds_of_steps_that_do_not_run_here_say_what_to_do(kind: str) -> None:
    ((field, words),) = refused(f"- id: one\n  kind: {kind}\n")
    assert field == "steps.0.kind"
    assert f"Steps of the kind {kind} do not run here. " in words


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("entry", "entry: workflow.ts"),
        ("runtime", "runtime: {mode: sandbox}"),
        ("inputsFiles", "inputsFiles: {a: {path: b}}"),
        ("outputsFiles", "outputsFiles: {a: {path: b}}"),
        ("suspendable", "suspendable: true"),
        ("approval", "approval: per-step"),
        ("triggers.0", "triggers: [{kind: schedule, cron: '* * * * *'}]"),
        ("start", "start: nowhere"),
        ("start", "start: inner"),
        ("result", "result: [1]"),
        ("result.a", "result: {a: $steps.nowhere}"),
        ("result", "result: $steps.inner"),
        ("result", "result: $item"),
        ("timeout_ms", "timeout_ms: 0"),
        ("timeout_ms", "timeout_ms: 86400001"),
        ("max_steps", "max_steps: 10001"),
        ("retry.max_attempts", "retry: {max_attempts: 21, backoff: fixed}"),
        ("retry.backoff", "retry: {max_attempts: 2, backoff: linear}"),
        ("requires.shell", "requires: {shell: [x]}"),
        ("cost_class", "cost_class: free"),
        ("tags.0", "tags: [A]"),
        ("unheard", "unheard: of"),
    ],
)
def test_each_field_of_the_file_that_cannot_be_followed_is_named(field: str, line: str) -> None:
    listed = "- id: each\n  kind: map\n  over: $input.a\n  steps:\n    - {id: inner, kind: tool, tool: echo}\n"
    assert [name for name, _ in refused(listed, line)] == [field]


def test_fields_that_ask_nothing_of_a_run_are_taken() -> None:
    workflow(
        tool_step("one", name="One", description="Does it.", outputs="{type: object}", approval="auto", risk_level="3"),
        "approval: auto", "triggers: [{kind: manual}]", "requires: {tools: [echo], env: [HOME]}", "risk_level: 1",
        "cost_class: trivial", "tags: [a-b]", "metadata: {any: thing}", "suspendable: false",
    )  # fmt: skip


IN = "{id: in, kind: tool, tool: echo}"


@pytest.mark.parametrize(
    ("field", "listed"),
    [
        ("steps.0.id", "- {kind: tool, tool: echo}"),
        ("steps.0.id", "- {id: A, kind: tool, tool: echo}"),
        ("steps.0.kind", "- {id: one}"),
        ("steps.0.kind", "- {id: one, kind: toll}"),
        ("steps.0.tool", "- {id: one, kind: tool}"),
        ("steps.0.tool", "- {id: one, kind: tool, tool: {entry: a.ts#b}}"),
        ("steps.0.inputs", "- {id: one, kind: tool, tool: echo, inputs: [1]}"),
        ("steps.0.inputs.a.0", "- {id: one, kind: tool, tool: echo, inputs: {a: [$steps.two]}}"),
        ("steps.0.inputs.a", "- {id: one, kind: tool, tool: echo, inputs: {a: $inputs.b}}"),
        ("steps.0.inputs.a", "- {id: one, kind: tool, tool: echo, inputs: {a: $item}}"),
        ("steps.0.next", "- {id: one, kind: tool, tool: echo, next: two}"),
        ("steps.0.approval", "- {id: one, kind: tool, tool: echo, approval: always}"),
        ("steps.0.compensation", "- {id: one, kind: tool, tool: echo, compensation: one}"),
        ("steps.0.outputs", "- {id: one, kind: tool, tool: echo, outputs: {type: 5}}"),
        ("steps.0.when", "- {id: one, kind: tool, tool: echo, when: true}"),
        ("steps.0.retry", f"- {{id: one, kind: map, over: $input.a, steps: [{IN}], retry: {{}}}}"),
        ("steps.1.id", "- {id: one, kind: tool, tool: echo}\n- {id: one, kind: tool, tool: echo}"),
        ("steps.0.branches.0.when", "- {id: one, kind: branch, branches: [{when: x > 1, next: $end}]}"),
        ("steps.0.branches.0.when", "- {id: one, kind: branch, branches: [{when: $steps.two, next: $end}]}"),
        ("steps.0.branches.0.next", "- {id: one, kind: branch, branches: [{when: true, next: two}]}"),
        ("steps.0.default", "- {id: one, kind: branch, branches: [{when: true, next: $end}], default: two}"),
        ("steps.0.next", "- {id: one, kind: branch, branches: [{when: true, next: $end}], next: $end}"),
        ("steps.0.branches", "- {id: one, kind: branch, branches: []}"),
        ("steps.0.branches", f"- {{id: one, kind: parallel, branches: [{{id: a, steps: [{IN}]}}]}}"),
        ("steps.0.over", f"- {{id: one, kind: map, over: all, steps: [{IN}]}}"),
        ("steps.0.over", f"- {{id: one, kind: map, over: $item, steps: [{IN}]}}"),
        ("steps.0.steps", "- {id: one, kind: map, over: $input.a, steps: []}"),
        ("steps.0.steps.0.next", f"- {{id: one, kind: map, over: $input.a, steps: [{IN[:-1]}, next: one}}]}}"),
        ("steps", "[]"),
        ("steps.0", "- one"),
    ],
)  # fmt: skip
def test_each_fault_of_a_step_is_found_before_anything_runs(field: str, listed: str) -> None:
    assert field in [name for name, _ in refused(listed)]


TWO_BRANCHES = """\
- id: both
  kind: parallel
  branches:
    - {{id: a, steps: [{{id: in-a, kind: tool, tool: echo}}]{more}}}
    - {{id: {name}, steps: [{{id: in-b, kind: tool, tool: echo, inputs: {{of: {of}}}}}]}}
"""


def test_branches_have_ids_of_their_own_join_and_do_not_see_each_other() -> None:
    assert refused(TWO_BRANCHES.format(name="b", of="$steps.in-b", more="")) == []
    assert [field for field, _ in refused(TWO_BRANCHES.format(name="a", of="x", more=""))] == ["steps.0.branches.1.id"]
    assert [field for field, _ in refused(TWO_BRANCHES.format(name="b", of="$steps.in-a", more=""))] == [
        "steps.0.branches.1.steps.0.inputs.of"
    ]
    assert [field for field, _ in refused(TWO_BRANCHES.format(name="b", of="x", more=", next: $end"))] == [
        "steps.0.branches.0.next"
    ]


def test_all_faults_are_told_at_once_each_with_its_line() -> None:
    listed = tool_step("one", next="two") + tool_step("one") + "- {id: three, kind: loop}\n"
    found = faults(text(listed, "max_steps: 0", "entry: x.ts"))
    assert [(field, line) for field, line, _ in found] == [
        ("steps.0.next", 12),
        ("steps.1.id", 13),
        ("steps.2.kind", 16),
        ("max_steps", 18),
        ("entry", 19),
    ]


@pytest.mark.parametrize("name", ["name", "id", "description", "version", "inputs", "outputs", "steps"])
def test_a_missing_field_is_named_and_the_file_is_called_a_workflow(name: str) -> None:
    lines = text("- {id: one, kind: tool, tool: echo}").split("\n")
    if name == "steps":
        lines = [line for line in lines if not line.startswith("  - {")]
    written = "\n".join(line for line in lines if not line.startswith(f"{name}:"))
    assert (name, f"a workflow must have {name}; add it.") in [(field, words) for field, _, words in faults(written)]


def test_steps_inside_each_other_have_a_bound() -> None:
    def nested(depth: int) -> str:
        if not depth:
            return "[{id: last, kind: tool, tool: echo}]"
        return f"[{{id: map-{depth}, kind: map, over: $input.a, steps: {nested(depth - 1)}}}]"

    assert refused(nested(5)) == []
    assert [words for _, words in refused(nested(6))] == ["Steps are nested over 5 deep; write them flatter."]


@pytest.mark.parametrize("schema", ["{type: 5}", "{properties: []}", "{pattern: '('}", "7"])
def test_inputs_and_outputs_are_json_schemas(schema: str) -> None:
    for name in ("inputs", "outputs"):
        written = text(tool_step("one")).replace(f"{name}: {{type: object}}", f"{name}: {schema}")
        assert [field for field, _, _ in faults(written)] == [name]


FRAGMENTS = st.sampled_from(
    [
        *ALL_KINDS.split("\n"), "- ", "  ", "{", "}", "[", "]", ":", "\n", "$", "$steps", "$item", "kind: map",
        "kind: loop", "null", "1e999", "next: ", "id: ", "branches: ", "steps: ", "&a", "\x00", "\ud800", "when: ",
    ]
)  # fmt: skip
GOOD = text(ALL_KINDS)
NAMES = st.sampled_from(
    ["id", "kind", "tool", "steps", "branches", "next", "when", "default", "over", "inputs", "retry"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | FRAGMENTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)


def is_workflow(written: str) -> bool:
    """Whether it is one; else it has faults."""
    try:
        parse.parse_workflow(written)
    except errors.Invalid as invalid:
        return not any(fault.message for fault in invalid.faults)
    return True


@given(
    st.text(max_size=100)
    | st.lists(FRAGMENTS, max_size=12).map("".join)
    | st.lists(FRAGMENTS, max_size=12).map(lambda parts: text("\n".join(parts)))
    | st.tuples(st.integers(0, len(GOOD)), st.integers(0, 30), st.lists(FRAGMENTS, max_size=3).map("".join)).map(
        lambda cut: GOOD[: cut[0]] + cut[2] + GOOD[cut[0] + cut[1] :]
    )
)
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_workflow_or_has_faults(written: str) -> None:
    event("good" if is_workflow(written) else "refused")


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_any_steps_are_a_workflow_or_have_faults(value: Any) -> None:
    assert not is_workflow(texts.HEAD + "steps: " + json.dumps(value) + "\n---\n")
