"""The kind `calendar`: a recurrence rule of RFC 5545, counted from a start and read in a zone."""

import re
from dataclasses import dataclass

from routines.domain.slots import recur, recurrence, walls
from routines.domain.slots.refused import Refused
from routines.domain.slots.search import Searched
from schedules.domain import instants, zones

# What reading a day has, in milliseconds, where `recurrence` counts minutes from a day 0 long before.
_SHIFT = 719_163 * instants.DAY

_LINE = re.compile(r"(DTSTART|RRULE)((?:;[^:]*)?):(.*)", re.IGNORECASE)
_BARE = re.compile(r"[A-Z0-9-]+=.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar(Searched):
    """The slots of one rule.

    timezone: the canonical name of the zone in whose clocks the rule is read.
    pattern: the occurrences on the clock.
    until: the last instant that may be a slot, of an UNTIL in UTC; None for no such end.
    until_wall: the last reading that may be one, of an UNTIL without a zone or of COUNT; None for no such end.

    A reading in an overlap means its first instant, one in a gap the instant later by the gap's length (RFC 5545
    section 3.3.5). Two readings that mean one instant are one slot; COUNT counts readings.
    """

    timezone: str
    pattern: recurrence.Recurrence
    until: int | None
    until_wall: int | None

    def next_after(self, after: int) -> int | None:
        """The first slot strictly later than `after`; None for none in 400 years or before the year 10000."""
        return self.first_between(after, instants.MAX)

    def first_between(self, after: int, until: int) -> int | None:
        """The first slot in (after, until], or None. It does not search beyond `until`."""
        zone = zones.zone(self.timezone)
        after = max(after, instants.MIN - 1)
        until = min(until, instants.MAX if self.until is None else self.until)
        if after >= until:
            return None
        # Where clocks changed within a day, an instant may be meant by a reading of the old time.
        ahead = [walls.offset(moment, zone) for moment in (after, after - instants.DAY)]
        low = _minute(after + min(ahead))
        high = _minute(until + max(walls.offset(moment, zone) for moment in (until, until - instants.DAY)))
        if self.until_wall is not None:
            high = min(high, _minute(self.until_wall))
        best: int | None = None
        while (minute := self.pattern.first(low, high)) is not None:
            wall = minute * instants.MINUTE + self.pattern.second * instants.SECOND - _SHIFT
            slot = walls.resolve(wall, zone)
            if after < slot <= until and not self._is_over(wall) and (best is None or slot < best):
                best = slot
                # The reading of a gap means a later instant than those that follow the gap: they come first.
                high = min(high, _minute(best + walls.offset(best, zone)))
            low = minute + 1
        return best

    def _is_over(self, wall: int) -> bool:
        return self.until_wall is not None and wall > self.until_wall


def parse(text: str, timezone: str, anchor: int) -> Calendar:
    """The slots of an rrule in a zone. Raises Refused.

    text: a RECUR value, bare or after `RRULE:`, perhaps with a DTSTART line before or after it (RFC 5545 section
    3.8.2.4). A start in UTC is an instant, and is read in the zone; one with TZID makes that the zone.
    anchor: the registration, an instant in milliseconds. Without DTSTART the rule starts at that day's midnight in the
    zone, so that time parts it does not give are zero.
    """
    name = walls.zone_name(timezone)
    start_line, value = _lines(text)
    rule = recur.parse(value)
    if start_line is None:
        wall = _within_years(anchor + walls.offset(anchor, zones.zone(name)))
        start = wall - wall % instants.DAY
    else:
        start, name = _start(*start_line, name)
    pattern = recurrence.plan(rule, start)
    until, until_wall = None, None
    if rule.until is not None:
        until, until_wall = (rule.until.wall, None) if rule.until.utc else (None, rule.until.wall)
    elif rule.count is not None:
        last = pattern.nth(rule.count)
        if last is not None:
            until_wall = last * instants.MINUTE + pattern.second * instants.SECOND - _SHIFT
    return Calendar(timezone=name, pattern=pattern, until=until, until_wall=until_wall)


def _within_years(wall: int) -> int:
    """A reading in the years 1 to 9999: at their very ends, the zone's clocks may show another."""
    return min(max(wall, instants.MIN), instants.MAX)


def _minute(wall: int) -> int:
    return (wall + _SHIFT) // instants.MINUTE


def _lines(text: str) -> tuple[tuple[str, str] | None, str]:
    """The parameters and value of DTSTART, if any, and the value of RRULE."""
    # RFC 5545 section 3.1: a line break before a blank only folds a long line.
    unfolded = re.sub(r"\r?\n[ \t]", "", text.strip(" \t\r\n"))
    found: dict[str, tuple[str, str]] = {}
    for line in re.split(r"[ \t]*\r?\n", unfolded):
        match = _LINE.fullmatch(line)
        if match is None and _BARE.fullmatch(line):
            name, parameters, value = "RRULE", "", line
        elif match is not None:
            name, parameters, value = match[1].upper(), match[2], match[3]
        else:
            raise _refused(
                "write a rule such as FREQ=WEEKLY;BYDAY=MO, or the two lines DTSTART:20260101T090000 and "
                "RRULE:FREQ=WEEKLY;BYDAY=MO; other properties (RDATE, EXDATE, EXRULE) are not supported."
            )
        if name in found:
            raise _refused(f"{name} is there twice: write one, and a routine of its own for another rule.")
        found[name] = (parameters, value)
    if "RRULE" not in found:
        raise _refused("the rule is missing: add a line such as RRULE:FREQ=WEEKLY;BYDAY=MO.")
    if found["RRULE"][0]:
        raise _refused("RRULE takes no parameters: write RRULE:FREQ=...")
    return found.get("DTSTART"), found["RRULE"][1]


def _start(parameters: str, value: str, timezone: str) -> tuple[int, str]:
    """The reading at which a rule with DTSTART starts, and the zone it is read in."""
    given: dict[str, str] = {}
    for parameter in parameters.split(";")[1:]:
        key, _, content = parameter.partition("=")
        if key.upper() not in ("TZID", "VALUE") or key.upper() in given:
            raise _refused("DTSTART takes the parameters TZID and VALUE, once each: DTSTART;TZID=Europe/Paris:...")
        given[key.upper()] = content
    stamp = recur.parse_stamp(value.upper())
    kind = given.get("VALUE", "DATE-TIME" if "T" in value.upper() else "DATE").upper()
    if stamp is None or kind != ("DATE-TIME" if "T" in value.upper() else "DATE"):
        raise _refused(
            "DTSTART must be a real date or date and time: DTSTART:20260101T090000 in the routine's zone, "
            "DTSTART:20260101T090000Z in UTC, or DTSTART;TZID=Europe/Paris:20260101T090000."
        )
    if stamp.utc and "TZID" in given:
        raise _refused("DTSTART with TZID is a local time: leave out the Z, or the TZID.")
    if "TZID" in given:
        named = zones.canonical(given["TZID"])
        if named is None:
            raise _refused('TZID must be "UTC" or an IANA name with a slash, such as Europe/Paris.')
        # UTC is also what a routine without a timezone has.
        if timezone not in ("UTC", named):
            raise _refused(f"TZID={named} and timezone: {timezone} differ: write the zone once.")
        return stamp.wall, named
    if stamp.utc:
        return _within_years(stamp.wall + walls.offset(stamp.wall, zones.zone(timezone))), timezone
    return stamp.wall, timezone


def _refused(message: str) -> Refused:
    return Refused(f"rrule: {message}", "rrule")
