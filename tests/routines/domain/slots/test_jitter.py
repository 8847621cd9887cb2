"""Jitter: the same everywhere, within its window, never at or past the next slot."""

from hypothesis import given
from hypothesis import strategies as st

from routines.domain.slots.jitter import jitter

SLOT = 1_796_083_200_000


@given(
    st.text(st.characters(exclude_categories=())), st.integers(0, 10**13), st.integers(0, 3600), st.integers(1, 10**7)
)
def test_a_delay_stays_within_the_window_and_before_the_next_slot(name: str, slot: int, window: int, gap: int) -> None:
    delay = jitter(name, slot, window, slot + gap)
    assert 0 <= delay <= window * 1000
    assert slot + delay < slot + gap
    assert delay == jitter(name, slot, window, slot + gap)
    assert 0 <= jitter(name, slot, window, None) <= window * 1000


def test_it_is_the_same_after_a_restart() -> None:
    assert jitter("daily", SLOT, 3600, None) == 544_131
    assert jitter("daily", SLOT, 0, None) == 0


def test_it_is_spread_over_the_window_also_where_the_next_slot_narrows_it() -> None:
    for following in (None, SLOT + 60_000):
        room = 3_600_000 if following is None else 59_999
        delays = [jitter(f"routine-{number}", SLOT, 3600, following) for number in range(2000)]
        quarters = [sum(1 for delay in delays if delay * 4 // (room + 1) == quarter) for quarter in range(4)]
        assert min(quarters) > 400


def test_two_slots_of_one_routine_are_delayed_differently() -> None:
    assert len({jitter("daily", SLOT + day * 86_400_000, 3600, None) for day in range(50)}) > 45


def test_a_next_slot_that_is_not_later_leaves_no_room() -> None:
    assert jitter("daily", SLOT, 60, SLOT) == 0
