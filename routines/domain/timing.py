"""From a manifest's schedule to its slots: which module of `slots` computes which kind."""

from typing import assert_never

from routines.domain import manifest
from routines.domain.slots import calendar, cron, event, interval, manual, search


def slots(schedule: manifest.Schedule, anchor: int) -> search.Searched:
    """The slots of a schedule.

    anchor: the registration, in ms since the epoch, kept with the job; intervals and rules count from it where the
    schedule does not say from when. Raises `Refused` for a schedule that `parse` did not check.
    """
    match schedule:
        case manifest.CronSchedule():
            return cron.parse(schedule.cron, schedule.timezone)
        case manifest.IntervalSchedule():
            return interval.parse(schedule.every, anchor if schedule.start is None else schedule.start)
        case manifest.CalendarSchedule():
            return calendar.parse(schedule.rrule, schedule.timezone, anchor)
        case manifest.ManualSchedule():
            return manual.Manual()
        case manifest.EventSchedule():
            return event.Event()
        case _:
            assert_never(schedule)
