"""Bearer tokens: only a digest is stored, so a stolen database opens nothing."""

import hashlib
import secrets

from django.conf import settings
from django.db import models

PREFIX = "wkf_"


def digest(secret: str) -> str:
    """SHA-256 of the token: it is long and random, so a slow hash would add nothing."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Token(models.Model):
    """A user's bearer token. Instants are epoch milliseconds."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField(max_length=12, help_text="The token's first characters, to tell tokens apart.")
    created_at = models.BigIntegerField()
    revoked_at = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.hint}… of {self.user_id}"


def issue(user_id: int, now: int) -> tuple[Token, str]:
    """Make a token for a user; its row and the secret, which can be shown this once."""
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token.objects.create(user_id=user_id, digest=digest(secret), hint=secret[:10], created_at=now)
    return token, secret
