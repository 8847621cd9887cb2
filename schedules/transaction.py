"""The one serialized path of a session: lock, fold, act, append, project, commit.

Tools, the live handle and the owner all come through here, in every process of every machine that shares the
database. A caller hands in an action; it gets a :class:`~schedules.locked.Unit`, the session as it stands under its
lock at one sample of the clock, and appends to it. Whatever it raises undoes everything.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction

from schedules import idempotency, locked, turnstile
from schedules.idempotency import Once
from schedules.locked import Unit
from schedules.projection import rows
from schedules.sessions import lossless
from schedules.sessions.errors import PersistenceUncertain, Refusal

logger = logging.getLogger(__name__)

_GIVE_UP_AFTER = 3

#: What Django raises where the database cannot be asked or confirms nothing. An InternalError is its own fault, or a
#: transaction that it ended or never let write: one idle for too long, or a standby after a failover.
UNANSWERED = (OperationalError, InterfaceError, InternalError)

#: Called after each commit with what it changed, in the committing thread: hints for the owner and for long polls.
listeners: list[Callable[[Sequence[Unit]], None]] = []


def perform(
    session_id: str,
    action: Callable[[Unit], lossless.Json],
    *,
    lease_id: str | None = None,
    once: Once | None = None,
) -> lossless.Json:
    """Run one call on a session and answer when what it wrote is durable.

    ``lease_id``, from the ``Wakeful-Lease`` header, must hold the session, and is renewed. Raises Refusal, whatever the
    action raises, and PersistenceUncertain where the database cannot be asked or did not confirm.
    """
    with barrier():
        units = locked.take([session_id])
        if not units:
            raise Refusal("not_found", "There is no such session.")
        (session,) = units
        if (answer := idempotency.answered(session_id, once)) is not None:
            return answer
        if lease_id is not None:
            session.hold(lease_id)
        answer = action(session)
        if once is not None and session.appended:
            idempotency.keep(session_id, once, answer, session.now)
        locked.flush(units)
    announce(units)
    return answer


@contextmanager
def asking() -> Iterator[None]:
    """Turn a database that cannot be reached into PersistenceUncertain."""
    try:
        yield
    except UNANSWERED as error:
        logger.warning("the database did not answer: %s: %s", type(error).__name__, " ".join(str(error).split()))
        # Perhaps only this connection cannot: one that SQLite opened while the file was read-only never writes again.
        if not connection.in_atomic_block:
            connection.close()
        raise PersistenceUncertain from error


@contextmanager
def barrier() -> Iterator[None]:
    """A durable transaction: when the block ends without an error, what it wrote has been confirmed as committed."""
    with ExitStack() as turn:
        if connection.vendor == "sqlite":
            try:
                turn.enter_context(turnstile.turn(str(connection.settings_dict["NAME"]), settings.LOCK_SECONDS))
            except OSError as error:
                logger.warning("no turn to write: %s", error or type(error).__name__)
                raise PersistenceUncertain from error
        with asking(), transaction.atomic(durable=True):
            yield


def announce(units: Sequence[Unit]) -> None:
    """Tell this process's listeners of a commit. They give hints: none of their faults may look like the commit's."""
    for listener in tuple(listeners):
        try:
            listener(units)
        except Exception:
            logger.exception("a listener failed after a commit, which stands")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What became of many sessions: units committed, ids skipped because others hold their lock, ids that failed."""

    done: list[Unit]
    skipped: list[str]
    failed: list[str]


def perform_each(session_ids: Sequence[str], action: Callable[[Sequence[Unit]], list[Unit]]) -> Batch:
    """Run one step on many sessions in one commit; where that fails, on each by itself.

    ``action`` gets the units it could lock and gives back those to write; it leaves out the ones that it could not
    decide. One session whose part fails is left out and the others commit.
    """
    try:
        return _together(session_ids, action)
    except Exception as error:
        if isinstance(error, PersistenceUncertain) and (len(session_ids) == 1 or not _reachable()):
            raise
        logger.warning("a commit for %d sessions failed; trying each by itself", len(session_ids), exc_info=True)
    done: list[Unit] = []
    skipped: list[str] = []
    failed: list[str] = []
    unanswered = 0
    for session_id in session_ids:
        try:
            one = _together([session_id], action)
        except Exception as error:
            logger.exception("session %s: nothing was written", session_id)
            failed.append(session_id)
            # One session can be poisoned; when all or several in a row get no answer, it is the database that is gone.
            unanswered = unanswered + 1 if isinstance(error, PersistenceUncertain) else 0
            if unanswered == min(_GIVE_UP_AFTER, len(session_ids)):
                raise
        else:
            unanswered = 0
            done += one.done
            skipped += one.skipped
            failed += one.failed
    return Batch(done=done, skipped=skipped, failed=failed)


def _reachable() -> bool:
    try:
        with asking():
            rows.fetch("SELECT 1", [])
    except PersistenceUncertain:
        return False
    return True


def _together(session_ids: Sequence[str], action: Callable[[Sequence[Unit]], list[Unit]]) -> Batch:
    with barrier():
        units = locked.take(session_ids, skip_locked=True)
        done = action(units)
        # Whatever made a session look due, its row tells the truth afterwards: no owner sees it for ever.
        locked.flush(done, rearm=True)
    announce(done)
    taken = {one.session_id for one in units}
    written = {one.session_id for one in done}
    return Batch(
        done=done,
        skipped=[i for i in session_ids if i not in taken],
        failed=[i for i in taken if i not in written],
    )


def replayed(session_id: str, once: Once | None) -> lossless.Json:
    """The first answer to this key, asked before anything else of a call is checked; None where it has none yet.

    Raises Refusal ``idempotency_conflict``.
    """
    with asking():
        return idempotency.answered(session_id, once)
