"""From what the files declare and what is registered to a plan."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines.domain import dispatchable, errors, manifest, parse, reconcile
from tests.routines.domain import texts

BROKEN = errors.Fault(code="routine_invalid", message="half-written")


def routine(routine_id: str = "aa", **changes: Any) -> manifest.Routine:
    return parse.define_routine(**texts.good(id=routine_id, **changes))


def declared(path: str, declares: manifest.Routine | None) -> reconcile.Declared:
    return reconcile.Declared(path=path, routine=declares, faults=() if declares else (BROKEN,))


def job(path: str, declares: manifest.Routine, job_id: str = "job-1", stale: bool = False) -> reconcile.Registered:
    return reconcile.Registered(
        job_id=job_id,
        routine_id=declares.id,
        path=path,
        content=reconcile.content(declares),
        schedule=reconcile.schedule_content(declares.schedule),
        stale=stale,
    )


def plan(
    files: Iterable[reconcile.Declared],
    jobs: Iterable[reconcile.Registered] = (),
    refuse: reconcile.Refuse = lambda routine, file: None,
) -> reconcile.Plan:
    return reconcile.plan(files, jobs, refuse)


def actions(made: reconcile.Plan) -> dict[str, Any]:
    """The parts of the plan that are not empty."""
    found = {name: getattr(made, name) for name in reconcile.Plan.__dataclass_fields__ if name != "outcomes"}
    found["errors"] = [(problem.path, problem.fault.code) for problem in made.errors]
    found["skipped"] = [(skipped.routine_id, skipped.reason.code) for skipped in made.skipped]
    return {name: value for name, value in found.items() if value}


def test_a_new_routine_gets_a_job_of_every_kind() -> None:
    kinds = [
        {"kind": "cron", "cron": "0 9 * * *"},
        {"kind": "interval", "every": "1h"},
        {"kind": "calendar", "rrule": "FREQ=DAILY"},
        {"kind": "manual"},
        {"kind": "event", "on": "turn-end"},
    ]
    files = [declared(f"{n}", routine(f"r{n}", schedule=kind)) for n, kind in enumerate(kinds)]
    made = plan(files)
    assert made.registered == ("r0", "r1", "r2", "r3", "r4")
    assert [create.routine for create in made.create] == [file.routine for file in files]


def test_an_unchanged_routine_is_left_alone() -> None:
    assert actions(plan([declared("p", routine())], [job("p", routine())])) == {
        "registered": ("aa",),
        "keep": ("job-1",),
    }


def test_defaults_written_out_change_nothing() -> None:
    written = routine(enabled=True, retry={"max_attempts": 1.0}, version="1.0.0")
    assert actions(plan([declared("p", written)], [job("p", routine())]))["keep"] == ("job-1",)


@pytest.mark.parametrize(
    ("changes", "keep_anchor"),
    [
        ({"description": "other"}, True),
        ({"metadata": {"a": 1}}, True),
        ({"target": {"tool": "other"}}, True),
        ({"schedule": {"kind": "interval", "every": "1h"}}, False),
        ({"schedule": {"kind": "interval", "every": "7d", "jitter_seconds": 1}}, False),
    ],
)
def test_a_changed_routine_is_replaced_and_keeps_its_anchor_with_its_schedule(
    changes: dict[str, Any], keep_anchor: bool
) -> None:
    before = routine(schedule={"kind": "interval", "every": "7d"})
    after = routine(**{"schedule": {"kind": "interval", "every": "7d"}, **changes})
    file = declared("p", after)
    assert actions(plan([file], [job("p", before)])) == {
        "registered": ("aa",),
        "replace": (reconcile.Replace(job_id="job-1", file=file, routine=after, keep_anchor=keep_anchor),),
    }


def test_a_moved_file_takes_its_job_along() -> None:
    made = plan([declared("new", routine())], [job("old", routine())])
    assert [(change.file.path, change.keep_anchor) for change in made.replace] == [("new", True)]


def test_a_file_that_names_another_id_loses_the_old_job() -> None:
    assert {"remove", "create", "registered"} == actions(
        plan([declared("p", routine("bb"))], [job("p", routine())])
    ).keys()


def test_a_vanished_file_removes_its_job() -> None:
    assert actions(plan([], [job("p", routine())])) == {"remove": ("job-1",)}


# TRAPS 10: a half-written file.


def test_a_broken_file_keeps_its_job_marked_stale_until_it_parses_again() -> None:
    broken, good = declared("p", None), declared("p", routine())
    kept = {"registered": ("aa",), "errors": [("p", "routine_invalid")]}
    assert actions(plan([broken], [job("p", routine())])) == kept | {"mark_stale": ("job-1",)}
    assert actions(plan([broken], [job("p", routine(), stale=True)])) == kept | {"keep": ("job-1",)}
    assert actions(plan([good], [job("p", routine(), stale=True)])) == {
        "registered": ("aa",),
        "refresh": ("job-1",),
    }


def test_a_broken_file_without_a_job_is_only_reported_and_stops_no_other() -> None:
    assert actions(plan([declared("a", None), declared("b", routine())])).keys() == {"registered", "create", "errors"}


def test_a_broken_file_keeps_its_id_against_files_further_down() -> None:
    made = plan([declared("b", routine()), declared("a", None)], [job("a", routine())])
    assert (made.mark_stale, made.replace) == (("job-1",), ())
    assert actions(made)["errors"] == [("a", "routine_invalid"), ("b", "routine_duplicate")]


def test_a_broken_file_gives_way_to_one_further_up() -> None:
    made = plan([declared("b", None), declared("a", routine())], [job("b", routine())])
    assert [(change.job_id, change.file.path) for change in made.replace] == [("job-1", "a")]
    assert made.mark_stale == ()


# TRAPS 11: two files with one id.


def test_of_two_files_with_one_id_the_first_by_path_registers() -> None:
    files = [declared("b", routine(description="second")), declared("a", routine(description="first"))]
    made = plan(files)
    assert [(create.file.path, create.routine.description) for create in made.create] == [("a", "first")]
    [problem] = made.errors
    assert (problem.path, problem.fault.code, problem.fault.field) == ("b", "routine_duplicate", "id")
    assert "taken by a" in problem.fault.message


def test_a_disabled_first_file_still_owns_its_id() -> None:
    made = plan([declared("a", routine(enabled=False)), declared("b", routine())], [job("b", routine())])
    assert actions(made) == {
        "remove": ("job-1",),
        "skipped": [("aa", "routine_disabled")],
        "errors": [("b", "routine_duplicate")],
    }


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"enabled": False}, "routine_disabled", "enabled"),
        ({"target": {"action": "a"}}, "routine_target_unresolvable", "target.action"),
        ({"target": {"workflow": {"ref": "r"}}}, "routine_target_unresolvable", "target.workflow.ref"),
        ({"target": {"workflow": {"inline": {}}}}, "routine_target_unresolvable", "target.workflow.inline"),
        ({"target": {"tool": "cron_create"}}, "routine_target_unresolvable", "target.tool"),
        ({"target": {"tool": "routine_trigger"}}, "routine_target_unresolvable", "target.tool"),
    ],
)
def test_what_this_host_never_fires_is_skipped_with_its_reason(changes: dict[str, Any], code: str, field: str) -> None:
    made = plan([declared("p", routine(**changes))], [job("p", routine())])
    assert [(item.reason.code, item.reason.field) for item in made.skipped] == [(code, field)]
    assert (made.registered, made.remove) == ((), ("job-1",))


@pytest.mark.parametrize(
    "routine_id", ["a/../b", "x/./y", "a/.", "trigger", "a/pause", "a/resume", "a/runs", "@o/next"]
)
def test_an_id_that_no_route_can_name_is_skipped(routine_id: str) -> None:
    assert actions(plan([declared("p", routine(routine_id))])) == {"skipped": [(routine_id, "routine_invalid")]}


@pytest.mark.parametrize("routine_id", ["trigger/a", "a.b", "..a/b", "tail/", "next-one"])
def test_an_id_that_only_looks_like_one_is_not(routine_id: str) -> None:
    assert dispatchable.unaddressable(routine_id) is None


def test_what_the_host_denies_is_skipped_and_what_it_lacks_is_an_error() -> None:
    def refuse(asked: manifest.Routine, file: reconcile.Declared) -> errors.Fault | None:
        code: errors.Code = "routine_permission_denied" if asked.id == "aa" else "routine_target_unresolvable"
        return errors.Fault(code=code, message="no")

    made = plan([declared("a", routine("aa")), declared("b", routine("bb"))], [job("a", routine("aa"))], refuse)
    assert actions(made) == {
        "remove": ("job-1",),
        "skipped": [("aa", "routine_permission_denied")],
        "errors": [("b", "routine_target_unresolvable")],
    }


def test_warnings_are_reported_and_stop_nothing() -> None:
    warning = errors.Fault(code="routine_id_mismatch", message="m", warning=True)
    made = plan([reconcile.Declared(path="p", routine=routine(), faults=(warning,))])
    assert made.registered == ("aa",)
    assert made.errors == (reconcile.Problem(path="p", fault=warning),)


FILES = st.dictionaries(
    st.sampled_from("abcd"),
    st.none()
    | st.builds(
        lambda routine_id, description, enabled: routine(routine_id, description=description, enabled=enabled),
        st.sampled_from(("aa", "bb", "cc")),
        st.sampled_from("xy"),
        st.sampled_from((True, True, False)),
    ),
)


def carried_out(made: reconcile.Plan, jobs: list[reconcile.Registered], turn: int) -> list[reconcile.Registered]:
    by_id = {found.job_id: found for found in jobs}
    replaced = [job(change.file.path, change.routine, change.job_id) for change in made.replace]
    created = [job(create.file.path, create.routine, f"job-{turn}-{n}") for n, create in enumerate(made.create)]
    stale = [job_with(by_id[job_id], stale=True) for job_id in made.mark_stale]
    fresh = [job_with(by_id[job_id], stale=False) for job_id in made.refresh]
    after = [*(by_id[job_id] for job_id in made.keep), *stale, *fresh, *replaced, *created]
    assert len(after) + len(made.remove) == len(jobs) + len(created)
    return after


def job_with(found: reconcile.Registered, stale: bool) -> reconcile.Registered:
    return reconcile.Registered(
        job_id=found.job_id,
        routine_id=found.routine_id,
        path=found.path,
        content=found.content,
        schedule=found.schedule,
        stale=stale,
    )


@given(st.lists(FILES, max_size=4))
@settings(max_examples=100, deadline=None)
def test_a_plan_carried_out_holds_one_job_an_id_and_made_again_keeps_everything(
    scans: list[dict[str, manifest.Routine | None]],
) -> None:
    jobs: list[reconcile.Registered] = []
    for turn, scan in enumerate(scans):
        files = [declared(path, declares) for path, declares in scan.items()]
        made = plan(files, jobs)
        jobs = carried_out(made, jobs, turn)
        assert sorted(found.routine_id for found in jobs) == list(made.registered)
        again = plan(reversed(files), jobs)
        assert len(again.keep) == len(jobs)
        assert (again.create, again.replace, again.remove, again.mark_stale, again.refresh) == ((), (), (), (), ())
        assert (again.errors, again.skipped) == (made.errors, made.skipped)


# A folder that cannot be searched: a disk that is away.


def away(path: str) -> reconcile.Declared:
    return reconcile.Declared(path=path, routine=None, faults=(BROKEN,), folder=True)


def test_what_lies_below_a_folder_that_cannot_be_searched_keeps_its_jobs() -> None:
    jobs = [
        job("/w/a/p", routine("aa"), "job-1"),
        job("/w/a/q", routine("bb"), "job-2"),
        job("/w/ab", routine("cc"), "job-3"),
    ]
    made = plan([away("/w/a")], jobs)
    assert actions(made) == {
        "registered": ("aa", "bb"),
        "mark_stale": ("job-1", "job-2"),
        "remove": ("job-3",),
        "errors": [("/w/a", "routine_invalid")],
    }


def test_what_was_found_below_such_a_folder_all_the_same_counts() -> None:
    jobs = [job("/w/a/p", routine("aa"), "job-1"), job("/w/a/q", routine("bb"), "job-2")]
    made = plan([away("/w/a"), declared("/w/a/p", routine("aa", description="new"))], jobs)
    assert [change.job_id for change in made.replace] == ["job-1"]
    assert made.mark_stale == ("job-2",)


def test_a_workspace_that_lies_elsewhere_now_takes_its_jobs_along() -> None:
    file = reconcile.Declared(path="p", routine=routine(), workspace="/release-2")
    made = plan([file], [job("p", routine())])
    assert [(change.file.workspace, change.keep_anchor) for change in made.replace] == [("/release-2", True)]


def test_each_id_has_one_outcome() -> None:
    def refuse(asked: manifest.Routine, file: reconcile.Declared) -> errors.Fault | None:
        return errors.Fault(code="routine_target_unresolvable", message="no") if asked.id == "dd" else None

    files = [
        declared("a", routine("aa")),
        declared("b", None),
        declared("c", routine("cc", enabled=False)),
        declared("d", routine("dd")),
        declared("e", routine("aa")),
        declared("f", None),
    ]
    made = plan(files, [job("b", routine("bb"))], refuse)
    assert [(one.routine_id, one.file.path, one.state, one.fault and one.fault.code) for one in made.outcomes] == [
        ("aa", "a", "registered", None),
        ("bb", "b", "stale", "routine_invalid"),
        ("cc", "c", "skipped", "routine_disabled"),
        ("dd", "d", "error", "routine_target_unresolvable"),
    ]
