"""Open sessions of agents: their reminders come back as turns, in one process or another, until they are done."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines.agents import LEASE_MS, Agents
from routines.models import AgentSession
from schedules import clock as clocks
from schedules import live, turns
from schedules.access import models as access
from schedules.owner import Owner
from schedules.sessions.models import Lease
from tests.conftest import HandClock
from tests.routines.agenthost import python, read, remind, start_with_reminder, told, when_a_turn_begins
from tests.schedules.api.host import force

NEVER = threading.Event()
FIRST_TURN = [
    "session/opened",
    "turn/start user",
    "user/message",
    "schedule/change",
    "wakeful:agent-exit",
    "assistant/message",
    "turn/end completed",
]


@pytest.fixture
def session_id(user: User, clock: HandClock) -> str:
    """The open session of an agent that has a reminder in a minute."""
    return start_with_reminder(user.pk)


@pytest.fixture
def due(session_id: str, clock: HandClock) -> str:
    """The same, with the reminder's follow-up waiting."""
    fall_due(clock)
    return session_id


def fall_due(clock: HandClock, seconds: int = 60) -> None:
    clock.advance(seconds=seconds)
    assert Owner().drive_once().admitted == 1


def drive(agents: Agents, room: int = 4) -> Any:
    return agents.drive_once(clocks.sample(), room)


def answer_all(agents: Agents) -> int:
    """Do all the work that there is now; how much."""
    done = 0
    while (found := drive(agents)).work or found.more:
        for held in found.work:
            agents.answer(held, NEVER)
            done += 1
    return done


def test_a_session_stays_open_while_a_reminder_waits_in_it(session_id: str) -> None:
    assert told(session_id) == FIRST_TURN
    found = drive(Agents())
    assert (found.work, found.ended, found.more) == ((), 0, False)


def test_a_due_reminder_reaches_the_agent_as_a_turn_and_then_the_session_closes(due: str) -> None:
    assert answer_all(Agents()) == 1
    assert told(due)[len(FIRST_TURN) :] == [
        "followup/queued",
        "schedule/change",
        "turn/start followup 1",
        "user/message",
        "wakeful:agent-exit",
        "assistant/message",
        "turn/end completed",
        "session/closed closed",
    ]
    answered = next(event for event in reversed(read(due)) if event.type == "assistant/message")
    assert answered.data["text"].startswith("[SCHEDULE REMINDER]\n")
    assert not AgentSession.objects.exists()
    assert not access.Token.objects.filter(revoked_at=None).exists()


def test_a_reminder_made_in_a_later_turn_keeps_the_session_open(due: str, clock: HandClock) -> None:
    agents = Agents()
    with when_a_turn_begins(remind):
        assert answer_all(agents) == 1
    assert told(due)[-1] == "turn/end completed"
    fall_due(clock)
    assert answer_all(agents) == 1
    assert told(due)[-1] == "session/closed closed"


def test_an_agent_that_fails_is_not_asked_again(due: str, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"echo": python("raise SystemExit(1)")}
    assert answer_all(Agents()) == 1
    assert told(due)[-2:] == ["turn/end failed", "session/closed closed"]


@pytest.mark.parametrize("adapters", [{}, {"echo": {"command": "no list"}}])
def test_a_turn_whose_adapter_is_gone_fails(due: str, settings: Any, adapters: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = adapters
    assert answer_all(Agents()) == 1
    assert told(due)[-2:] == ["turn/end failed", "session/closed closed"]


def test_a_turn_whose_folder_is_gone_fails(user: User, clock: HandClock, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    session_id = start_with_reminder(user.pk, workspace=str(workspace))
    workspace.rmdir()
    fall_due(clock)
    answer_all(Agents())
    assert told(session_id)[-2:] == ["turn/end failed", "session/closed closed"]


def test_no_more_is_claimed_than_there_is_room_for(user: User, clock: HandClock) -> None:
    sessions = {start_with_reminder(user.pk) for _ in range(3)}
    clock.advance(seconds=60)
    Owner().drive_all()
    agents = Agents()
    assert drive(agents, room=0).work == ()
    claimed = [held.session_id for room in (2, 2, 2) for held in drive(agents, room).work]
    assert sorted(claimed) == sorted(sessions)


def test_of_two_processes_one_gets_the_turn(due: str) -> None:
    assert [len(drive(agents).work) for agents in (Agents(), Agents())] == [1, 0]


def test_a_session_is_closed_when_its_time_is_over_whatever_waits(due: str, clock: HandClock, settings: Any) -> None:
    clock.advance(seconds=settings.WAKEFUL_AGENT_OPEN_SECONDS - 61)
    agents = Agents()
    assert drive(agents, room=0).ended == 0
    clock.advance(seconds=1)
    assert drive(agents).ended == 1
    assert told(due)[-1] == "session/closed closed"
    assert not access.Token.objects.filter(revoked_at=None).exists()


def test_a_session_whose_log_is_corrupt_is_not_waited_for(session_id: str) -> None:
    force(session_id, "schedule/change", '{"version": 2}')
    live.catch_up(session_id)
    assert drive(Agents()).ended == 1
    assert told(session_id)[-1] == "session/closed closed"


def test_a_process_that_dies_in_a_turn_leaves_it_to_another_after_a_minute(due: str, clock: HandClock) -> None:
    (held,) = drive(Agents()).work
    turns.begin(held.session_id, held.lease_id, None)
    other = Agents()
    clock.advance(ms=LEASE_MS - 1)
    assert drive(other).taken == 0
    clock.advance(ms=1)
    assert drive(other).taken == 1
    assert answer_all(other) == 1
    assert told(due)[len(FIRST_TURN) + 2 :] == [
        "turn/start followup 1",
        "user/message",
        "turn/end interrupted",
        "session/opened",
        "turn/start followup 2",
        "user/message",
        "wakeful:agent-exit",
        "assistant/message",
        "turn/end completed",
        "session/closed closed",
    ]


def test_a_process_thought_dead_can_end_nothing_any_more(due: str, clock: HandClock) -> None:
    slow, other = Agents(), Agents()
    (held,) = drive(slow).work

    def fall_silent(session_id: str) -> None:
        clock.advance(ms=LEASE_MS)
        assert drive(other).taken == 1

    with when_a_turn_begins(fall_silent):
        slow.answer(held, NEVER)
    assert "assistant/message" not in told(due)[len(FIRST_TURN) :]
    assert answer_all(other) == 1
    assert told(due)[-2:] == ["turn/end completed", "session/closed closed"]


def test_a_process_that_dies_in_the_first_turn_leaves_a_session_that_is_closed(user: User, clock: HandClock) -> None:
    class Death(BaseException):
        pass

    def die(session_id: str) -> None:
        raise Death

    with pytest.raises(Death), when_a_turn_begins(die):
        start_with_reminder(user.pk)
    row = AgentSession.objects.get()
    agents = Agents()
    assert (drive(agents).taken, drive(agents).ended) == (0, 0)
    clock.now = row.lease_until
    assert drive(agents).taken == 1
    assert not AgentSession.objects.exists()
    assert told(row.session_id)[-3:] == ["turn/end interrupted", "session/opened", "session/closed closed"]


def test_what_is_being_answered_is_held_on_to(due: str, clock: HandClock) -> None:
    agents, other = Agents(), Agents()
    (held,) = drive(agents).work
    for _ in range(5):
        clock.advance(ms=LEASE_MS // 2)
        drive(agents)
    assert drive(other).taken == 0
    agents.answer(held, NEVER)
    assert told(due)[-1] == "session/closed closed"


def test_a_clock_set_back_leaves_no_session_held_for_longer_than_a_turn(due: str, clock: HandClock) -> None:
    drive(Agents())
    clock.advance(seconds=-2 * 86_400)
    assert drive(Agents()).taken == 1


def test_a_turn_that_is_cancelled_gives_its_reminder_back_at_once(due: str, settings: Any) -> None:
    settings.WAKEFUL_AGENT_ADAPTERS = {"echo": python("import time; time.sleep(600)")}
    agents, cancelled = Agents(), threading.Event()
    (held,) = drive(agents).work
    with when_a_turn_begins(lambda session_id: cancelled.set()):
        agents.answer(held, cancelled)
    settings.WAKEFUL_AGENT_ADAPTERS = {"echo": python("print('Here I am.')")}
    assert answer_all(Agents()) == 1
    assert "turn/start followup 2" in told(due)


def test_a_turn_that_was_cancelled_before_it_began_costs_no_attempt(due: str) -> None:
    agents, cancelled = Agents(), threading.Event()
    (held,) = drive(agents).work
    cancelled.set()
    agents.answer(held, cancelled)
    assert answer_all(Agents()) == 1
    assert "turn/start followup 1" in told(due)


def test_a_follow_up_that_was_discarded_leaves_nothing_to_answer(due: str) -> None:
    agents = Agents()
    (held,) = drive(agents).work
    (followup,) = turns.followups(due, "waiting", limit=2)
    turns.discard(due, str(followup["followupId"]), held.lease_id)
    agents.answer(held, NEVER)
    assert told(due)[-2:] == ["followup/discarded", "session/closed closed"]


def test_a_session_that_its_user_took_over_is_left_to_them(due: str) -> None:
    mine: Any = live.open_(due, live.Opening(holder="wakeful-agents", seconds=60))
    agents = Agents()
    (held,) = drive(agents).work
    agents.answer(held, NEVER)
    assert not AgentSession.objects.exists()
    assert Lease.objects.get().lease_id == mine["leaseId"]


def test_each_turn_has_a_token_of_its_own_and_only_the_newest_opens_anything(
    user: User, clock: HandClock, settings: Any, tmp_path: Path
) -> None:
    keep = "import os; open('tokens', 'a').write(os.environ['WAKEFUL_TOKEN'] + ' ')"
    settings.WAKEFUL_AGENT_ADAPTERS = {"echo": python(keep)}
    session_id = start_with_reminder(user.pk, workspace=str(tmp_path))
    first = (tmp_path / "tokens").read_text().split()[0]
    found = access.find(first)
    assert found is not None
    assert (found[0], found[1].session_id) == (user, session_id)
    fall_due(clock)
    with when_a_turn_begins(remind):
        answer_all(Agents())
    _, second = (tmp_path / "tokens").read_text().split()
    assert access.find(first) is None
    assert access.find(second) is not None


def test_an_idle_step_asks_the_database_once(store: None, clock: HandClock) -> None:
    agents = Agents()
    with CaptureQueriesContext(
        connection,
    ) as asked:
        drive(agents)
    assert len(asked) == 1
