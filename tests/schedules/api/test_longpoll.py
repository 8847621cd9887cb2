"""A long poll asks the plain view when there is something to learn, and at no other time."""

import asyncio
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import connections

from schedules import transaction, wake
from schedules.api import asgi, longpoll
from schedules.api.asgi import Receive, Scope, Send
from tests.asgi_calls import Call
from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, host

Api = Callable[[User], Client]


@pytest.fixture
def one(user: User, api: Api, clock: HandClock) -> Host:
    return host(api(user), leaseSeconds=600)


class View:
    """The plain view: counts how often it is asked, and first finds nothing."""

    def __init__(self) -> None:
        self.asked = 0
        self.first = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        await asgi.answer(send, 200, {"results": [] if self.asked == 1 else [self.asked], "next": None})
        self.first.set()


def asked(one: Host, *acts: Callable[[], object], headers: dict[str, str], elsewhere: bool = False) -> int:
    """How often a poll asks while these things are done, perhaps as by another process; the last of them ends it."""

    def do(act: Callable[[], object]) -> None:
        heard = list(transaction.listeners)
        if elsewhere:
            transaction.listeners.clear()
        try:
            act()
        finally:
            transaction.listeners[:] = heard
            connections.close_all()

    async def main() -> int:
        view = View()
        polls = longpoll.LongPolls(view, wake.Hub())
        poll = asyncio.create_task(Call("GET", f"/sessions/{one.id}/followups?wait=60", headers).of(polls))
        await view.first.wait()
        for act in acts:
            assert not poll.done()
            await asyncio.to_thread(do, act)
        await poll
        return view.asked

    return asyncio.run(asyncio.wait_for(main(), 30))


@pytest.mark.parametrize("carries", [True, False])
def test_events_of_the_host_wake_no_poll(one: Host, carries: bool) -> None:
    note = [lambda: one.hold("/events", type="host:note", data=1)] * 5
    headers = {"Wakeful-Lease": one.lease} if carries else {}
    assert asked(one, *note, one.queue, headers=headers) == 2


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_poll_that_carries_a_lease_learns_that_it_is_lost(one: Host, elsewhere: bool) -> None:
    for loses in (one.open, lambda: one.hold("/close")):
        assert asked(one, loses, headers={"Wakeful-Lease": one.lease}, elsewhere=elsewhere) == 2
