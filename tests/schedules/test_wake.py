"""The hub: who waits for a session is woken when its log has grown, whoever wrote it."""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connections

from schedules import live, transaction, turns, wake
from schedules.projection import rows
from schedules.sessions import log
from tests.conftest import HandClock
from tests.schedules.api.host import plant

PATIENCE = 5.0


@pytest.fixture
def session(user: User, clock: HandClock) -> tuple[str, str]:
    """A live session's id and its lease."""
    made = log.Header(id=log.new_id(), owner_id=user.pk, created_at=clock.now)
    lease = live.create(made, live.Opening(holder="host", seconds=600))
    return made.id, str(lease["leaseId"])


def note(session: tuple[str, str]) -> None:
    """Let the session's log grow by one event."""
    turns.append_host_event(*session, "host:note", 1)


def queue(session: tuple[str, str]) -> None:
    """Queue a follow-up, as the owner does."""
    plant(session[0], "followup/queued", {"followupId": "f", "kind": "prompt", "reminders": [], "text": "x"})


async def here(act: Callable[[tuple[str, str]], None], session: tuple[str, str]) -> None:
    """Do it to the session in a thread of this process."""

    def do() -> None:
        try:
            act(session)
        finally:
            connections.close_all()

    await asyncio.to_thread(do)


async def elsewhere(act: Callable[[tuple[str, str]], None], session: tuple[str, str]) -> None:
    """The same, past this process's listeners, as another process would."""
    heard, transaction.listeners[:] = list(transaction.listeners), []
    try:
        await here(act, session)
    finally:
        transaction.listeners[:] = heard


async def seen(watcher: wake.Watcher) -> None:
    """Let the hub's first look pass, which wakes everybody once."""
    assert await watcher.changed(PATIENCE)


def run(waiting: Callable[[wake.Hub], Awaitable[None]]) -> None:
    async def main() -> None:
        hub = wake.Hub()
        await waiting(hub)
        # Its task ends by itself once nobody waits.
        while transaction.listeners:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_commit_of_this_process_wakes_at_once(session: tuple[str, str]) -> None:
    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0]) as watcher:
            await seen(watcher)
            started = time.monotonic()
            await here(note, session)
            assert await watcher.changed(PATIENCE)
            assert time.monotonic() - started < wake.LOOK_SECONDS
            assert not await watcher.changed(2 * wake.LOOK_SECONDS)

    run(waiting)


def test_a_commit_of_another_process_wakes_within_one_look(session: tuple[str, str]) -> None:
    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0]) as watcher:
            await seen(watcher)
            await elsewhere(note, session)
            assert await watcher.changed(PATIENCE)
            assert not await watcher.changed(2 * wake.LOOK_SECONDS)

    run(waiting)


def test_what_is_written_between_the_watch_and_the_wait_is_not_missed(session: tuple[str, str]) -> None:
    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0]) as watcher:
            await elsewhere(note, session)
            assert await watcher.changed(PATIENCE)

    run(waiting)


def test_another_session_wakes_nobody(session: tuple[str, str], user: User, clock: HandClock) -> None:
    other = log.Header(id=log.new_id(), owner_id=user.pk, created_at=clock.now)
    lease = live.create(other, live.Opening(holder="host", seconds=600))

    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0]) as watcher:
            await seen(watcher)
            await here(note, (other.id, str(lease["leaseId"])))
            await elsewhere(note, (other.id, str(lease["leaseId"])))
            assert not await watcher.changed(3 * wake.LOOK_SECONDS)

    run(waiting)


@pytest.mark.parametrize("done", [here, elsewhere])
def test_who_waits_for_follow_ups_is_woken_by_nothing_else(
    session: tuple[str, str], done: Callable[..., Awaitable[None]]
) -> None:
    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0], lambda sight: sight.waiting > 0) as watcher, hub.watch(session[0]) as every:
            await seen(every)
            await done(note, session)
            await seen(every)
            assert not await watcher.changed(0.01)
            await done(queue, session)
            assert await watcher.changed(PATIENCE)

    run(waiting)


def test_everybody_who_waits_for_a_session_is_woken(session: tuple[str, str]) -> None:
    async def one(hub: wake.Hub, ready: asyncio.Semaphore) -> bool:
        async with hub.watch(session[0]) as watcher:
            await seen(watcher)
            ready.release()
            return await watcher.changed(PATIENCE)

    async def waiting(hub: wake.Hub) -> None:
        ready = asyncio.Semaphore(0)
        polls = [asyncio.create_task(one(hub, ready)) for _ in range(2000)]
        for _ in polls:
            await ready.acquire()
        await here(note, session)
        assert all(await asyncio.gather(*polls))

    run(waiting)


def test_thousands_of_sessions_are_looked_at_in_a_few_queries(
    session: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    fetch: Callable[..., list[Any]] = rows.fetch

    def counted(statement: str, values: Any) -> list[Any]:
        if "folded_through" in statement:
            asked.append(len(values))
        return fetch(statement, values)

    monkeypatch.setattr(rows, "fetch", counted)

    async def one(hub: wake.Hub, session_id: str) -> None:
        async with hub.watch(session_id) as watcher:
            await seen(watcher)

    async def waiting(hub: wake.Hub) -> None:
        await asyncio.gather(*(one(hub, f"none-{number}") for number in range(3000)))

    run(waiting)

    assert asked == [500] * 6


@pytest.mark.engine("sqlite3")
def test_on_sqlite_an_idle_database_is_not_queried(session: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []
    fetch: Callable[..., list[Any]] = rows.fetch

    def kept(statement: str, values: Any) -> list[Any]:
        statements.append(statement)
        return fetch(statement, values)

    monkeypatch.setattr(rows, "fetch", kept)

    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0]) as watcher:
            await seen(watcher)
            assert not await watcher.changed(4 * wake.LOOK_SECONDS)

    run(waiting)

    assert len([statement for statement in statements if "folded_through" in statement]) == 1
    assert 2 <= statements.count("PRAGMA data_version") <= 6


def test_a_look_that_fails_does_not_end_the_looking(
    session: tuple[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [OperationalError("gone"), ValueError("odd")]
    look = wake._Eye.look

    def broken(eye: wake._Eye, *arguments: Any) -> dict[str, wake.Sight]:
        if failures:
            raise failures.pop()
        return look(eye, *arguments)

    monkeypatch.setattr(wake._Eye, "look", broken)
    monkeypatch.setattr(wake, "_AFTER_AN_ERROR_SECONDS", 0.01)

    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0]) as watcher:
            await seen(watcher)

    with caplog.at_level(logging.WARNING):
        run(waiting)
    assert caplog.text.count("could not look") == 2


def test_what_a_failed_look_did_not_see_the_next_one_does(
    session: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    eye = wake._Eye()
    before = eye.look([session[0]], [])
    asyncio.run(here(note, session))

    def gone(*_: object) -> None:
        raise OperationalError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(wake, "_sights", gone)
        with pytest.raises(OperationalError):
            eye.look([session[0]], [])
    after = eye.look([session[0]], [])
    assert after[session[0]].last > before[session[0]].last


def test_closing_the_hub_wakes_everybody_for_good(session: tuple[str, str]) -> None:
    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0]) as watcher:
            await seen(watcher)
            closing = threading.Thread(target=hub.close)
            closing.start()
            assert await watcher.changed(PATIENCE)
            assert hub.closing
        async with hub.watch(session[0]) as late:
            assert await late.changed(PATIENCE)

    run(waiting)


def test_nothing_is_left_when_those_who_waited_have_gone(session: tuple[str, str]) -> None:
    async def waiting(hub: wake.Hub) -> None:
        async with hub.watch(session[0]):
            assert transaction.listeners
        task = asyncio.create_task(hold(hub))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not hub._watched

    async def hold(hub: wake.Hub) -> None:
        async with hub.watch(session[0]) as watcher:
            await watcher.changed(PATIENCE)

    run(waiting)

    assert not transaction.listeners


def in_a_thread(call: Callable[..., None], *arguments: object) -> None:
    """Another thread, which has a connection of its own."""
    thread = threading.Thread(target=call, args=arguments)
    thread.start()
    thread.join()
