"""What is shown of sessions, by the API and the commands: pages of them, one in full, and its reminders.

Nothing here locks or writes. Whatever one view says of a fold comes from one read of its state's row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from django.contrib.auth import get_user_model

from schedules import locked, turns
from schedules.domain import errors, instants, records
from schedules.projection import rows
from schedules.sessions import log, lossless
from schedules.sessions.lossless import Json

#: Where a page starts: after this instant of creation and id.
Key = tuple[int, str]

#: How many sessions one page looks at, at most.
MOST_EXAMINED = 10_000
_CHUNK = 1000
_EXHAUSTED_SHOWN = 1000

_HEADER = tuple(column.name for column in fields(log.Header))
_COLUMNS = ", ".join(f"s.{name}" for name in _HEADER)
_FROM_STATE = (
    "folded_through",
    "last_turn",
    "active",
    "waiting",
    "exhausted",
    "next_due",
    "turn",
    "turn_seq",
    "corrupt_seq",
)
_BESIDE = (
    f"l.holder, l.seconds, l.expires_at, {', '.join(f'st.{name}' for name in _FROM_STATE)} "
    "{source} LEFT JOIN schedules_lease l ON l.session_id = s.id "
    "LEFT JOIN schedules_sessionstate st ON st.session_id = s.id"
)
_LIVE = ("schedules_lease", "d.expires_at > %s")
_OVERDUE = ("schedules_sessionstate", "d.next_due <= %s")


def page(
    owner_id: int | None,
    now: int,
    *,
    only: str | None = None,
    live: bool | None = None,
    overdue: bool | None = None,
    origin: str | None = None,
    after: Key | None = None,
    limit: int,
) -> tuple[list[dict[str, Json]], Key | None]:
    """Up to ``limit`` sessions, newest first, and the key that the next page comes after; None on the last.

    ``owner_id`` None means everybody's; ``only`` is the id of the one session to show. A page looks at a bounded number
    of sessions, so one whose filters match few may be short, even empty, and still name a next.
    """
    driver = _driver(now, live=live, overdue=overdue)
    filtered = origin is not None or live is not None or overdue is not None
    found: list[_Row] = []
    examined = 0
    while True:
        size = _CHUNK if filtered else limit + 1
        chunk = _chunk(owner_id, only, now, driver, after, size)
        found += [row for row in chunk if row.matches(now, live=live, overdue=overdue, origin=origin)]
        examined += len(chunk)
        if len(found) > limit:
            following: Key | None = found[limit - 1].key
            break
        if len(chunk) < size:
            following = None
            break
        following = after = chunk[-1].key
        if examined >= MOST_EXAMINED:
            break
    shown = found[:limit]
    names = _usernames([row.header.owner_id for row in shown])
    return [row.shown(now, names) for row in shown], following


def view(header: log.Header, now: int) -> dict[str, Json]:
    """One session in full: as in a list, with the open turn as its call answered and exhausted follow-ups."""
    row = _row(
        rows.fetch(
            f"SELECT {_COLUMNS}, {_BESIDE.format(source='FROM schedules_session s')} WHERE s.id = %s",
            [header.id],
        )[0]
    )
    exhausted: list[Json] = [*turns.followups(header.id, "exhausted", limit=_EXHAUSTED_SHOWN)]
    return {
        **row.shown(now, _usernames([header.owner_id])),
        "openTurn": _open_turn(row, now),
        "exhausted": exhausted,
    }


def schedules(session_id: str, now: int, *, after: int = -1, limit: int) -> tuple[list[dict[str, Json]], int | None]:
    """Up to ``limit`` active reminders as views, in creation order, whether the session is live or cold.

    ``after`` is what the page before gave as the second part of its answer. Raises ScheduleError
    ``corrupt_schedule_log``.
    """
    active = rows.active_entries(session_id, after=after, limit=limit + 1)
    # After the reminders, not before: a log found corrupt in between has none, and must not pass as empty.
    state = rows.fetch("SELECT corrupt_seq FROM schedules_sessionstate WHERE session_id = %s", [session_id])
    if state and state[0][0] is not None:
        raise errors.CORRUPT.error()
    shown = active[:limit]
    following = shown[-1].seq if len(active) > limit else None
    return [records.view(entry.record, now) for entry in shown], following


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A session with its lease and the state of its fold.

    lease: its holder, seconds and end; None where no host took it.
    state: the columns of its fold; empty where nothing is folded yet.
    """

    header: log.Header
    lease: tuple[str, int, int] | None
    state: dict[str, int | None]

    @property
    def key(self) -> Key:
        return self.header.created_at, self.header.id

    def live(self, now: int) -> bool:
        return self.lease is not None and now < self.lease[2]

    def overdue(self, now: int) -> bool:
        due = self.state.get("next_due")
        return due is not None and due <= now

    def matches(self, now: int, *, live: bool | None, overdue: bool | None, origin: str | None) -> bool:
        return (
            (live is None or live == self.live(now))
            and (overdue is None or overdue == self.overdue(now))
            and (origin is None or origin == self.header.origin)
        )

    def shown(self, now: int, usernames: dict[int, str]) -> dict[str, Json]:
        header, state = self.header, self.state
        through = state.get("folded_through")
        return {
            "id": header.id,
            "createdAt": instants.render(header.created_at),
            "parentSession": header.parent,
            "seedLength": header.seed_length,
            "origin": header.origin,
            "title": header.title,
            "cwd": header.cwd,
            "metadata": lossless.loads_trusted(header.metadata),
            "owner": usernames.get(header.owner_id),
            "live": self.live(now),
            "corrupt": state.get("corrupt_seq") is not None,
            "lease": self._lease(now),
            "counts": {
                "events": header.seed_length if through is None else through + 1,
                "turns": state.get("last_turn") or 0,
                "reminders": state.get("active") or 0,
                "waiting": state.get("waiting") or 0,
                "exhausted": state.get("exhausted") or 0,
            },
        }

    def _lease(self, now: int) -> Json:
        if self.lease is None or not self.live(now):
            return None
        holder, seconds, expires_at = self.lease
        # After a clock rollback a lease never lasts longer than one lease time from now.
        end = min(expires_at, locked.lease_end(now, seconds))
        return {"holder": holder, "leaseSeconds": seconds, "expiresAt": instants.render(end)}


def _driver(now: int, *, live: bool | None, overdue: bool | None) -> tuple[str, str] | None:
    """The index that names the few sessions to look at; None where it names too many, or none is asked for.

    Where many match, walking all sessions from the newest finds a page sooner than sorting them would.
    """
    for wanted, (table, condition) in ((live, _LIVE), (overdue, _OVERDUE)):
        if wanted:
            few = f"SELECT 1 FROM {table} d WHERE {condition} LIMIT %s"
            if len(rows.fetch(few, [now, MOST_EXAMINED + 1])) <= MOST_EXAMINED:
                return table, condition
    return None


def _chunk(
    owner_id: int | None, only: str | None, now: int, driver: tuple[str, str] | None, after: Key | None, size: int
) -> list[_Row]:
    """The next ``size`` sessions of an owner, or of all, newest first, unfiltered but for the driver."""
    clauses: list[str] = []
    values: list[object] = []
    if driver is not None:
        clauses += ["s.id = d.session_id", driver[1]]
        values.append(now)
    if owner_id is not None:
        clauses.append("s.owner_id = %s")
        values.append(owner_id)
    if only is not None:
        clauses.append("s.id = %s")
        values.append(only)
    if after is not None:
        clauses.append("(s.created_at, s.id) < (%s, %s)")
        values += after
    where = f"WHERE {' AND '.join(clauses)}" if clauses else ""
    order = "ORDER BY s.created_at DESC, s.id DESC"
    if driver is None:
        head, pool = "", "schedules_session"
    else:
        # Materialized and CROSS JOIN: else a planner may walk all sessions to save a sort of these few.
        few = f"SELECT s.* FROM {driver[0]} d CROSS JOIN schedules_session s {where}"
        head, pool, where = f"WITH few AS MATERIALIZED ({few}) ", "few", ""
    source = f"FROM (SELECT * FROM {pool} s {where} {order} LIMIT %s) s"
    statement = f"{head}SELECT {_COLUMNS}, {_BESIDE.format(source=source)} {order}"
    return [_row(row) for row in rows.fetch(statement, [*values, size])]


def _row(row: Sequence[Any]) -> _Row:
    header, beside = row[: len(_HEADER)], row[len(_HEADER) :]
    state = dict(zip(_FROM_STATE, beside[3:], strict=True))
    return _Row(
        header=log.Header(**dict(zip(_HEADER, header, strict=True))),
        lease=None if beside[0] is None else (beside[0], beside[1], beside[2]),
        state={} if state["folded_through"] is None else state,
    )


def _open_turn(row: _Row, now: int) -> Json:
    number, start, through = (row.state.get(name) for name in ("turn", "turn_seq", "folded_through"))
    if number is None or start is None or through is None:
        return None
    # The turn may have ended since the state was read: what came later is no part of it.
    said = [event for event in log.turn_events(row.header.id, start) if event.seq <= through]
    # An imported log may give its turn no number, or a used one.
    return {**turns.describe(said, now), "turn": number}


def _usernames(owner_ids: Sequence[int]) -> dict[int, str]:
    found = get_user_model()._default_manager.filter(pk__in=set(owner_ids))
    return {user.pk: user.get_username() for user in found}
