"""Many processes at once: nothing is lost, doubled or torn, and nobody waits much longer than the others."""

import bisect
from contextlib import ExitStack
from pathlib import Path

from tests.acceptance.processes import Worker, work

PROCESSES = 8
# An hour: by then every reminder that a test makes is due, and no lease has ended.
LATER_MS = 3_600_000


def test_eight_processes_on_one_session_write_one_log_and_wait_alike(fresh_database: str) -> None:
    each = 250
    ((session, lease),) = work("prepare", 1, [], database=fresh_database)
    with ExitStack() as running:
        workers = [
            running.enter_context(Worker("calls", session, lease, each, seed, database=fresh_database))
            for seed in range(PROCESSES)
        ]
        for worker in workers:
            worker.says("ready")
        for worker in workers:
            worker.go()
        calls = [worker.value() for worker in workers]
        assert "Traceback" not in "".join(worker.errors for worker in workers)

    said = [code for mine in calls for _, _, code in mine]
    ids = [code for code in said if code.startswith("schedule-")]
    assert {code for code in said if code not in ids} <= {
        *("deleted", "listed", "begun", "ended", "noted"),
        *("turn_open", "turn_not_open"),
    }
    assert sorted(ids) == sorted(f"schedule-{n}" for n in range(1, len(ids) + 1))
    assert work("tally", database=fresh_database) == {"created": len(ids), "queued": 0, "problems": []}

    overtaken = Overtaken(calls)
    assert overtaken.by_one <= 60, overtaken
    assert overtaken.by_all <= 250, overtaken
    assert overtaken.slowest >= each / 4, overtaken


def test_owners_in_four_processes_queue_each_reminder_once(fresh_database: str, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    rules = [{"after_seconds": 60}, {"every_seconds": 300}]
    sessions = work("prepare", 200, rules, database=fresh_database, clock=clock)
    clock.write_text(str(LATER_MS))
    with ExitStack() as running:

        def start(job: str, *arguments: object) -> Worker:
            return running.enter_context(Worker(job, *arguments, database=fresh_database, clock=clock))

        owners = [start("deliver") for _ in range(4)]
        hosts = [start("host", sessions[n::PROCESSES], 2) for n in range(PROCESSES)]
        for worker in (*owners, *hosts):
            worker.go()
        assert sum(host.value() for host in hosts) == 2 * len(sessions)
        assert [owner.stop() for owner in owners] == [0] * 4
        assert "Traceback" not in "".join(worker.errors for worker in (*owners, *hosts))

    tally = work("tally", database=fresh_database, clock=clock)
    assert tally == {"created": 400, "queued": 400, "problems": []}


class Overtaken:
    """How long calls waited, counted in calls that other processes ended meanwhile; no seconds, which a load bends.

    by_one: the most that one other process ended while a call waited.
    by_all: the most that all others together did.
    slowest: how many calls the slowest process had made when the first had made all of its own.
    """

    def __init__(self, calls: list[list[tuple[int, int, str]]]) -> None:
        ends = [[end for _, end, _ in mine] for mine in calls]
        first = min(mine[-1] for mine in ends)
        waits = [
            [bisect.bisect(other, end) - bisect.bisect(other, began) for other in ends if other is not mine]
            for mine, made in zip(ends, calls, strict=True)
            for began, end, _ in made
        ]
        self.by_one = max(map(max, waits))
        self.by_all = max(map(sum, waits))
        self.slowest = min(bisect.bisect(mine, first) for mine in ends)

    def __repr__(self) -> str:
        return f"by one {self.by_one}, by all {self.by_all}, slowest {self.slowest}"
