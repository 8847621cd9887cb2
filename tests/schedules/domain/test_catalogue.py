"""The catalogue of event types, whose schemas agree with what the code writes and takes."""

from typing import Any

from hypothesis import given, settings
from jsonschema import Draft202012Validator

from schedules.domain import catalogue, codec, due, errors, framing
from schedules.sessions import events
from schedules.sessions.lossless import Json
from tests.schedules.domain import strategies, vectors

SCHEMAS: dict[str, Any] = {str(entry["type"]): entry["schema"] for entry in catalogue.EVENT_TYPES}
CHANGE = Draft202012Validator(SCHEMAS[events.SCHEDULE_CHANGE])


def test_every_type_that_wakeful_writes_is_listed_once_and_hosts_types_as_one() -> None:
    listed = [entry["type"] for entry in catalogue.EVENT_TYPES]
    assert listed == [*events.WAKEFUL_TYPES, catalogue.HOST_TYPE]
    assert [entry["writer"] for entry in catalogue.EVENT_TYPES] == ["wakeful"] * 9 + ["host"]
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


def test_the_schema_of_changes_takes_and_refuses_what_the_strict_decoder_does() -> None:
    checked = 0
    for row in vectors.rows("fold"):
        for event in row["events"]:
            if event["type"] != events.SCHEDULE_CHANGE:
                continue
            try:
                codec.decode(event["data"])
                decoded = True
            except errors.CorruptLog as error:
                # A pattern cannot know the calendar.
                decoded = error.reason == "an instant is malformed or impossible" and CHANGE.is_valid(event["data"])
            assert CHANGE.is_valid(event["data"]) == decoded, event["data"]
            checked += 1
    assert checked > 5_000


@settings(max_examples=100, deadline=None)
@given(strategies.changes())
def test_every_change_that_can_be_written_matches_its_schema(change: codec.Change) -> None:
    assert CHANGE.is_valid(codec.encode(change))


def test_a_queued_followup_matches_its_schema() -> None:
    reminder = due.Reminder(id="schedule-1", occurrence=0, prompt="p")
    admission = due.Admission(kind="batch", reminders=(reminder,), accepted_at=0)
    data: Json = framing.queued(admission, "f", framing.frame(admission))
    assert Draft202012Validator(SCHEMAS[events.FOLLOWUP_QUEUED]).is_valid(data)
