"""``manage.py token``: make, list and revoke bearer tokens."""

import json
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError
from django.db.models import Q, QuerySet

from schedules import clock
from schedules.access import models
from schedules.domain import instants
from schedules.sessions import lossless

MISUSED = 2


class Command(BaseCommand):
    help = "Makes a bearer token for a user and prints it, alone, as the last line; lists and revokes tokens."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", nargs="?", help="whose token to make; with --list, whose to show")
        parser.add_argument("--create", action="store_true", help="make the user where there is none yet")
        parser.add_argument("--staff", action="store_true", help="make the user a member of staff too")
        parser.add_argument("--list", action="store_true", help="show the tokens there are")
        parser.add_argument("--revoke", metavar="TOKEN", help="revoke a token, named by its id, its hint or itself")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            self._do(options)
        except (OperationalError, ProgrammingError) as problem:
            raise CommandError(
                f"The database cannot be used; is it there, and was migrate run? It says: {problem}"
            ) from problem

    def _do(self, options: dict[str, Any]) -> None:
        username, revoke = options["username"], options["revoke"]
        making = options["create"] or options["staff"]
        if options["list"] and revoke is None and not making:
            self._list(username, as_json=options["json"])
        elif revoke is not None and not (options["list"] or making or username):
            self._revoke(revoke, as_json=options["json"])
        elif username and revoke is None and not options["list"]:
            self._make(username, create=options["create"], staff=options["staff"], as_json=options["json"])
        else:
            raise CommandError(
                "Use: token USERNAME [--create] [--staff], token --list [USERNAME], or token --revoke TOKEN.",
                returncode=MISUSED,
            )

    def _make(self, username: str, *, create: bool, staff: bool, as_json: bool) -> None:
        user = _found(username)
        if user is None:
            if not create:
                raise CommandError(f"There is no user {username!r}; add --create to make one.")
            user = _created(username)
        if not user.is_active:
            raise CommandError(f"The user {username!r} is not active, so a token would open nothing.")
        if staff and not user.is_staff:
            user.is_staff = True
            user.save(update_fields=["is_staff"])
        token, secret = models.issue(user.pk, clock.sample())
        if as_json:
            self._print_json({**_shown(token), "token": secret})
        else:
            self.stdout.write(f"A new token of {username}, shown this once:")
            self.stdout.write(secret)

    def _list(self, username: str | None, *, as_json: bool) -> None:
        tokens = models.Token.objects.select_related("user").order_by("pk")
        if username is not None:
            user = _found(username)
            if user is None:
                raise CommandError(f"There is no user {username!r}.")
            tokens = tokens.filter(user=user)
        now = clock.sample()
        rows = [_shown(token) for token in tokens]
        if as_json:
            self._print_json(rows)
            return
        for token, row in zip(tokens, rows, strict=True):
            reach = f"  session {row['session']} alone" if row["session"] else ""
            self.stdout.write(
                f"{row['id']:>5}  {row['hint']}…  {row['createdAt']}  {_state(token, now)}  {row['user']}{reach}"
            )
        if not rows:
            self.stdout.write("There are no tokens.")

    def _revoke(self, name: str, *, as_json: bool) -> None:
        tokens = list(_named(name).select_related("user").order_by("pk"))
        if not tokens:
            raise CommandError("No token has that id, hint or text; token --list shows what there is.")
        if len(tokens) > 1:
            ids = ", ".join(str(token.pk) for token in tokens)
            raise CommandError(f"Several tokens have that hint; revoke one by its id: {ids}.")
        token = tokens[0]
        if token.revoked_at is None:
            token.revoked_at = clock.sample()
            token.save(update_fields=["revoked_at"])
        if as_json:
            self._print_json(_shown(token))
        else:
            self.stdout.write(f"Token {token.pk} ({token.hint}…) of {token.user.username} opens nothing any more.")

    def _print_json(self, value: object) -> None:
        self.stdout.write(json.dumps(value, indent=2))


def _found(username: str) -> User | None:
    # A name typed in another encoding is nobody's, and no database takes it in a query.
    return User.objects.filter(username=username).first() if lossless.is_unicode(username) else None


def _created(username: str) -> User:
    user = User(username=username)
    user.set_unusable_password()
    try:
        user.full_clean()
    except ValidationError as problem:
        raise CommandError(f"{username!r} is no username: {' '.join(problem.messages)}") from None
    user.save()
    return user


def _named(name: str) -> QuerySet[models.Token]:
    if not lossless.is_unicode(name):
        return models.Token.objects.none()
    wanted = Q(hint=name) | Q(digest=models.digest(name))
    if name.isascii() and name.isdigit() and len(name) < 19:
        wanted |= Q(pk=int(name))
    return models.Token.objects.filter(wanted)


def _state(token: models.Token, now: int) -> str:
    if token.revoked_at is not None:
        return f"revoked {instants.render(token.revoked_at)}"
    if token.expires_at is None:
        return "valid"
    return f"{'expired' if token.expires_at <= now else 'valid until'} {instants.render(token.expires_at)}"


def _shown(token: models.Token) -> dict[str, Any]:
    return {
        "id": token.pk,
        "user": token.user.username,
        "hint": token.hint,
        "createdAt": instants.render(token.created_at),
        "revokedAt": None if token.revoked_at is None else instants.render(token.revoked_at),
        "expiresAt": None if token.expires_at is None else instants.render(token.expires_at),
        "session": token.session_id,
    }
