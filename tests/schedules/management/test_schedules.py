"""``manage.py schedules``: the tools from the command line."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from schedules import live
from schedules.models import Lease, Reminder
from schedules.sessions import events, log
from schedules.sessions.events import Event
from tests.conftest import START, HandClock

pytestmark = pytest.mark.usefixtures("store", "clock")


@pytest.fixture
def session(user: User, clock: HandClock) -> str:
    """A live session."""
    live.create(log.Header(id="one", owner_id=user.pk, created_at=START), live.Opening(holder="host"))
    return "one"


def run(*arguments: str, err: io.StringIO | None = None) -> str:
    out = io.StringIO()
    call_command("schedules", *arguments, stdout=out, stderr=err)
    return out.getvalue()


def refused(*arguments: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return error.value.returncode, str(error.value)


def failed(*arguments: str) -> Any:
    """The error's value on standard output, where JSON was asked for."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as left:
        call_command("schedules", *arguments, "--json", stdout=out)
    assert left.value.code == 1
    return json.loads(out.getvalue())


def test_a_reminder_is_made_listed_and_deleted(session: str) -> None:
    assert run("create", session, "--prompt", " look ", "--after-seconds", "90") == (
        "schedule-1  2026-12-01T00:01:30.000Z  scheduled  after 90 s  look\n"
    )
    run("create", session, "--prompt", "a\nb\x1b", "--every-seconds", "300")
    assert run("list", session).splitlines() == [
        "schedule-1  2026-12-01T00:01:30.000Z  scheduled  after 90 s  look",
        'schedule-2  2026-12-01T00:05:00.000Z  scheduled  every 300 s  "a\\nb\\u001b"',
    ]
    assert run("delete", session, "schedule-1") == "Deleted schedule-1.\n"
    assert run("delete", session, "schedule-1") == "There is no reminder schedule-1.\n"


def test_json_is_the_tools_canonical_value(session: str) -> None:
    view = json.loads(run("create", session, "--prompt", "p", "--after-seconds", "60.0", "--json"))
    assert view == {
        "id": "schedule-1",
        "kind": "after",
        "prompt": "p",
        "afterSeconds": 60,
        "scheduledAt": "2026-12-01T00:01:00.000Z",
        "state": "scheduled",
        "deliveryMode": "session-local",
    }
    assert json.loads(run("list", session, "--json")) == [view]
    assert json.loads(run("delete", session, "x", "--json")) == {
        "id": "x",
        "deleted": False,
        "code": "schedule_not_found",
    }


@pytest.mark.parametrize(
    "at",
    [
        "2026-12-01T10:00:00+01:00",
        '{"date": "2026-12-01", "time": "10:00:00", "time_zone": "Europe/Paris"}',
    ],
)
def test_an_instant_is_text_or_an_object(session: str, at: str) -> None:
    view = json.loads(run("create", session, "--prompt", "p", "--at", at, "--json"))
    assert view["scheduledAt"] == "2026-12-01T09:00:00.000Z"


@pytest.mark.parametrize(
    ("when", "code"),
    [
        (["--after-seconds", "0"], "invalid_rule"),
        (["--after-seconds", "soon"], "invalid_rule"),
        (["--after-seconds", '"60"'], "invalid_rule"),
        (["--after-seconds", "٦٠"], "invalid_rule"),
        (["--after-seconds", "1e400"], "invalid_rule"),
        (["--every-seconds", "60"], "frequency_too_high"),
        (["--at", "tomorrow"], "invalid_rule"),
        (["--at", "2000-01-01T00:00:00Z"], "not_future"),
        (["--at", '{"date": "2030-01-01", "time": "10:00:00", "time_zone": "EST"}'], "invalid_time_zone"),
    ],
)
def test_a_tools_error_ends_with_1(session: str, when: list[str], code: str) -> None:
    exit_code, said = refused("create", session, "--prompt", "p", *when)
    assert (exit_code, said.split(":")[0]) == (1, code)
    assert failed("create", session, "--prompt", "p", *when)["code"] == code
    assert Reminder.objects.count() == 0


def test_a_prompt_that_is_no_text_is_refused(session: str) -> None:
    assert failed("create", session, "--prompt", "\udcff", "--after-seconds", "5")["code"] == "invalid_prompt"


def test_a_call_that_is_refused_ends_with_1(session: str) -> None:
    live.close(session, Lease.objects.get().lease_id)
    create = ("create", session, "--prompt", "p", "--after-seconds", "5")
    assert refused(*create)[1].startswith("session_not_live")
    assert failed(*create)["code"] == "session_not_live"
    for arguments in (["list", "nobody"], ["delete", "\0", "x"]):
        assert refused(*arguments)[1].startswith("not_found")


def test_misuse_ends_with_2(session: str) -> None:
    assert refused("create", session, "--prompt", "p", "--at", "{")[0] == 2
    for arguments in (
        [],
        ["create", session, "--prompt", "p"],
        ["create", session, "--after-seconds", "5"],
        ["create", session, "--prompt", "p", "--after-seconds", "5", "--every-seconds", "300"],
        ["delete", session],
    ):
        with pytest.raises((CommandError, SystemExit)):
            run(*arguments)


def test_a_cold_session_is_listed_with_a_note(session: str, clock: HandClock) -> None:
    run("create", session, "--prompt", "p", "--after-seconds", "5")
    clock.advance(seconds=3600)
    note = io.StringIO()
    shown = json.loads(run("list", session, "--json", err=note))
    assert [(view["id"], view["state"]) for view in shown] == [("schedule-1", "overdue")]
    assert "cold" in note.getvalue()


def test_a_corrupt_log_is_an_error_live_or_cold(session: str, clock: HandClock) -> None:
    log.append([(session, Event(seq=1, type=events.SCHEDULE_CHANGE, time=1, data=None))])
    assert failed("list", session)["code"] == "corrupt_schedule_log"
    live.open_(session, live.Opening(holder="host"))
    clock.advance(seconds=3600)
    assert failed("list", session)["code"] == "corrupt_schedule_log"


def test_djangos_own_options_may_follow_the_subcommand(session: str) -> None:
    assert run("list", session, "--verbosity", "2", "--no-color") == ""
