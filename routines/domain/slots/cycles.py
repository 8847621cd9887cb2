"""Days that come round: every n-th day, the days of every n-th week, the days that hold every n-th hour or minute."""

import math
from bisect import bisect_left
from dataclasses import dataclass, field

_LONGEST = 366


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """The days whose number leaves one of some remainders when divided by a length.

    length: in days, 1 or more.
    remainders: sorted, each from 0 to length - 1, none twice.
    pattern: bit n tells whether day n is one, for a length and a year; 0 where the length is more than a year.
    """

    length: int
    remainders: tuple[int, ...]
    pattern: int = field(repr=False)

    def mask(self, day: int, days: int) -> int:
        """Which of `days` days from the day with this number on are in the cycle; bit 0 is the first. days <= 366."""
        start = day % self.length
        if self.length <= _LONGEST:
            return (self.pattern >> start) & ((1 << days) - 1)
        bits = 0
        for remainder in self._from(start, start + days):
            bits |= 1 << remainder - start
        for remainder in self._from(0, start + days - self.length):  # those of the next round
            bits |= 1 << remainder + self.length - start
        return bits

    def _from(self, low: int, high: int) -> tuple[int, ...]:
        return self.remainders[bisect_left(self.remainders, low) : bisect_left(self.remainders, high)]


def make(length: int, remainders: set[int]) -> Cycle:
    """The cycle of these remainders, each from 0 to length - 1."""
    pattern = 0
    if length <= _LONGEST:
        once = sum(1 << remainder for remainder in remainders)
        for start in range(0, length + _LONGEST, length):
            pattern |= once << start
    return Cycle(length=length, remainders=tuple(sorted(remainders)), pattern=pattern)


def of_units(first: int, every: int, per_day: int, wanted: set[int]) -> Cycle:
    """The days that hold one of the units `first`, `first + every`, ... at a wanted place of the day.

    first: a unit (an hour, a minute, a day itself), counted from the start of day 0; per_day: how many a day has;
    wanted: places from 0 to per_day - 1.

    The unit at place p of day d is d * per_day + p. It is one of them where that is congruent to `first` modulo
    `every`, which is a linear congruence in d: solved once, no search has to try one day after the other.
    """
    shared = math.gcd(every, per_day)
    length = every // shared
    inverse = pow(per_day // shared, -1, length)
    remainders = {(first - place) // shared * inverse % length for place in wanted if (first - place) % shared == 0}
    return make(length, remainders)
