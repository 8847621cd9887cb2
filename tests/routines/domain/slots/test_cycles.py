"""Days that come round, against trying every day."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from routines.domain.slots import cycles


def bits(mask: int) -> set[int]:
    return {index for index in range(mask.bit_length()) if mask >> index & 1}


@given(st.integers(1, 900), st.sets(st.integers(0, 899), max_size=40), st.integers(1, 10**6), st.integers(365, 366))
def test_a_mask_holds_the_days_of_the_cycle(length: int, chosen: set[int], day: int, days: int) -> None:
    remainders = {number % length for number in chosen}
    mask = cycles.make(length, remainders).mask(day, days)
    assert bits(mask) == {index for index in range(days) if (day + index) % length in remainders}


@given(
    st.sampled_from([1, 24, 1440]),
    st.integers(1, 3000),
    st.integers(0, 10**6),
    st.sets(st.integers(0, 1439), max_size=9),
)
def test_the_days_that_hold_a_unit_are_found_without_trying(
    per_day: int, every: int, first: int, chosen: set[int]
) -> None:
    wanted = {number % per_day for number in chosen}
    cycle = cycles.of_units(first, every, per_day, wanted)
    start = first // per_day
    units = itertools.takewhile(lambda unit: unit < (start + 366) * per_day, itertools.count(first, every))
    expected = {unit // per_day - start for unit in units if unit % per_day in wanted}
    # The first day's units before the first one are in the cycle too: the caller leaves out what is before the start.
    assert bits(cycle.mask(start, 366)) - {0} == expected - {0}
    assert expected <= bits(cycle.mask(start, 366))
