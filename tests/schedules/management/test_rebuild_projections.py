"""``manage.py rebuild_projections``: mends and checks, and says which."""

import io
import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from schedules import live, tools
from schedules.models import Reminder, SessionState
from schedules.sessions import log
from tests.conftest import START, HandClock

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture(autouse=True)
def sessions(user: User, clock: HandClock) -> None:
    """Two sessions with a reminder each."""
    for name in ("one", "two"):
        live.create(log.Header(id=name, owner_id=user.pk, created_at=START), live.Opening(holder="host"))
        tools.create(name, {"prompt": "p", "after_seconds": 5})


def run(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("rebuild_projections", *arguments, stdout=out)
    except SystemExit as left:
        return int(left.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_a_check_of_what_agrees_ends_with_0() -> None:
    assert run("--check") == (0, "Checked 2 sessions: 0 differ from their logs.\n")
    assert run("--check", "--json") == (0, '{"checked":2,"differences":{}}\n')


def test_a_check_says_each_difference_and_ends_with_1() -> None:
    Reminder.objects.filter(session_id="two").delete()
    SessionState.objects.filter(session_id="two").update(active=7)
    code, said = run("--check")
    assert code == 1
    assert said.splitlines() == [
        "two: state: active is 7, the log says 1",
        "two: reminder schedule-1: its row is missing",
        "Checked 2 sessions: 1 differ from their logs.",
    ]
    code, said = run("--check", "--json")
    assert code == 1
    assert list(json.loads(said)["differences"]) == ["two"]
    assert run("--check", "--session", "one")[0] == 0


def test_a_check_changes_nothing() -> None:
    Reminder.objects.all().delete()
    run("--check")
    assert Reminder.objects.count() == 0


def test_a_rebuild_mends_every_session() -> None:
    Reminder.objects.all().delete()
    assert run() == (0, "Rebuilt 2 sessions.\n")
    assert run("--check")[0] == 0
    assert Reminder.objects.count() == 2


def test_one_session_alone_may_be_rebuilt() -> None:
    Reminder.objects.all().delete()
    assert run("--session", "one", "--json") == (0, '{"rebuilt":1}\n')
    assert list(Reminder.objects.values_list("session_id", flat=True)) == ["one"]


@pytest.mark.parametrize("name", ["nobody", "\0", "\udcff"])
def test_an_unknown_session_is_an_error(name: str) -> None:
    with pytest.raises(CommandError, match="not_found") as error:
        run("--session", name)
    assert error.value.returncode == 1
