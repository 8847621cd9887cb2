"""``manage.py token``."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection

from schedules.access import models
from tests.conftest import HandClock


def token(*arguments: str) -> str:
    out = io.StringIO()
    call_command("token", *arguments, stdout=out)
    return out.getvalue()


def token_json(*arguments: str) -> Any:
    return json.loads(token(*arguments, "--json"))


def refused(*arguments: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as caught:
        token(*arguments)
    return caught.value.returncode, str(caught.value)


def test_a_new_token_stands_alone_on_the_last_line(user: User) -> None:
    secret = token("ada").splitlines()[-1]
    assert models.Token.objects.get(digest=models.digest(secret)).user == user


def test_as_json_a_new_token_comes_with_what_names_it(user: User, clock: HandClock) -> None:
    made = token_json("ada")
    assert made == {
        "id": models.Token.objects.get().pk,
        "user": "ada",
        "hint": made["token"][:10],
        "createdAt": "2026-12-01T00:00:00.000Z",
        "revokedAt": None,
        "expiresAt": None,
        "session": None,
        "token": made["token"],
    }


@pytest.mark.parametrize("name", ["nobody", "\udcff", "a" * 1000])
def test_an_unknown_user_gets_none(store: None, name: str) -> None:
    code, message = refused(name)
    assert code == 1
    assert "--create" in message
    assert not User.objects.exists()


def test_a_user_is_made_on_demand_and_once(store: None) -> None:
    token("linus", "--create")
    token("linus", "--create")
    made = User.objects.get()
    assert (made.username, made.is_staff, made.has_usable_password()) == ("linus", False, False)
    assert models.Token.objects.filter(user=made).count() == 2


def test_a_user_is_made_staff_on_demand(user: User) -> None:
    token("ada", "--staff")
    token("linus", "--create", "--staff")
    assert list(User.objects.order_by("username").values_list("username", "is_staff")) == [
        ("ada", True),
        ("linus", True),
    ]


@pytest.mark.parametrize("name", ["has space", "a" * 151, "a/b"])
def test_what_is_no_username_makes_no_user(store: None, name: str) -> None:
    code, message = refused(name, "--create")
    assert (code, User.objects.count()) == (1, 0)
    assert "no username" in message


def test_an_inactive_user_gets_none(user: User) -> None:
    User.objects.update(is_active=False)
    assert refused("ada")[0] == 1
    assert not models.Token.objects.exists()


def test_tokens_are_listed_without_their_secrets(user: User, stranger: User, clock: HandClock) -> None:
    mine, theirs = token_json("ada"), token_json("mallory")
    token("--revoke", mine["hint"])
    shown = token_json("--list")
    assert [(row["user"], row["revokedAt"]) for row in shown] == [
        ("ada", "2026-12-01T00:00:00.000Z"),
        ("mallory", None),
    ]
    assert mine["token"] not in token("--list")
    assert [row["id"] for row in token_json("--list", "mallory")] == [theirs["id"]]
    assert refused("--list", "nobody")[0] == 1


def test_an_empty_list_says_so(store: None) -> None:
    assert token("--list") == "There are no tokens.\n"
    assert token_json("--list") == []


@pytest.mark.parametrize("name", ["id", "hint", "token"])
def test_a_token_is_revoked_by_its_id_its_hint_or_itself(user: User, clock: HandClock, name: str) -> None:
    kept, gone = token_json("ada"), token_json("ada")
    token("--revoke", str(gone[name]))
    assert models.Token.objects.get(pk=gone["id"]).revoked_at == clock.now
    assert models.Token.objects.get(pk=kept["id"]).revoked_at is None


def test_revoking_again_changes_nothing(user: User, clock: HandClock) -> None:
    made = token_json("ada")
    first = token_json("--revoke", made["token"])
    clock.advance(seconds=5)
    assert token_json("--revoke", made["token"]) == first


def test_a_hint_that_fits_several_tokens_revokes_none(user: User) -> None:
    token("ada")
    token("ada")
    models.Token.objects.update(hint="wkf_same")
    code, message = refused("--revoke", "wkf_same")
    assert (code, "by its id" in message) == (1, True)
    assert not models.Token.objects.exclude(revoked_at=None).exists()


@pytest.mark.parametrize("name", ["wkf_none", "99999", "9" * 40, "٣", "\udcff", ""])
def test_what_names_no_token_revokes_none(user: User, name: str) -> None:
    token("ada")
    assert refused("--revoke", name)[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--create",),
        ("--staff",),
        ("--list", "--revoke", "1"),
        ("--list", "--create"),
        ("--list", "ada", "--staff"),
        ("ada", "--revoke", "1"),
        ("--revoke", "1", "--create"),
    ],
)
def test_options_that_do_not_go_together_are_misuse(store: None, arguments: tuple[str, ...]) -> None:
    assert refused(*arguments)[0] == 2


def test_a_database_without_its_tables_is_explained(store: None) -> None:
    def fail(*_: Any) -> None:
        raise ProgrammingError("no such table: auth_user")

    with connection.execute_wrapper(fail):
        code, message = refused("ada")
    assert (code, "was migrate run?" in message) == (1, True)


def test_the_list_tells_which_tokens_are_of_one_session_and_until_when(user: User, clock: HandClock) -> None:
    models.issue(user.pk, clock.now, session_id="s-1", expires_at=clock.now + 1000)
    assert "valid until 2026-12-01T00:00:01.000Z  ada  session s-1 alone" in token("--list")
    clock.advance(seconds=1)
    assert "expired 2026-12-01T00:00:01.000Z" in token("--list")
    (row,) = token_json("--list")
    assert (row["session"], row["expiresAt"]) == ("s-1", "2026-12-01T00:00:01.000Z")
