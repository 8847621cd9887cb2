"""A small delay of each slot, so that a thousand routines of one minute do not start in the same moment."""

import hashlib

from schedules.domain import instants

_BITS = 64


def jitter(routine_id: str, slot: int, window_seconds: int, next_slot: int | None) -> int:
    """The delay of one slot in milliseconds, from 0 to the window, ends included.

    slot: its nominal time, in epoch milliseconds; the next slot is always computed from it, never from the delayed
    one. next_slot: None where there is none; the delayed slot stays before it. The same arguments give the same
    delay in every process.
    """
    room = max(0, window_seconds) * instants.SECOND
    if next_slot is not None:
        # Scaling into the smaller room, where cutting off would pile up all late ones on one millisecond.
        room = min(room, max(0, next_slot - slot - 1))
    # hash() differs between processes, and random() between restarts.
    digest = hashlib.sha256(f"{slot}\n{routine_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[: _BITS // 8]) * (room + 1) >> _BITS
