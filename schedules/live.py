"""The live handle: how a host takes a session, keeps it, and gives it back."""

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError

from schedules import clock, locked, transaction
from schedules.domain import instants
from schedules.locked import Hold, Unit
from schedules.projection import rows
from schedules.sessions import events, log
from schedules.sessions.errors import Refusal
from schedules.sessions.lossless import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a host asks for a session.

    holder: the host's name for itself; the same one takes over its own lease.
    seconds: how long the lease lasts unless renewed; None for the default of the settings.
    """

    holder: str
    seconds: int | None = None


def create(made: log.Header, opening: Opening | None = None) -> dict[str, Json]:
    """Write a new session, opened at once where asked; the lease's fields where it was.

    Raises Refusal: ``session_exists``, ``limit_reached``.
    """
    units: list[Unit] = []
    with transaction.barrier():
        _insert(made)
        claim_quota(made.owner_id)
        lease: dict[str, Json] = {}
        if opening is not None:
            units = locked.take([made.id])
            lease = _open(units[0], opening)
            locked.flush(units)
    transaction.announce(units)
    return lease


def fork(
    parent: log.Header,
    *,
    session_id: str,
    owner_id: int,
    boundary: int | None = None,
    lease_id: str | None = None,
) -> log.Header:
    """Make a child that inherits the parent's events up to and with ``boundary`` (default: all of them).

    ``lease_id``, from the ``Wakeful-Lease`` header, must hold the parent, and is renewed. Raises Refusal: ``turn_open``
    inside an open turn, ``invalid_request`` for a boundary that is no event, ``session_exists``, ``limit_reached``,
    ``lease_lost``. The parent's events never change, so they need no lock.
    """
    held: list[Unit] = []
    with transaction.barrier():
        if lease_id is not None:
            held = locked.take([parent.id])
            for unit in held:
                unit.hold(lease_id)
        last = log.last_seq(parent)
        cut = last if boundary is None else boundary
        if boundary is not None and not 0 <= boundary <= last:
            raise Refusal(
                "invalid_request",
                "boundary must be the seq of one of the session's events.",
                {"boundary": f"a whole number from 0 to {last}" if last >= 0 else "leave it out: there are no events"},
            )
        if log.turn_open_at(parent, cut):
            raise Refusal("turn_open", "A turn is open at that event. Fork before it starts or after it ends.")
        try:
            child = log.fork(parent, session_id=session_id, owner_id=owner_id, boundary=cut, now=clock.sample())
        except IntegrityError as error:
            raise _taken() from error
        claim_quota(owner_id)
        locked.flush(held)
    transaction.announce(held)
    return child


def open_(session_id: str, opening: Opening) -> Json:
    """Take the session. Raises Refusal: ``session_live`` where another holder has it."""

    def action(unit: Unit) -> Json:
        # Refused after the commit, not inside it: a lease that a clock rollback made too long is cut for good, so
        # that a caller who asks again gets the session one lease time later.
        return None if _held_by_another(unit, opening) else _open(unit, opening)

    answer = transaction.perform(session_id, action)
    if answer is None:
        raise Refusal(
            "session_live",
            "Another holder has this session. Wait until it closes the session or its lease ends.",
        )
    return answer


def renew(session_id: str, lease_id: str, *, header_lease: str | None = None) -> Json:
    """Prolong the lease. Raises Refusal: ``lease_lost``."""

    def action(unit: Unit) -> Json:
        unit.hold(lease_id)
        return lease_fields(unit)

    return transaction.perform(session_id, action, lease_id=header_lease)


def close(session_id: str, lease_id: str, *, header_lease: str | None = None) -> Json:
    """Give the session back; an open turn ends interrupted. Raises Refusal: ``lease_lost``."""

    def action(unit: Unit) -> Json:
        unit.hold(lease_id)
        end(unit, "closed")
        return {"closed": True}

    return transaction.perform(session_id, action, lease_id=header_lease)


def catch_up(session_id: str) -> None:
    """Fold what stands in the log past the session's projection, for a read that takes no lock to see it.

    Every path of the code leaves both in step; only what a hand wrote into the database can lie beyond.
    """
    with transaction.asking():
        ((behind,),) = rows.fetch(
            "SELECT max(seq) > COALESCE((SELECT folded_through FROM schedules_sessionstate WHERE session_id = %s), -1) "
            "FROM schedules_sessionevent WHERE session_id = %s",
            [session_id, session_id],
        )
    if behind:
        transaction.perform(session_id, lambda unit: None)


def end(unit: Unit, reason: str) -> None:
    """Write the end of the session's live time: ``closed`` or ``lease_expired``."""
    _interrupt(unit)
    unit.append(events.SESSION_CLOSED, {"reason": reason})
    unit.set_lease(None)


def expire(unit: Unit) -> None:
    """Write into the log, once, that the lease has ended by itself."""
    if unit.lease is not None and not unit.live:
        end(unit, "lease_expired")


def lease_fields(unit: Unit) -> dict[str, Json]:
    """What the holder is told of its lease."""
    if unit.lease is None:
        return {}
    return {
        "leaseId": unit.lease.lease_id,
        "leaseSeconds": unit.lease.seconds,
        "expiresAt": instants.render(unit.lease.expires_at),
    }


def claim_quota(user_id: int) -> None:
    """Count one more session of a user. Raises Refusal ``limit_reached`` at the cap of the settings."""
    for _ in range(2):
        if rows.execute(
            "UPDATE schedules_sessionquota SET sessions = sessions + 1 WHERE user_id = %s AND sessions < %s",
            [user_id, settings.WAKEFUL_MAX_SESSIONS],
        ):
            return
        rows.execute(
            "INSERT INTO schedules_sessionquota (user_id, sessions) VALUES (%s, 0) ON CONFLICT DO NOTHING",
            [user_id],
        )
    raise Refusal("limit_reached", f"A user can have {settings.WAKEFUL_MAX_SESSIONS} sessions.")


def _insert(made: log.Header) -> None:
    try:
        log.create(made)
    except IntegrityError as error:
        raise _taken() from error


def _taken() -> Refusal:
    return Refusal("session_exists", "That session id is taken. Choose another, or leave id out to be given one.")


def _held_by_another(unit: Unit, opening: Opening) -> bool:
    return unit.live and unit.lease is not None and unit.lease.holder != opening.holder


def _open(unit: Unit, opening: Opening) -> dict[str, Json]:
    expire(unit)
    # A restarted host's own turn, or one that an imported log left open: nobody will end it any more.
    _interrupt(unit)
    seconds = settings.WAKEFUL_LEASE_SECONDS if opening.seconds is None else opening.seconds
    unit.append(events.SESSION_OPENED, {"holder": opening.holder})
    unit.set_lease(
        Hold(
            lease_id=secrets.token_urlsafe(18),
            holder=opening.holder,
            seconds=seconds,
            expires_at=locked.lease_end(unit.now, seconds),
        )
    )
    return lease_fields(unit)


def _interrupt(unit: Unit) -> None:
    turn = unit.projection.inbox.turn
    if turn is not None:
        unit.append(events.TURN_END, {"turn": turn.number, "outcome": "interrupted"})
