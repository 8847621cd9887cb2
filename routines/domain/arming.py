"""When a job fires next, and what is done about the slots that nobody was there to fire."""

from dataclasses import dataclass

from routines.domain import manifest, timing
from routines.domain.slots import jitter
from schedules.domain import instants

#: A slot picked up later than this is missed.
MISSED_MS = 60 * instants.SECOND
#: How far back catch-up of `all` goes.
CATCHUP_MS = 24 * 3600 * instants.SECOND
#: How far apart the slots of a catch-up begin at least.
STAGGER_MS = instants.SECOND
#: How many dropped slots are counted one by one.
COUNTED = 1_000
#: Slots due at once that are not missed: five-second intervals within the minute, and some room.
_FRESH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Armed:
    """The next firing of a job.

    slot: its nominal time, in epoch milliseconds; None where no time fires it any more.
    fire_at: the same with its jitter.
    """

    slot: int | None
    fire_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What to do about the slots of a job up to now.

    fire: the slots to fire now, oldest first.
    catch_up: the missed ones to make up for, oldest first.
    dropped: how many were missed and are let go; over COUNTED means "at least so many".
    last_dropped: the latest of them.
    cursor: every slot up to it is dealt with.
    """

    fire: tuple[int, ...]
    catch_up: tuple[int, ...]
    dropped: int
    last_dropped: int | None
    cursor: int


def arm(routine: manifest.Routine, anchor: int, cursor: int) -> Armed:
    """The first firing of a slot later than `cursor`."""
    slots = timing.slots(routine.schedule, anchor)
    slot = slots.next_after(cursor)
    if slot is None:
        return Armed(slot=None, fire_at=None)
    window = _window(routine.schedule)
    if not window:
        return Armed(slot=slot, fire_at=slot)
    # The next slot bounds the jitter; it is looked for only where there is any.
    return Armed(slot=slot, fire_at=slot + jitter.jitter(routine.id, slot, window, slots.next_after(slot)))


def due(routine: manifest.Routine, anchor: int, cursor: int, now: int) -> Due:
    """What to do about the slots after `cursor` whose firing, jitter included, is at or before `now`.

    However long nothing ran, the work is bounded: a day's slots for `all`, a logarithm for `one`.
    """
    slots = timing.slots(routine.schedule, anchor)
    window = _window(routine.schedule) * instants.SECOND
    # A slot whose jitter still lies ahead is not due; those before this line all are missed.
    line = now - MISSED_MS - window - 1
    fire: list[int] = []
    missed: list[int] = []
    upto = max(cursor, line)
    if (latest := slots.latest_between(cursor, line)) is not None:
        missed.append(latest)
    for slot in slots.between(upto, now, _FRESH + window // (5 * instants.SECOND)):
        fire_at = slot
        if window:
            fire_at += jitter.jitter(routine.id, slot, window // instants.SECOND, slots.next_after(slot))
        if fire_at > now:
            break
        (missed if now - fire_at > MISSED_MS else fire).append(slot)
        upto = slot
    if not missed:
        return Due(fire=tuple(fire), catch_up=(), dropped=0, last_dropped=None, cursor=upto)
    end = missed[-1]
    catchup = routine.schedule.catchup if isinstance(routine.schedule, manifest.CronSchedule) else "skip"
    if catchup == "one":
        caught = [end]
    elif catchup == "all":
        caught = slots.between(max(cursor, now - CATCHUP_MS), end, CATCHUP_MS // instants.MINUTE + 1)
    else:
        caught = []
    # Those before the first that is caught up are dropped, or all.
    before = caught[0] - 1 if caught else end
    dropped = slots.between(cursor, before, COUNTED + 1)
    last_dropped = slots.latest_between(cursor, before) if dropped else None
    return Due(fire=tuple(fire), catch_up=tuple(caught), dropped=len(dropped), last_dropped=last_dropped, cursor=upto)


def _window(schedule: manifest.Schedule) -> int:
    """The jitter's window in seconds."""
    if isinstance(schedule, manifest.CronSchedule | manifest.IntervalSchedule):
        return schedule.jitter_seconds
    return 0
