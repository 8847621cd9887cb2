"""The owner in processes of its own, beside the web server's."""

import json
import signal

import pytest

from tests.acceptance.processes import Process, Server, epoch_ms, until


def deliver(*arguments: str, database: str) -> Process:
    return Process("deliver", *arguments, database=database, SECRET_KEY="acceptance")


def test_an_owner_apart_from_the_web_process_delivers(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server, deliver(database=fresh_database) as owner:
        assert "No owner runs here" in server.output
        owner.says("the owner starts")
        session = server.open_session()
        session.remind(1)

        (followup,) = session.followups(wait=20)

        assert followup["reminders"][0]["prompt"] == "Look."
        assert owner.stop() == 0
        assert server.stop() == 0


def test_a_reminder_made_in_one_process_wakes_the_owner_of_another_at_once(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server, deliver(database=fresh_database) as owner:
        until(lambda: server.api.get("/readyz").status_code == 200)
        session = server.open_session()
        session.remind(1)
        (followup,) = session.followups(wait=20)

        (reminder,) = followup["reminders"]
        late = epoch_ms(followup["queuedAt"]) - epoch_ms(reminder["occurrenceAt"])
        assert 0 <= late < 500
        assert owner.stop() == 0


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly(fresh_database: str, signum: signal.Signals) -> None:
    with Server("--no-deliver", database=fresh_database) as server, deliver(database=fresh_database) as owner:
        until(lambda: server.api.get("/readyz").status_code == 200)

        assert owner.stop(signum) == 0

        assert "the owner has stopped" in owner.errors
        assert "Traceback" not in owner.errors
        # Its heartbeat is gone with it: a clean end is no missing owner.
        assert server.api.get("/readyz").json()["owner"] == {"status": "absent"}


def test_once_delivers_what_is_due_says_so_and_exits(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server:
        sessions = [server.open_session() for _ in range(3)]
        for session in sessions:
            session.remind(1)
        until(lambda: server.api.get(f"{sessions[-1].path}/schedules").json()["results"][0]["state"] == "overdue")

        with deliver("--once", "--json", database=fresh_database) as owner:
            assert owner.wait() == 0
            assert json.loads(owner.output) == {"admitted": 3, "expired": 0, "failed": 0, "locked": 0, "attempts": 0}
        with deliver("--once", database=fresh_database) as owner:
            assert owner.wait() == 0
            assert "Follow-ups queued: 0." in owner.output
        assert all(len(session.followups()) == 1 for session in sessions)


def test_two_owners_queue_each_reminder_once(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server:
        sessions = [server.open_session() for _ in range(30)]
        for session in sessions:
            session.remind(1)
        with deliver(database=fresh_database) as one, deliver(database=fresh_database) as two:
            for owner in (one, two):
                owner.says("the owner starts")
            for session in sessions:
                until(session.followups)
            assert one.stop() == 0
            assert two.stop() == 0

        for session in sessions:
            types = [event["type"] for event in session.events()]
            assert types == ["session/opened", "schedule/change", "followup/queued", "schedule/change"]


def test_a_database_that_is_not_migrated_is_said_to_be_so(fresh_database: str) -> None:
    with deliver(database=fresh_database) as owner:
        assert owner.wait() == 1
        assert "manage.py migrate" in owner.errors
        assert "Traceback" not in owner.errors


def test_a_killed_owner_loses_nothing(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as server:
        with deliver(database=fresh_database) as owner:
            owner.says("the owner starts")
            session = server.open_session()
            session.remind(1)
            owner.send(signal.SIGKILL)
            assert owner.wait() == -signal.SIGKILL
        with deliver(database=fresh_database) as owner:
            assert len(session.followups(wait=20)) == 1
            assert owner.stop() == 0
