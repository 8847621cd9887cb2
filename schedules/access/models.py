"""Bearer tokens: only a digest is stored, so a stolen database opens nothing."""

import hashlib
import secrets

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, models
from django.db.models import Q

from schedules import clock
from schedules.sessions.models import SessionIdField

PREFIX = "wkf_"


def digest(secret: str) -> str:
    """SHA-256 of the token: it is long and random, so a slow hash would add nothing."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Token(models.Model):
    """A user's bearer token; with a ``session_id`` it reaches that session alone. Instants are epoch milliseconds."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField(max_length=12, help_text="The token's first characters, to tell tokens apart.")
    created_at = models.BigIntegerField()
    revoked_at = models.BigIntegerField(null=True)
    session_id = SessionIdField(max_length=128, null=True, help_text="The one session that it reaches.")
    expires_at = models.BigIntegerField(null=True, help_text="It opens nothing from then on.")

    class Meta:
        indexes = (models.Index(fields=["session_id"], name="token_of_session", condition=Q(session_id__isnull=False)),)

    def __str__(self) -> str:
        return f"{self.hint}… of {self.user_id}"


# In the order in which the models declare them, as from_db wants them.
_USER = ("id", "is_superuser", "username", "is_staff", "is_active")
_TOKEN = ("id", "user_id", "digest", "hint", "created_at", "revoked_at", "session_id", "expires_at")
_FIND = (
    f"SELECT {', '.join(f'u.{name}' for name in _USER)}, {', '.join(f't.{name}' for name in _TOKEN)}"
    " FROM schedules_token t JOIN auth_user u ON u.id = t.user_id"
    " WHERE t.digest = %s AND t.revoked_at IS NULL AND u.is_active"
)


def find(secret: str) -> tuple[User, Token] | None:
    """The active user whose token this is, and the token; None where it opens nothing.

    One narrow statement: every call of the API begins with it, and building a query would take longer than running it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [digest(secret)])
        row = cursor.fetchone()
    if row is None:
        return None
    token = Token.from_db(connection.alias, _TOKEN, row[len(_USER) :])
    # Most tokens never end, and need no sample: on PostgreSQL that is a statement more for each call.
    if token.expires_at is not None and token.expires_at <= clock.sample():
        return None
    return User.from_db(connection.alias, _USER, row[: len(_USER)]), token


def issue(user_id: int, now: int, *, session_id: str | None = None, expires_at: int | None = None) -> tuple[Token, str]:
    """Make a token for a user; its row and the secret, which can be shown this once.

    With ``session_id`` it reaches that session alone, and with ``expires_at`` it ends by itself.
    """
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token.objects.create(
        user_id=user_id,
        digest=digest(secret),
        hint=secret[:10],
        created_at=now,
        session_id=session_id,
        expires_at=expires_at,
    )
    return token, secret


def revoke_of_session(session_id: str, now: int) -> None:
    """Have every token of that session alone open nothing any more."""
    Token.objects.filter(session_id=session_id, revoked_at=None).update(revoked_at=now)
