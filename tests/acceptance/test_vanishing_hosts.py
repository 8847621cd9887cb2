"""Hosts that are killed in a turn, and hosts that lost their session without knowing it."""

import signal
from typing import Any

from tests.acceptance.processes import OpenSession, Server, Worker, until, work


def waiting(session: OpenSession) -> tuple[str, int]:
    """The id and the attempt of the one follow-up that waits, or comes soon."""
    (followup,) = session.followups(wait=20)
    return followup["followupId"], followup["attempt"]


def killed_in_its_turn(database: str, session: OpenSession) -> None:
    """A host that claims the follow-up and is killed before it ends the turn."""
    with Worker("claim", session.id, session.lease_id, database=database) as host:
        host.go().says("claimed")
        host.send(signal.SIGKILL)
        assert host.wait() == -signal.SIGKILL


def opened(server: Server, session: OpenSession, holder: str) -> OpenSession:
    """The session as the next host has it, as soon as it may."""

    def lease() -> str | None:
        answer = server.api.post(f"{session.path}/open", json={"holder": holder, "leaseSeconds": 5})
        found: str | None = answer.json().get("leaseId")
        return found

    return OpenSession(server, session.id, until(lease))


def test_a_followup_of_killed_hosts_comes_again_under_its_id_and_is_given_up_after_three(fresh_database: str) -> None:
    with Server(database=fresh_database) as server:
        session = server.open_session(lease_seconds=5)
        session.remind(1)
        name, attempt = waiting(session)
        assert attempt == 1

        # The owner finds out when the lease ends.
        killed_in_its_turn(fresh_database, session)
        assert waiting(session) == (name, 2)
        types = [event["type"] for event in session.events()]
        assert types[-2:] == ["turn/end", "session/closed"]

        # Another host takes over, and its own restart finds out at once.
        other = opened(server, session, "other")
        killed_in_its_turn(fresh_database, other)
        again = opened(server, session, "other")
        assert waiting(again) == (name, 3)

        killed_in_its_turn(fresh_database, again)
        opened(server, session, "other")
        assert session.followups() == []
        shown: dict[str, Any] = server.api.get(session.path).json()
        assert [(row["followupId"], row["attempt"]) for row in shown["exhausted"]] == [(name, 3)]
        assert [event["type"] for event in session.events()].count("followup/queued") == 1
        assert server.stop() == 0


def test_a_host_that_lost_its_session_writes_nothing_after_the_next_one_opened_it(fresh_database: str) -> None:
    ((session, lease),) = work("prepare", 1, [], database=fresh_database)
    with Worker("note", session, lease, database=fresh_database) as old:
        old.go()
        until(lambda: "host:note" in work("told", session, database=fresh_database))

        work("take", session, database=fresh_database)

        noted = old.value()
    told = work("told", session, database=fresh_database)
    assert told == ["session/opened", *["host:note"] * noted, "session/opened"]
    assert noted > 0
