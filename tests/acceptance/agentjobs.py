"""Jobs of :mod:`tests.acceptance.workers` that start agents, and bring reminders back to them."""

import threading
import time
from typing import Any

from django.contrib.auth.models import User

from routines.agents import Agents
from routines.models import AgentSession
from routines.tools.agent import agent_start
from routines.tools.registry import Call, Result
from schedules import clock
from schedules.owner import Owner

PATIENCE = 30
_ROUND_SECONDS = 0.02


def start_agent(inputs: dict[str, Any]) -> dict[str, Any]:
    """Call `agent_start` for the first user; whether it was good, and its value."""
    call = Call(
        now=clock.sample(),
        seconds=PATIENCE,
        user_id=User.objects.order_by("pk")[0].pk,
        origin="routine:tidy",
        run_id="run-1",
        invoke=lambda name, given: Result(ok=False, summary="This call calls no other."),
    )
    result = agent_start.run(call, inputs)
    return {"ok": result.ok, "value": result.value}


def answer_agents() -> int:
    """Deliver and answer what comes back to agents until no session of theirs is open; how many turns that took."""
    owner, agents = Owner(), Agents()
    answered = 0
    end = time.monotonic() + PATIENCE
    while AgentSession.objects.exists() and time.monotonic() < end:
        owner.drive_once()
        for held in agents.drive_once(clock.sample(), 4).work:
            agents.answer(held, threading.Event())
            answered += 1
        time.sleep(_ROUND_SECONDS)
    return answered
