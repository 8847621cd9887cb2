"""The connection breaks at every statement of every call that writes: nothing is lost, nothing doubled."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connections

from schedules import clock, owner, transaction
from schedules.owner import Owner
from schedules.projection import rebuild
from tests.acceptance.processes import until
from tests.acceptance.proxy import Cut, Moment, Proxy
from tests.schedules.api.host import Host, refusal

pytestmark = pytest.mark.engine("postgresql")

# What proves at the start of a request that the connection still stands.
PROOF = "SELECT 1"
UNCERTAIN = (503, "persistence_uncertain")
REMINDER = {"prompt": "Look.", "after_seconds": 600}

both_moments = pytest.mark.parametrize("moment", ["before", "after"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that writes.

    send: sends it, always with the same key.
    prepare: what must have happened before.
    operation: what a tool's uncertain answer names.
    """

    send: Callable[[Host], Any]
    prepare: Callable[[Host], Any] = lambda one: None
    operation: str | None = None


KEY = {"HTTP_IDEMPOTENCY_KEY": "k"}
CALLS = {
    "create": Call(send=lambda one: one.tool("create", REMINDER, **KEY), operation="create"),
    "delete": Call(
        prepare=lambda one: one.tool("create", REMINDER),
        send=lambda one: one.tool("delete", {"id": "schedule-1"}, **KEY),
        operation="delete",
    ),
    "begin": Call(send=lambda one: one.say("hello", **KEY)),
    "claim": Call(prepare=lambda one: one.queue(), send=lambda one: one.hold("/turns", **KEY)),
    "end": Call(prepare=lambda one: one.say("hello"), send=lambda one: one.end(1, message="Done.", **KEY)),
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))


def state(one: Host) -> tuple[object, ...]:
    """All that a call can have changed, with proof that the log is whole and the projection in step with it."""
    assert [event["seq"] for event in one.log()] == list(range(len(one.log())))
    with transaction.barrier():
        assert rebuild.check(one.id) == []
    shown = one.get("/schedules").json()["results"]
    return one.told(), [view["id"] for view in shown], one.get().json()["counts"]


def without_times(answer: Any) -> Any:
    """An answer's body, but for what depends on when it was given."""
    return {name: value for name, value in answer.json().items() if name not in ("scheduledAt", "timeContext")}


@every_call
@both_moments
def test_a_cut_call_is_uncertain_and_its_retry_tells_the_truth(
    call: Call, moment: Moment, proxy: Proxy, made: Callable[[], Host]
) -> None:
    uncut = made()
    call.prepare(uncut)
    untouched = state(uncut)
    proxy.watch()
    wanted = call.send(uncut)
    statements, done = proxy.statements, state(uncut)
    assert (statements[0], statements[-1]) == (PROOF, "COMMIT")
    assert wanted.status_code < 300

    for number, statement in enumerate(statements[1:], start=2):
        one = made()
        call.prepare(one)
        proxy.watch(Cut(number=number, moment=moment))

        lost = call.send(one)

        committed = (statement, moment) == ("COMMIT", "after")
        assert proxy.has_cut, statement
        assert refusal(lost) == UNCERTAIN, statement
        assert lost.json().get("operation") == call.operation, statement
        if call.operation == "delete" or (call.operation == "create" and statement == "COMMIT"):
            assert lost.json()["id"] == "schedule-1", statement
        assert state(one) == (done if committed else untouched), statement

        retried = [call.send(one), call.send(one)]

        assert [answer.status_code for answer in retried] == [wanted.status_code] * 2, statement
        assert without_times(retried[0]) == without_times(wanted), statement
        assert retried[0].json() == retried[1].json(), statement
        assert state(one) == done, statement


@every_call
def test_a_retry_that_overtakes_the_commit_waits_for_it(
    call: Call, proxy: Proxy, made: Callable[[], Host], direct: Callable[[str], Any]
) -> None:
    uncut, one = made(), made()
    call.prepare(uncut)
    call.prepare(one)
    proxy.watch()
    wanted = call.send(uncut)
    done = state(uncut)
    proxy.watch(Cut(number=proxy.statements.index("COMMIT") + 1, moment="held"))
    assert refusal(call.send(one)) == UNCERTAIN

    def retry() -> Any:
        try:
            return call.send(one)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as aside:
        answer = aside.submit(retry)
        until(
            lambda: direct(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
        )
        proxy.release()
        assert without_times(answer.result()) == without_times(wanted)

    assert state(one) == done


@every_call
@both_moments
def test_a_connection_that_breaks_between_two_calls_costs_neither(
    call: Call, moment: Moment, proxy: Proxy, made: Callable[[], Host]
) -> None:
    one = made()
    call.prepare(one)
    proxy.watch(Cut(number=1, moment=moment))

    answer = call.send(one)

    assert proxy.has_cut
    assert proxy.statements[0] == PROOF
    assert answer.status_code < 300


@dataclass
class Pauses:
    """Stands where an owner's alarm does: sees each of its waits, and stops it where told."""

    stops: Callable[[], bool]
    stop: Callable[[], None]
    seconds: list[float] = field(default_factory=list)

    def wait(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if self.stops():
            self.stop()

    def ring(self) -> None:
        pass


def run_owner(stops: Callable[[], bool]) -> list[float]:
    """Run a new owner, as a process does, until it waits and ``stops()``; how long it would have waited each time."""
    one = Owner()
    pauses = Pauses(stops=stops, stop=one.stop)
    one._alarm = pauses  # type: ignore[assignment]
    one.run()
    return pauses.seconds


def overdue(made: Callable[[], Host], number: int) -> list[Host]:
    """Hosts with a reminder each that is due."""
    an_hour_ago = clock.sample() - 3_600_000
    with clock.set_to(lambda: an_hour_ago):
        hosts = [made() for _ in range(number)]
        for one in hosts:
            assert one.tool("create", REMINDER).status_code == 200
    return hosts


def waits(hosts: Sequence[Host]) -> bool:
    return all(one.get("/followups").json()["results"] for one in hosts)


@both_moments
@pytest.mark.parametrize("number", [1, 2], ids="{} due".format)
def test_the_owner_goes_on_by_itself_and_admits_exactly_once(
    number: int, moment: Moment, proxy: Proxy, made: Callable[[], Host]
) -> None:
    overdue(made, number)
    statements: list[str] = []

    def first_pause() -> bool:
        statements[:] = statements or proxy.statements
        return True

    proxy.watch()
    run_owner(first_pause)
    assert statements.count("COMMIT") == 3  # its heartbeat, the forgetting of old answers, the admission

    for cut in range(1, len(statements) + 1):
        hosts = overdue(made, number)
        proxy.watch(Cut(number=cut, moment=moment))

        paused = run_owner(lambda hosts=hosts: waits(hosts))  # type: ignore[misc]

        where = statements[cut - 1]
        assert proxy.has_cut, where
        assert max(paused) <= owner._RETRY_SECONDS[0], where
        for one in hosts:
            types = [event["type"] for event in one.log()]
            assert types == ["session/opened", "schedule/change", "followup/queued", "schedule/change"], where
            state(one)
