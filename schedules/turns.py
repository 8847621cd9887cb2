"""Turns of the live session and the follow-ups that open them."""

from collections.abc import Iterable
from dataclasses import dataclass

from schedules import transaction
from schedules.domain import framing, instants, timecontext, zones
from schedules.idempotency import Once
from schedules.locked import Unit
from schedules.projection import rows
from schedules.sessions import events, inbox, log
from schedules.sessions.errors import Refusal
from schedules.sessions.events import Event
from schedules.sessions.lossless import Json

OUTCOMES = ("completed", "failed", "aborted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A user's message, and the zone that its words are meant in, if the host knows it."""

    text: str
    time_zone: str | None = None


def message(text: str, time_zone: Json = None) -> Message:
    """A user's message with its zone checked. Raises Refusal ``invalid_time_zone``."""
    if time_zone is None:
        return Message(text=text)
    name = zones.canonical(time_zone) if isinstance(time_zone, str) else None
    if name is None:
        raise Refusal(
            "invalid_time_zone",
            'clientTimeZone must be "UTC" or an IANA name such as "Europe/Paris". Leave it out if it is not known.',
            {"clientTimeZone": "UTC or an IANA Area/Location name"},
        )
    return Message(text=text, time_zone=name)


def begin(
    session_id: str,
    lease_id: str,
    said: Message | None,
    *,
    header_lease: str | None = None,
    once: Once | None = None,
) -> Json:
    """Begin a turn with a user's message, or with the oldest waiting follow-up where there is none.

    Raises Refusal: ``lease_lost``, ``turn_open``, ``nothing_to_claim``.
    """

    def action(unit: Unit) -> Json:
        unit.hold(lease_id)
        if unit.projection.inbox.turn is not None:
            raise Refusal("turn_open", "A turn is open. End it before you begin another.")
        if said is None:
            _claim(unit)
        else:
            number = unit.projection.inbox.last_turn + 1
            unit.append(events.TURN_START, {"turn": number, "source": "user"})
            _say(unit, number, said)
        return describe(unit.appended, unit.now)

    return transaction.perform(session_id, action, lease_id=header_lease, once=once)


def add_message(session_id: str, number: int, lease_id: str, said: Message, *, header_lease: str | None = None) -> Json:
    """Add a user's message to the open turn. Raises Refusal: ``lease_lost``, ``turn_not_open``."""

    def action(unit: Unit) -> Json:
        turn = _open_turn(unit, lease_id, number)
        stored = _turn_events(session_id, turn)
        _say(unit, number, said)
        return describe([*stored, *unit.appended], unit.now)

    return transaction.perform(session_id, action, lease_id=header_lease)


def end(
    session_id: str,
    number: int,
    lease_id: str,
    outcome: str,
    answer: str | None,
    *,
    header_lease: str | None = None,
    once: Once | None = None,
) -> Json:
    """End the open turn, with the assistant's text if there is one.

    Raises Refusal: ``lease_lost``, ``turn_not_open``.
    """

    def action(unit: Unit) -> Json:
        turn = _open_turn(unit, lease_id, number)
        stored = _turn_events(session_id, turn)
        if answer is not None:
            unit.append(events.ASSISTANT_MESSAGE, {"turn": number, "text": answer})
        unit.append(events.TURN_END, {"turn": number, "outcome": outcome})
        return {"turn": number, "outcome": outcome, "timeContext": describe(stored, unit.now)["timeContext"]}

    return transaction.perform(session_id, action, lease_id=header_lease, once=once)


def append_host_event(
    session_id: str, lease_id: str, kind: str, data: Json, *, header_lease: str | None = None
) -> Json:
    """Append an event of the host's own. Raises Refusal: ``lease_lost``, ``invalid_request``."""
    if not events.is_host_type(kind):
        raise Refusal(
            "invalid_request",
            "A host's event type holds a colon after the host's name, such as my-host:note, in at most 128 of "
            "A-Z a-z 0-9 . _ - / and the colon.",
            {"type": "a name with a colon, such as my-host:note"},
        )

    def action(unit: Unit) -> Json:
        unit.hold(lease_id)
        return unit.append(kind, data).to_json()

    return transaction.perform(session_id, action, lease_id=header_lease)


def discard(session_id: str, followup_id: str, lease_id: str, *, header_lease: str | None = None) -> Json:
    """Drop a waiting follow-up. Raises Refusal: ``lease_lost``; ``not_found`` where it does not wait."""

    def action(unit: Unit) -> Json:
        unit.hold(lease_id)
        unit.projection.load_followup(followup_id)
        found = unit.projection.inbox.followups.get(followup_id)
        if found is None or found.state != "waiting":
            raise Refusal("not_found", "No follow-up with that id is waiting in this session.")
        unit.append(events.FOLLOWUP_DISCARDED, {"followupId": followup_id})
        return {"followupId": followup_id, "discarded": True}

    return transaction.perform(session_id, action, lease_id=header_lease)


def queue_prompt(session_id: str, text: str) -> str | None:
    """Queue a prompt, as it is, for the host of a live session; the `followupId`. None where the session is busy.

    Needs no lease: whoever may reach the session may prompt it. Raises Refusal: ``not_found``, ``session_not_live``.
    """

    def action(unit: Unit) -> Json:
        if not unit.live:
            raise Refusal("session_not_live", "No host holds this session. Open it first.")
        if not unit.projection.idle:
            return None
        followup_id = log.new_id()
        unit.projection.expect_new_followup(followup_id)
        unit.append(events.FOLLOWUP_QUEUED, framing.prompt(followup_id, text))
        return followup_id

    answer = transaction.perform(session_id, action)
    return None if answer is None else str(answer)


def describe(turn_events: Iterable[Event], now: int) -> dict[str, Json]:
    """A turn from its start and its user messages: what its calls answer."""
    described: dict[str, Json] = {}
    messages: list[Json] = []
    zones_given: list[str | None] = []
    for event in turn_events:
        data = event.data if isinstance(event.data, dict) else {}
        if event.type == events.TURN_START:
            described = {"turn": data.get("turn"), "source": data.get("source", "user")}
            if "attempt" in data:
                described["attempt"] = data["attempt"]
        elif event.type == events.USER_MESSAGE:
            said: dict[str, Json] = {"seq": event.seq, "text": data.get("text", "")}
            if "followupId" in data:
                said["followupId"] = data["followupId"]
            messages.append(said)
            zone = data.get("clientTimeZone")
            zones_given.append(zone if isinstance(zone, str) else None)
    return {**described, "messages": messages, "timeContext": timecontext.context(zones_given, now)}


def followups(session_id: str, state: str, *, after: int = -1, limit: int) -> list[dict[str, Json]]:
    """A page of follow-ups in a state, oldest first."""
    found = rows.followups(session_id, state, after=after, limit=limit)
    queued = log.own_events(session_id, [followup.seq for followup in found])
    return [followup_view(followup, queued[followup.seq]) for followup in found]


def followup_view(followup: inbox.Followup, queued: Event) -> dict[str, Json]:
    """A follow-up as hosts see it."""
    data = queued.data if isinstance(queued.data, dict) else {}
    return {
        "followupId": followup.id,
        "seq": followup.seq,
        "queuedAt": instants.render(queued.time),
        "attempt": followup.attempt,
        "kind": data.get("kind", "prompt"),
        "reminders": data.get("reminders", []),
        "text": data.get("text", ""),
    }


def _claim(unit: Unit) -> None:
    followup = unit.projection.oldest_waiting()
    if followup is None:
        raise Refusal("nothing_to_claim", "No follow-up is waiting. Begin a turn with a message, or wait for one.")
    queued = log.own_events(unit.session_id, [followup.seq])[followup.seq]
    number = unit.projection.inbox.last_turn + 1
    text = followup_view(followup, queued)["text"]
    unit.append(
        events.TURN_START,
        {"turn": number, "source": "followup", "followupId": followup.id, "attempt": followup.attempt},
    )
    unit.append(events.USER_MESSAGE, {"turn": number, "text": text, "followupId": followup.id})


def _say(unit: Unit, number: int, said: Message) -> None:
    data: dict[str, Json] = {"turn": number, "text": said.text}
    if said.time_zone is not None:
        data["clientTimeZone"] = said.time_zone
    unit.append(events.USER_MESSAGE, data)


def _open_turn(unit: Unit, lease_id: str, number: int) -> inbox.OpenTurn:
    unit.hold(lease_id)
    turn = unit.projection.inbox.turn
    if turn is None or turn.number != number:
        raise Refusal("turn_not_open", "That turn is not open. The session's openTurn says which one is.")
    return turn


def _turn_events(session_id: str, turn: inbox.OpenTurn) -> list[Event]:
    return log.turn_events(session_id, turn.seq)
