"""What a follow-up takes, and the recorded deliveries."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.domain import codec, due, errors, fold, instants, records, rules
from tests.schedules.domain import strategies, vectors


def entry(seq: int, kind: records.Kind, target: int, seconds: int = 300) -> fold.Entry:
    record = records.Record(
        id=f"schedule-{seq}",
        kind=kind,
        prompt=f"prompt {seq}",
        scheduled_at=target,
        seconds=None if kind == "at" else seconds,
    )
    return fold.Entry(record=record, seq=seq)


def picked(active: list[fold.Entry], now: int) -> list[str]:
    admission = due.pick(active, now)
    return [] if admission is None else [reminder.id for reminder in admission.reminders]


def test_nothing_is_taken_before_its_target() -> None:
    assert due.pick([entry(1, "at", 10), entry(2, "every", 10)], 9) is None
    assert due.pick([], 9) is None


def test_a_one_shot_goes_alone_before_every_reminders_earliest_target_first() -> None:
    active = [entry(1, "every", 1), entry(2, "at", 7), entry(3, "after", 5), entry(4, "at", 5)]
    admission = due.pick(active, 10)
    assert admission == due.Admission(
        kind="one-shot",
        reminders=(due.Reminder(id="schedule-3", occurrence=5, prompt="prompt 3"),),
        accepted_at=10,
    )
    assert due.changes(admission) == [codec.Dispatch(id="schedule-3", accepted_at=None)]


def test_a_one_shot_that_is_not_due_does_not_hold_up_a_batch() -> None:
    assert picked([entry(1, "at", 11), entry(2, "every", 5)], 10) == ["schedule-2"]


def test_a_batch_takes_all_overdue_every_reminders_in_target_then_creation_order() -> None:
    active = [entry(3, "every", 5), entry(1, "every", 7), entry(2, "every", 5), entry(4, "every", 999_999)]
    admission = due.pick(active, 300_006)
    assert admission is not None
    assert admission.kind == "batch"
    assert [(r.id, r.occurrence) for r in admission.reminders] == [
        ("schedule-2", 300_005),
        ("schedule-3", 300_005),
        ("schedule-1", 7),
    ]
    assert due.changes(admission) == [codec.Dispatch(id=f"schedule-{n}", accepted_at=300_006) for n in (2, 3, 1)]


def test_a_clock_past_the_last_year_still_decides_at_an_instant_that_can_be_written() -> None:
    admission = due.pick([entry(1, "every", 0)], instants.MAX + 10**15)
    assert admission is not None
    assert instants.render(admission.accepted_at) == "9999-12-31T23:59:59.999Z"


@settings(max_examples=100, deadline=None)
@given(st.lists(strategies.records_(), max_size=8, unique_by=lambda record: record.id), strategies.INSTANTS)
def test_what_is_picked_can_always_be_folded_and_nothing_stays_overdue(made: list[records.Record], now: int) -> None:
    found = fold.Fold()
    for seq, record in enumerate(made):
        found.apply(codec.Create(record=record), seq)
    for _ in range(len(made) + 1):
        admission = due.pick(found.active, now)
        if admission is None:
            break
        for change in due.changes(admission):
            assert codec.decode(codec.encode(change)) == change
            found.apply(change, 100)
    assert all(active.record.scheduled_at > now for active in found.active)


class Simulation:
    """A host and an owner with no database: one session, whose time moves only as a recorded scenario says."""

    def __init__(self, start: str) -> None:
        self.now = instant(start)
        self.fold = fold.Fold()
        self.busy, self.live = False, True
        self.followups: list[dict[str, Any]] = []
        self.changes: list[dict[str, Any]] = []

    def write(self, change: codec.Change) -> None:
        self.fold.apply(change, len(self.changes))
        self.changes.append(codec.encode(change))

    def deliver(self) -> None:
        admission = due.pick(self.fold.active, self.now) if self.live and not self.busy else None
        if admission is None:
            return
        for change in due.changes(admission):
            self.write(change)
        reminders = [
            {"id": r.id, "occurrenceAt": instants.render(r.occurrence), "prompt": r.prompt} for r in admission.reminders
        ]
        self.followups.append({"at": instants.render(self.now), "kind": admission.kind, "reminders": reminders})
        self.busy = True

    def advance(self, minutes: int) -> None:
        end = self.now + minutes * instants.MINUTE
        while self.now < end:
            waits = self.live and not self.busy
            targets = [active.record.scheduled_at for active in self.fold.active] if waits else []
            self.now = min([end, *(target for target in targets if target > self.now)])
            self.deliver()

    def call(self, name: str, arguments: Any) -> Any:
        try:
            if name == "schedule_create":
                request = rules.parse_create(arguments)
                made = fold.next_id(self.fold.created, self.fold.entries.__contains__)
                record = rules.resolve(request, made, self.now)
                self.write(codec.Create(record=record))
                return records.view(record, self.now)
            if name == "schedule_delete":
                schedule_id = rules.parse_delete(arguments)
                if self.fold.entries.get(schedule_id) is None:
                    return {"id": schedule_id, "deleted": False, "code": "schedule_not_found"}
                self.write(codec.Delete(id=schedule_id))
                return {"id": schedule_id, "deleted": True}
        except errors.ScheduleError as error:
            return {"code": error.code}
        rules.parse_list(arguments)
        return [records.view(active.record, self.now) for active in self.fold.active]

    def step(self, step: dict[str, Any]) -> Any:
        match step["op"]:
            case "advance":
                self.advance(step["minutes"])
            case "begin_turn":
                self.busy = True
            case "end_turn":
                self.busy = False
            case "close":
                self.live = self.busy = False
            case "open":
                self.live = True
            case name:
                result = self.call(name, step.get("args", {}))
                self.deliver()
                return result
        self.deliver()
        return None


def instant(text: str) -> int:
    parsed = instants.parse(text)
    assert parsed is not None
    return parsed


def test_every_recorded_delivery_scenario_runs_as_recorded() -> None:
    for row in vectors.rows("delivery"):
        simulation = Simulation(row["start"])
        for step in row["steps"]:
            result = simulation.step(step)
            assert result == step.get("result"), step
        assert simulation.followups == row["followups"]
        assert simulation.changes == row["changes"]
        assert simulation.call("schedule_list", {}) == row["final"]
