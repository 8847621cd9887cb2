"""``POST /routines/preview``: the recorded times over HTTP, and schedules that have none."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.conftest import Client, HandClock
from tests.schedules.domain import vectors

Api = Callable[[User], Client]
Preview = Callable[..., list[str]]

CRON = {"kind": "cron", "cron": "30 9 * * *", "timezone": "Europe/Paris"}


@pytest.fixture
def client(user: User, api: Api, clock: HandClock) -> Client:
    return api(user)


@pytest.fixture
def preview(client: Client) -> Preview:
    """``preview(schedule, after=..., ...)``: the next times."""

    def asked(schedule: dict[str, Any], **more: Any) -> list[str]:
        answer = client.post("/routines/preview", {"schedule": schedule, **more})
        assert answer.status_code == 200, answer.content
        assert set(answer.json()) == {"next"}
        found: list[str] = answer.json()["next"]
        return found

    return asked


def test_recorded_expressions_have_their_recorded_times(preview: Preview) -> None:
    for row in vectors.rows("cron")[::11]:
        schedule = {"kind": "cron", "cron": row["cron"], "timezone": row["timezone"]}
        expected = [time.replace("Z", ":00.000Z") for time in row["ok"]]
        assert preview(schedule, after=row["after"], count=len(expected)) == expected, row


def test_recorded_rules_have_their_recorded_times(preview: Preview) -> None:
    for row in vectors.rows("rrule")[::6]:
        schedule = {"kind": "calendar", "rrule": row["rrule"], "timezone": row["timezone"]}
        found = preview(schedule, after=row["after"], anchor=row["anchor"])
        until = [time for time in found if time < "2045"]
        assert until == [time.replace("Z", ".000Z") for time in row["ok"]], row


def test_without_more_it_is_the_next_five_from_now(preview: Preview) -> None:
    assert preview(CRON) == [f"2026-12-0{day}T08:30:00.000Z" for day in range(1, 6)]
    assert preview(CRON, after=None, anchor=None, count=None) == preview(CRON)
    assert len(preview(CRON, count=100)) == 100


def test_an_interval_counts_from_its_from_else_from_the_anchor_else_from_after(preview: Preview) -> None:
    every = {"kind": "interval", "every": "90m"}
    later = {"after": "2026-12-01T00:10:00+00:00", "count": 2}
    assert preview(every, **later) == ["2026-12-01T01:40:00.000Z", "2026-12-01T03:10:00.000Z"]
    assert preview(every, anchor="2026-12-01T00:00:00Z", **later)[0] == "2026-12-01T01:30:00.000Z"
    given = every | {"from": "2026-12-01T02:00:00.250+02:00"}
    assert preview(given, anchor="2026-12-01T00:05:00Z", **later)[0] == "2026-12-01T01:30:00.250Z"


def test_the_anchor_itself_is_a_slot(preview: Preview) -> None:
    every = {"kind": "interval", "every": "1d"}
    assert preview(every, anchor="2026-12-05T00:00:00Z", count=1) == ["2026-12-05T00:00:00.000Z"]


def test_day_31_is_shown_to_skip_short_months(preview: Preview) -> None:
    monthly = {"kind": "calendar", "rrule": "FREQ=MONTHLY;BYMONTHDAY=31"}
    assert [time[:10] for time in preview(monthly, count=3)] == ["2026-12-31", "2027-01-31", "2027-03-31"]


def test_jitter_does_not_move_a_previewed_time(preview: Preview) -> None:
    assert preview(CRON | {"jitter_seconds": 3600}) == preview(CRON)


@pytest.mark.parametrize(
    "schedule",
    [
        {"kind": "manual"},
        {"kind": "event", "on": "turn-end"},
        {"kind": "calendar", "rrule": "FREQ=DAILY;UNTIL=20200101"},
        {"kind": "interval", "every": "999999999999d"},
        # The hour of a gap alone: New York skips it.
        {"kind": "cron", "cron": "* 2 8-14 3 */7", "timezone": "America/New_York"},
    ],
)
def test_a_schedule_without_a_next_time_has_an_empty_preview(preview: Preview, schedule: dict[str, Any]) -> None:
    assert preview(schedule) == []


@pytest.mark.parametrize(
    "schedule",
    [
        CRON,
        {"kind": "interval", "every": "5s"},
        {"kind": "calendar", "rrule": "FREQ=MINUTELY", "timezone": "Asia/Tokyo"},
        {"kind": "calendar", "rrule": "FREQ=YEARLY", "timezone": "America/New_York"},
        {"kind": "calendar", "rrule": "DTSTART:00010101T000000Z\nRRULE:FREQ=DAILY", "timezone": "America/New_York"},
    ],
)
def test_the_ends_of_the_years_are_no_error(preview: Preview, schedule: dict[str, Any]) -> None:
    for instant in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"):
        for anchor in (instant, "2026-12-01T00:00:00Z"):
            found = preview(schedule, after=instant, anchor=anchor)
            assert all(time > instant[:19] for time in found)
            assert found == sorted(set(found))


def test_a_bad_schedule_is_refused_with_the_errors_of_a_manifest(client: Client) -> None:
    bad = {"kind": "cron", "cron": "*/90 * * * *", "timezone": "EST", "catchup": "some"}
    answer = client.post("/routines/preview", {"schedule": bad})
    assert answer.status_code == 400
    body = answer.json()
    assert set(body) == {"code", "message", "errors"}
    assert body["code"] == "routine_invalid"
    told = {fault["field"]: fault["message"] for fault in body["errors"]}
    assert set(told) == {"schedule.cron", "schedule.timezone", "schedule.catchup"}
    assert body["message"] in told.values()
    assert [fault["line"] for fault in body["errors"]] == [None] * 3
    assert "every: 90m" in told["schedule.cron"]


def test_no_schedule_at_all_is_a_missing_field(client: Client) -> None:
    answer = client.post("/routines/preview", {})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert set(answer.json()["fields"]) == {"schedule"}
