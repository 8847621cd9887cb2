"""Sessions over HTTP: made, listed, read, and their log."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from schedules.sessions import lossless
from tests.conftest import Client, HandClock
from tests.schedules.api.host import Host, force, host, plant, refusal, stored

Api = Callable[[User], Client]

ODD = {
    "": None,
    "b": [60, 60.0, -0.0, 1e300, 2**53, 10**300, True, False],
    "a": {"z\u0000": "\u0000", "\ud800": "\udfff\ud83d", "\u2028": "\x7f\x85", "\U0001f600": "\\u0000"},
}


@pytest.fixture
def client(user: User, api: Api, clock: HandClock) -> Client:
    return api(user)


def text_of(answer: Any) -> Any:
    """The body, numbers as they were spelt: ``60`` and ``60.0`` are equal to Python, their texts are not."""
    return lossless.dumps(lossless.loads(answer.content))


def test_a_session_needs_nothing_to_be_made(client: Client) -> None:
    answer = client.post("/sessions", {})
    assert answer.status_code == 201
    made = answer.json()
    assert made.pop("id")[14] == "7"  # a UUIDv7
    assert made == {
        "createdAt": "2026-12-01T00:00:00.000Z",
        "parentSession": None,
        "seedLength": 0,
        "origin": "api",
        "title": None,
        "cwd": None,
        "metadata": {},
        "owner": "ada",
        "live": False,
        "corrupt": False,
        "lease": None,
        "counts": {"events": 0, "turns": 0, "reminders": 0, "waiting": 0, "exhausted": 0},
        "openTurn": None,
        "exhausted": [],
    }


def test_an_empty_body_is_an_empty_object(client: Client) -> None:
    assert client.raw("POST", "/sessions", b"").status_code == 201
    assert client.raw("POST", "/sessions", b"", "multipart/form-data").status_code == 201


def test_what_a_creator_gives_comes_back_as_it_was(client: Client) -> None:
    given = {"id": "A.z_0:9-", "title": "T\u2028\U0001f600", "cwd": "", "metadata": ODD}
    made = client.post("/sessions", given)
    read = client.get("/sessions/A.z_0:9-")
    assert made.content == read.content
    assert {name: read.json()[name] for name in given} == given
    assert lossless.dumps(ODD) in text_of(read)


def test_an_absent_and_a_null_field_are_the_same(client: Client) -> None:
    nothing = dict.fromkeys(("id", "title", "cwd", "metadata", "open", "holder", "leaseSeconds"))
    made = client.post("/sessions", nothing).json()
    assert (made["title"], made["metadata"], made["live"]) == (None, {}, False)


@pytest.mark.parametrize("session_id", ["x", "x" * 128, "...", "a:b", "-", "0"])
def test_an_id_may_be_chosen(client: Client, session_id: str) -> None:
    assert client.post("/sessions", {"id": session_id}).json()["id"] == session_id
    assert client.get(f"/sessions/{session_id}").status_code == 200


@pytest.mark.parametrize("session_id", ["", "x" * 129, "a/b", "a b", "x\n", "é", "x\u0000", "\ud800", "a%41", 7])
def test_an_id_of_other_characters_is_refused(client: Client, session_id: object) -> None:
    answer = client.post("/sessions", {"id": session_id})
    assert refusal(answer) == (400, "invalid_request")
    assert set(answer.json()["fields"]) == {"id"}


def test_a_taken_id_is_refused_whoever_has_it(client: Client, api: Api, stranger: User) -> None:
    client.post("/sessions", {"id": "mine", "title": "first"})
    before = stored()
    for other in (client, api(stranger)):
        assert refusal(other.post("/sessions", {"id": "mine", "open": True})) == (409, "session_exists")
        assert refusal(other.post("/sessions", {"id": "mine"})) == (409, "session_exists")
    # (The stranger's client brought a token of its own.)
    assert stored() == before | {"schedules_token": before["schedules_token"] + 1}
    assert client.get("/sessions/mine").json()["title"] == "first"


def test_a_session_can_be_opened_as_it_is_made(client: Client) -> None:
    made = client.post("/sessions", {"id": "s", "open": True, "holder": "h", "leaseSeconds": 5.0}).json()
    assert (made["leaseSeconds"], made["expiresAt"], made["live"]) == (5, "2026-12-01T00:00:05.000Z", True)
    lease = {"holder": "h", "leaseSeconds": 5, "expiresAt": "2026-12-01T00:00:05.000Z"}
    assert client.get("/sessions/s").json()["lease"] == lease
    assert Host(client, "s", made["leaseId"]).told() == ["session/opened"]


def test_the_lease_id_is_shown_only_to_who_took_it(client: Client) -> None:
    one = host(client)
    for answer in (one.get(), one.get("/events"), client.get("/sessions")):
        assert one.lease not in answer.content.decode()


def test_a_user_has_a_limit_of_sessions(client: Client, api: Api, stranger: User, settings: Settings) -> None:
    settings.WAKEFUL_MAX_SESSIONS = 2
    for _ in range(2):
        assert client.post("/sessions", {"id": "", "metadata": 1}).status_code == 400  # counts for nothing
        assert client.post("/sessions", {}).status_code == 201
    before = stored()
    for body in ({}, {"open": True}):
        assert refusal(client.post("/sessions", body)) == (429, "limit_reached")
    assert stored() == before
    assert api(stranger).post("/sessions", {}).status_code == 201


def test_a_refused_session_counts_for_nothing(client: Client, settings: Settings) -> None:
    settings.WAKEFUL_MAX_SESSIONS = 2
    client.post("/sessions", {"id": "taken"})
    for _ in range(3):
        assert refusal(client.post("/sessions", {"id": "taken"})) == (409, "session_exists")
    assert client.post("/sessions", {}).status_code == 201


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return [row["id"] for row in answer.json()["results"]]


def test_sessions_are_listed_newest_first_in_pages(client: Client, clock: HandClock) -> None:
    for name in ("a", "c", "b"):
        client.post("/sessions", {"id": name})
    clock.advance(ms=1)
    client.post("/sessions", {"id": "0"})
    assert names(client.get("/sessions")) == ["0", "c", "b", "a"]
    first = client.get("/sessions", {"limit": 2})
    assert names(first) == ["0", "c"]
    client.post("/sessions", {"id": "newer"})
    second = client.get("/sessions", {"limit": 2, "cursor": first.json()["next"]})
    assert names(second) == ["b", "a"]
    assert second.json()["next"] is None


def test_sessions_are_listed_by_what_they_are(client: Client, clock: HandClock) -> None:
    client.post("/sessions", {"id": "cold"})
    host(client, "live")
    overdue = host(client, "overdue", leaseSeconds=600)
    assert overdue.tool("create", {"prompt": "look", "after_seconds": 30}).status_code == 200
    clock.advance(seconds=59)
    for query, found in (
        ({"live": "true"}, ["overdue", "live"]),
        ({"live": "false"}, ["cold"]),
        ({"overdue": "true"}, ["overdue"]),
        ({"overdue": "false"}, ["live", "cold"]),
        ({"live": "true", "overdue": "false"}, ["live"]),
        ({"origin": "api"}, ["overdue", "live", "cold"]),
        ({"origin": "routine:x"}, []),
        ({"origin": "\u0000"}, []),
        ({"colour": "blue"}, ["overdue", "live", "cold"]),
    ):
        assert set(names(client.get("/sessions", query))) == set(found), query
    clock.advance(seconds=1)  # both short leases end at their very instant
    assert names(client.get("/sessions", {"live": "true"})) == ["overdue"]


@pytest.mark.parametrize(
    "query",
    [
        {"live": "1"},
        {"overdue": ""},
        {"limit": "0"},
        {"limit": "1001"},
        {"cursor": "nonsense"},
        {"limit": "9" * 400},
    ],
)
def test_a_list_refuses_what_it_cannot_read(client: Client, query: dict[str, str]) -> None:
    answer = client.get("/sessions", query)
    assert refusal(answer) == (400, "invalid_request")
    assert set(answer.json()["fields"]) == set(query)


def test_the_log_is_read_in_pages_by_seq(client: Client) -> None:
    one = host(client)
    for n in range(4):
        one.hold("/events", type="host:n", data=n)
    first = one.get("/events", {"limit": 3}).json()
    assert ([event["seq"] for event in first["results"]], first["next"]) == ([0, 1, 2], 2)
    second = one.get("/events", {"limit": 3, "after": first["next"]}).json()
    assert ([event["data"] for event in second["results"]], second["next"]) == ([2, 3], None)
    # A page that is just full names its last seq; nothing comes after it yet.
    assert one.get("/events", {"limit": 2, "after": 2}).json()["next"] == 4
    assert one.get("/events", {"after": 4}).json() == {"results": [], "next": None}
    assert one.get("/events", {"after": 2**53 - 1}).json() == {"results": [], "next": None}


def test_a_log_shows_imported_events_as_they_are(client: Client) -> None:
    one = host(client)
    force(one.id, "tool/call", lossless.dumps(ODD), time=-5)
    plant(one.id, "chunk", "\ud800")
    answer = one.get("/events")
    assert [(event["type"], event["data"]) for event in answer.json()["results"][1:]] == [
        ("tool/call", ODD),
        ("chunk", "\ud800"),
    ]
    assert lossless.dumps(ODD) in text_of(answer)
    assert one.get().json()["counts"]["events"] == 3


def test_the_catalogues_name_every_tool_and_type(client: Client) -> None:
    tools = client.get("/tools").json()
    assert [tool["name"] for tool in tools["results"]] == [
        "schedule_create",
        "schedule_list",
        "schedule_delete",
    ]
    assert all(set(t) == {"name", "description", "inputSchema", "outputSchema"} for t in tools["results"])
    types = client.get("/event-types").json()
    assert {kind["type"]: kind["writer"] for kind in types["results"]} == {
        "session/opened": "wakeful",
        "session/closed": "wakeful",
        "turn/start": "wakeful",
        "user/message": "wakeful",
        "assistant/message": "wakeful",
        "turn/end": "wakeful",
        "followup/queued": "wakeful",
        "followup/discarded": "wakeful",
        "schedule/change": "wakeful",
        "host:*": "host",
    }
