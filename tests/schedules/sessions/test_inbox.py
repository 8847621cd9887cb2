"""The open turn and the waiting follow-ups, as the log tells them."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.sessions import events, inbox
from schedules.sessions.events import Event
from schedules.sessions.inbox import Followup, Inbox, OpenTurn
from schedules.sessions.lossless import Json
from tests.schedules.domain import strategies


def log(*entries: tuple[str, Any]) -> list[Event]:
    return [Event(seq=seq, type=kind, time=0, data=data) for seq, (kind, data) in enumerate(entries)]


def replay(*entries: tuple[str, Any]) -> Inbox:
    return inbox.replay(log(*entries), 0)


def state(found: Inbox) -> tuple[object, ...]:
    return (found.turn, found.last_turn, found.claimed, found.followups)


QUEUED = (events.FOLLOWUP_QUEUED, {"followupId": "f"})
CLAIM = (events.TURN_START, {"turn": 1, "followupId": "f"})
INTERRUPTED = (events.TURN_END, {"outcome": "interrupted"})
FAILED = (events.TURN_END, {"outcome": "failed"})


def test_an_empty_session_has_no_turn_and_nothing_waits() -> None:
    assert state(replay()) == (None, 0, None, {})


def test_queued_followups_wait_in_the_order_of_their_events() -> None:
    found = replay((events.FOLLOWUP_QUEUED, {"followupId": "b"}), (events.FOLLOWUP_QUEUED, {"followupId": "a"}))
    assert [followup.id for followup in found.waiting] == ["b", "a"]
    assert found.waiting[0] == Followup(id="b", seq=0, attempt=1, state="waiting")


def test_a_queued_followup_that_is_known_or_malformed_is_ignored() -> None:
    malformed: tuple[Json, ...] = (None, [], {}, {"followupId": 1})
    found = replay(QUEUED, QUEUED, *((events.FOLLOWUP_QUEUED, data) for data in malformed))
    assert found.waiting == [Followup(id="f", seq=0, attempt=1, state="waiting")]


def test_a_claim_takes_a_followup_out_of_the_queue_and_its_turns_end_is_its_end() -> None:
    assert replay(QUEUED, CLAIM).claimed == "f"
    assert replay(QUEUED, CLAIM).waiting == []
    assert replay(QUEUED, CLAIM).turn == OpenTurn(number=1, seq=1)
    others: tuple[Json, ...] = ({"outcome": "failed"}, {"outcome": "completed"}, {"outcome": "aborted"}, {}, None, 7)
    for data in others:
        assert state(replay(QUEUED, CLAIM, (events.TURN_END, data))) == (None, 1, None, {})


def test_an_interrupted_followup_returns_to_the_front_with_its_attempt_one_higher() -> None:
    found = replay(QUEUED, (events.FOLLOWUP_QUEUED, {"followupId": "g"}), CLAIM, INTERRUPTED)
    assert [(followup.id, followup.attempt) for followup in found.waiting] == [("f", 2), ("g", 1)]


def test_a_followup_is_exhausted_after_three_interrupted_attempts() -> None:
    found = replay(QUEUED, *(CLAIM, INTERRUPTED) * 3)
    assert found.waiting == []
    assert found.exhausted == [Followup(id="f", seq=0, attempt=3, state="exhausted")]
    assert replay(QUEUED, *(CLAIM, INTERRUPTED) * 3, CLAIM).claimed is None
    assert replay(QUEUED, *(CLAIM, INTERRUPTED) * 2, CLAIM, FAILED).followups == {}


def test_only_a_waiting_followup_is_discarded() -> None:
    discarded = (events.FOLLOWUP_DISCARDED, {"followupId": "f"})
    assert replay(QUEUED, discarded).followups == {}
    assert replay(QUEUED, CLAIM, discarded).claimed == "f"
    assert replay(QUEUED, CLAIM, discarded, INTERRUPTED).waiting != []
    assert replay(discarded, (events.FOLLOWUP_DISCARDED, None)).followups == {}


def test_a_turn_opens_and_closes_whatever_its_data() -> None:
    wrong: tuple[Json, ...] = ("x", True, 0, -3, 1.5, None, [])
    numbered: list[Json] = [{"turn": turn} for turn in wrong]
    for data in (*wrong, *numbered, {}):
        assert replay((events.TURN_START, data)).turn == OpenTurn(number=1, seq=0)
        assert replay((events.TURN_START, {}), (events.TURN_END, data)).turn is None


def test_a_turns_number_is_the_given_one_where_it_rises_and_never_repeats() -> None:
    numbers = []
    found = Inbox()
    for seq, turn in enumerate((4, 4.0, 3, 10, 2**53, None, 2**53 - 1)):
        found.apply(Event(seq=seq, type=events.TURN_START, time=0, data={"turn": turn}))
        numbers.append(found.last_turn)
    assert numbers == [4, 5, 6, 10, 11, 12, 2**53 - 1]


def test_a_turn_that_starts_inside_another_ends_it_and_its_followup_with_it() -> None:
    found = replay(QUEUED, CLAIM, (events.TURN_START, {"turn": 2}), INTERRUPTED)
    assert state(found) == (None, 2, None, {})
    assert replay(QUEUED, CLAIM, CLAIM).claimed is None


def test_an_end_without_a_turn_changes_nothing() -> None:
    assert state(replay(QUEUED, INTERRUPTED)) == state(replay(QUEUED))


def test_a_forks_inherited_events_count_for_nothing() -> None:
    found = inbox.replay(log(QUEUED, CLAIM, (events.FOLLOWUP_QUEUED, {"followupId": "g"})), 2)
    assert found.turn is None
    assert [followup.id for followup in found.waiting] == ["g"]


def test_other_events_mention_no_followup() -> None:
    for kind in (events.TURN_END, events.USER_MESSAGE, "host:x"):
        assert inbox.mentioned(Event(seq=0, type=kind, time=0, data={"followupId": "f"})) is None
    assert inbox.mentioned(Event(seq=0, type=events.TURN_START, time=0, data={"followupId": "f"})) == "f"


IDS = st.sampled_from(("f", "g", "h"))
DATA = st.one_of(
    st.fixed_dictionaries({}, optional={"followupId": IDS, "turn": st.integers(-1, 9)}),
    st.fixed_dictionaries({"outcome": st.sampled_from(("interrupted", "failed"))}),
    strategies.JSON,
)
TYPES = st.sampled_from((events.TURN_START, events.TURN_END, events.FOLLOWUP_QUEUED, events.FOLLOWUP_DISCARDED))
HISTORIES = st.lists(st.tuples(TYPES | st.text(max_size=3), DATA), max_size=30)


@settings(max_examples=300, deadline=None)
@given(HISTORIES)
def test_partial_application_equals_whole_application_over_any_history(history: list[tuple[str, Json]]) -> None:
    whole, stored = Inbox(), dict[str, Followup]()
    turn, last_turn, claimed = None, 0, None
    for event in log(*history):
        whole.apply(event)
        loaded = {i for i in (inbox.mentioned(event), claimed) if i is not None}
        partial = Inbox(turn=turn, last_turn=last_turn, claimed=claimed)
        partial.followups = {i: stored[i] for i in loaded if i in stored}
        partial.apply(event)
        for followup_id in loaded:
            stored.pop(followup_id, None)
        stored.update(partial.followups)
        turn, last_turn, claimed = partial.turn, partial.last_turn, partial.claimed
    assert (turn, last_turn, claimed, stored) == state(whole)
    assert (whole.claimed is None) or whole.turn is not None
    assert len(whole.waiting) + len(whole.exhausted) + (whole.claimed is not None) == len(whole.followups)
