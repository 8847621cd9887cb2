"""One attempt: the call that a target makes, the limits that it works within, the answers that count."""

import threading
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from routines import dispatch, runs
from routines.models import Run
from routines.outcomes import Outcome
from schedules import transaction
from tests.conftest import HandClock
from tests.routines import tooling
from tests.routines.firing import claimed


@pytest.fixture(autouse=True)
def host(store: None, clock: HandClock, settings: Settings) -> None:
    settings.WAKEFUL_TOOLS = ["tests.routines.tooling"]
    settings.WAKEFUL_VAULT = {"KEY": "s3cret"}
    User.objects.create_superuser("root")


def work(target: dict[str, Any], *, cancelled: threading.Event | None = None, **more: Any) -> Outcome:
    return dispatch.work(claimed(target=target, **more), cancelled or threading.Event())


def tool(name: str, **inputs: Any) -> dict[str, Any]:
    return {"tool": f"test_{name}", "inputs": inputs}


def test_a_tool_is_called_with_its_inputs_filled_in() -> None:
    outcome = work(
        tool("answer", ok=True, summary="for ${{ routine.id }}", value="${{ event.list }}"), event={"list": [1, None]}
    )
    assert (outcome.result.summary, outcome.result.value) == ("for tidy", [1, None])
    assert Run.objects.get().status == "completed"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (tool("nothing"), "This host has no tool test_nothing."),
        (tool("strict", number="two"), "number: 'two' is not of type 'integer'"),
        (tool("answer", ok=True, summary="${{ event.missing }}"), "The event that fired the routine has no missing."),
        (tool("answer", ok=True, summary="${{ vault.OTHER }}"), "The vault has no OTHER"),
        ({"workflow": "ci/WORKFLOW.md"}, "this routine has none"),
    ],
)
def test_what_cannot_be_called_fails_with_words_on_what_to_do(target: dict[str, Any], words: str) -> None:
    assert words in work(target).result.summary
    assert Run.objects.get().status == "failed"


def test_an_identity_fires_only_what_it_is_granted(settings: Settings) -> None:
    User.objects.create_user("ada")
    settings.WAKEFUL_IDENTITIES = {"bot://nightly": {"user": "ada", "tools": ["test_strict"]}}
    nightly: dict[str, Any] = {"identity": "bot://nightly"}
    assert work(tool("strict", number=2), **nightly).result.ok
    assert "may not use test_answer" in work(tool("answer", ok=True, summary=""), **nightly).result.summary
    assert "do not know" in work(tool("strict"), identity="bot://nobody").result.summary
    User.objects.filter(username="ada").update(is_active=False)
    assert "has no active user" in work(tool("strict"), **nightly).result.summary


def test_a_tool_that_breaks_is_logged_with_its_trace_and_without_its_secrets(caplog: pytest.LogCaptureFixture) -> None:
    outcome = work(tool("break", words="the ${{ vault.KEY }} is wrong"))
    assert outcome.result.summary == "The tool test_break broke; the host's log says how."
    assert "Traceback" in caplog.text
    assert "KeyError: 'the [redacted] is wrong'" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_secret_that_inputs_do_not_fit_is_not_told() -> None:
    work(tool("strict", number="${{ vault.KEY }}"))
    assert Run.objects.get().error == "number: '[redacted]' is not of type 'integer'"


def test_a_tool_that_takes_too_long_is_told_to_end_and_counts_as_timed_out() -> None:
    outcome = work(tool("hang"), retry={"max_attempts": 2, "on": ["timeout"]})
    assert (outcome.result.summary, outcome.result.failure) == ("test_hang took longer than 0.2 s.", "timeout")
    assert (Run.objects.get().status, Run.objects.get().attempt) == ("running", 1)


def test_a_process_that_stops_gives_the_attempt_back() -> None:
    cancelled = threading.Event()
    cancelled.set()
    outcome = work(tool("wait"), cancelled=cancelled, retry={"max_attempts": 2})
    assert outcome.interrupted
    run = Run.objects.get()
    assert (run.status, run.attempt, run.worker) == ("running", 1, None)


def test_what_is_done_when_the_process_stops_counts_as_done() -> None:
    cancelled = threading.Event()
    cancelled.set()
    assert not work(tool("wait", stubborn=True), cancelled=cancelled, retry={"max_attempts": 2}).interrupted
    assert Run.objects.get().status == "completed"


def test_a_run_that_another_took_over_is_ended_by_that_one_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(runs, "RENEW_SECONDS", dispatch._STEP_SECONDS)
    run = claimed(target=tool("wait"))
    with transaction.barrier():
        Run.objects.update(worker="another", attempt=2)
    outcome = dispatch.work(run, threading.Event())
    assert outcome.interrupted
    assert Run.objects.get().status == "running"
    assert "was lost to another" in caplog.text


def test_a_run_that_is_worked_renews_its_lease(monkeypatch: pytest.MonkeyPatch, clock: HandClock) -> None:
    monkeypatch.setattr(runs, "RENEW_SECONDS", dispatch._STEP_SECONDS)
    run = claimed(target=tool("wait"))
    clock.advance(seconds=20)
    renewed = threading.Event()
    renew = runs.renew
    leases: list[int | None] = []

    def watched(of: runs.Claimed, now: int) -> bool:
        held = renew(of, now)
        leases.append(Run.objects.get().lease_until)
        renewed.set()
        return held

    monkeypatch.setattr(runs, "renew", watched)
    working = threading.Thread(target=dispatch.work, args=(run, threading.Event()))
    working.start()
    try:
        assert renewed.wait(30)
    finally:
        tooling.GATE.set()
        working.join()
        tooling.GATE.clear()
    assert leases[0] == clock.now + runs.LEASE_MS
    assert Run.objects.get().status == "completed"


def test_a_tool_may_call_others_under_the_same_grant(settings: Settings) -> None:
    User.objects.create_user("ada")
    settings.WAKEFUL_IDENTITIES = {"default": {"user": "ada", "tools": ["test_relay", "test_strict"]}}
    relay = {"tool": "test_relay", "inputs": {"tool": "test_strict", "inputs": {"number": 3}}}
    assert work(relay).result.summary == "number 3"
    relay["inputs"] = {"tool": "test_strict", "inputs": {"number": "3"}}
    assert work(relay).result.summary.startswith("number: ")
    relay["inputs"] = {"tool": "test_answer", "inputs": {"ok": True, "summary": ""}}
    assert "may not use test_answer" in work(relay).result.summary
    relay["inputs"] = {"tool": "nothing", "inputs": {}}
    assert "has no tool nothing" in work(relay).result.summary
