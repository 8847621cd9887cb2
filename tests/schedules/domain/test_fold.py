"""The fold of changes into active reminders."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.domain import codec, due, errors, fold, instants, records
from schedules.sessions import lossless
from schedules.sessions.events import SCHEDULE_CHANGE, Event
from schedules.sessions.lossless import Json
from tests.schedules.domain import strategies, vectors


def event(seq: int, data: Json) -> Event:
    return Event(seq=seq, type=SCHEDULE_CHANGE, time=0, data=data)


def summary(found: fold.Fold) -> dict[str, Any]:
    return {
        "active": [records.to_json(entry.record) for entry in found.active],
        "seenIds": list(found.entries),
        "nextId": fold.next_id(found.created, found.entries.__contains__),
    }


def log(row: dict[str, Any]) -> list[Event]:
    fold.check_seed_length(row["seedLength"], len(row["events"]))
    return [Event(**stored) for stored in row["events"]]


def apply_partially(stored: dict[str, fold.Entry | None], created: int, data: Json, seq: int) -> int:
    """Apply one change by a fold that holds nothing but the id that it names."""
    change = codec.decode(data)
    schedule_id = change.record.id if isinstance(change, codec.Create) else change.id
    partial = fold.Fold()
    partial.created = created
    if schedule_id in stored:
        partial.entries[schedule_id] = stored[schedule_id]
    partial.apply(change, seq)
    stored.update(partial.entries)
    return partial.created


def replay_partially(events: list[Event], seed_length: int) -> fold.Fold:
    whole = fold.Fold()
    for entry in events:
        if entry.type == SCHEDULE_CHANGE and entry.seq >= seed_length:
            whole.created = apply_partially(whole.entries, whole.created, entry.data, entry.seq)
    return whole


def test_every_recorded_log_folds_as_recorded() -> None:
    assert vectors.rows("fold")
    found = vectors.differences("fold", lambda row: summary(fold.replay(log(row), row["seedLength"])))
    assert found == []


def test_every_recorded_log_folds_as_recorded_from_stored_text() -> None:
    def answer(row: dict[str, Any]) -> object:
        rows = [(entry.seq, entry.type, lossless.dumps(entry.data)) for entry in log(row)]
        return summary(fold.replay_text(rows, row["seedLength"]))

    assert vectors.differences("fold", answer) == []


def test_every_recorded_log_folds_as_recorded_one_loaded_row_at_a_time() -> None:
    found = vectors.differences("fold", lambda row: summary(replay_partially(log(row), row["seedLength"])))
    assert found == []


def test_every_recorded_occurrence_is_ours() -> None:
    def answer(row: dict[str, Any]) -> object:
        found = fold.replay([event(0, {"version": 1, "operation": "create", "schedule": row["record"]})], 0)
        record = found.active[0].record
        accepted_at = instants.parse(row["acceptedAt"])
        assert accepted_at is not None
        assert record.seconds is not None
        found.apply(codec.Dispatch(id=record.id, accepted_at=accepted_at), 1)
        occurrence, _ = due.advance(record.scheduled_at, record.seconds * instants.SECOND, accepted_at)
        value = {"occurrenceAt": instants.render(occurrence)}
        if found.active:
            value["nextScheduledAt"] = instants.render(found.active[0].record.scheduled_at)
        return value

    assert vectors.differences("every", answer) == []


@settings(max_examples=200, deadline=None)
@given(st.lists(strategies.NEARLY_CHANGES, max_size=12))
def test_no_stream_of_json_raises_anything_but_a_corrupt_log_and_all_ways_agree(history: list[Json]) -> None:
    events = [event(seq, data) for seq, data in enumerate(history)]
    rows = [(entry.seq, entry.type, lossless.dumps(entry.data)) for entry in events]

    def outcome(replayed: Any) -> object:
        try:
            return summary(replayed())
        except errors.CorruptLog as error:
            return str(error.reason)

    whole = outcome(lambda: fold.replay(events, 0))
    assert outcome(lambda: fold.replay_text(rows, 0)) == whole
    assert outcome(lambda: replay_partially(events, 0)) == whole


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_partial_application_equals_whole_application_over_valid_histories(data: st.DataObject) -> None:
    whole, stored, created = fold.Fold(), dict[str, fold.Entry | None](), 0
    for seq in range(data.draw(st.integers(1, 25))):
        active = {entry.record.id: entry.record for entry in whole.active}
        change: codec.Change
        if not active or data.draw(st.booleans()):
            made = fold.next_id(whole.created, whole.entries.__contains__)
            change = codec.Create(record=data.draw(strategies.records_(st.just(made))))
        else:
            record = active[data.draw(st.sampled_from(sorted(active)))]
            accepted_at = record.scheduled_at if record.kind == "every" else None
            dispatch = codec.Dispatch(id=record.id, accepted_at=accepted_at)
            change = codec.Delete(id=record.id) if data.draw(st.booleans()) else dispatch
        whole.apply(change, seq)
        created = apply_partially(stored, created, codec.encode(change), seq)
    assert stored == whole.entries
    assert created == whole.created


def test_a_change_that_does_not_fit_changes_nothing_and_names_its_event() -> None:
    found = fold.Fold()
    record = records.Record(id="a", kind="every", prompt="p", scheduled_at=0, seconds=300)
    found.apply(codec.Create(record=record), 0)
    before = dict(found.entries)
    for change in (
        codec.Create(record=record),
        codec.Delete(id="b"),
        codec.Dispatch(id="a", accepted_at=None),
        codec.Dispatch(id="a", accepted_at=-1),
    ):
        with pytest.raises(errors.CorruptLog) as caught:
            found.apply(change, 9)
        assert caught.value.seq == 9
    assert found.entries == before
    assert found.created == 1


def test_a_replay_names_the_first_bad_event() -> None:
    with pytest.raises(errors.CorruptLog) as caught:
        fold.replay([event(4, None)], 0)
    assert caught.value.seq == 4
    with pytest.raises(errors.CorruptLog) as caught:
        fold.replay_text([(5, SCHEDULE_CHANGE, "{")], 0)
    assert caught.value.seq == 5


def test_an_ended_id_is_never_used_again() -> None:
    found = fold.Fold()
    record = records.Record(id="schedule-1", kind="at", prompt="p", scheduled_at=0, seconds=None)
    found.apply(codec.Create(record=record), 0)
    found.apply(codec.Delete(id="schedule-1"), 1)
    assert found.entries == {"schedule-1": None}
    assert fold.next_id(found.created, found.entries.__contains__) == "schedule-2"
    with pytest.raises(errors.CorruptLog):
        found.apply(codec.Create(record=record), 2)


def test_the_next_id_skips_ids_that_were_seen() -> None:
    assert fold.next_id(1, {"schedule-2", "schedule-3"}.__contains__) == "schedule-4"


def test_a_forks_own_events_alone_fold_without_its_prefix() -> None:
    assert fold.replay([], 5).active == []
    with pytest.raises(errors.CorruptLog):
        fold.check_seed_length(5, 4)
