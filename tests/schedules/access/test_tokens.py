"""Tokens: shown once, stored as a digest."""

from django.contrib.auth.models import User

from schedules.access import models
from tests.conftest import START, HandClock


def test_a_token_is_shown_once_and_only_its_digest_is_kept(user: User) -> None:
    token, secret = models.issue(user.pk, START)
    row = models.Token.objects.values().get(pk=token.pk)
    assert row == {
        "id": token.pk,
        "user_id": user.pk,
        "digest": models.digest(secret),
        "hint": secret[:10],
        "created_at": START,
        "revoked_at": None,
        "session_id": None,
        "expires_at": None,
    }


def test_tokens_are_long_and_never_the_same(user: User) -> None:
    secrets = {models.issue(user.pk, START)[1] for _ in range(50)}
    assert len(secrets) == 50
    assert all(secret.startswith("wkf_") and len(secret) >= 40 for secret in secrets)


def test_a_users_tokens_go_with_the_user(user: User) -> None:
    models.issue(user.pk, START)
    user.delete()
    assert not models.Token.objects.exists()


def test_a_token_ends_when_it_says_so(user: User, clock: HandClock) -> None:
    _, secret = models.issue(user.pk, clock.now, expires_at=clock.now + 1000)
    clock.advance(ms=999)
    assert models.find(secret) is not None
    clock.advance(ms=1)
    assert models.find(secret) is None


def test_the_tokens_of_one_session_are_revoked_together_and_no_others(user: User, clock: HandClock) -> None:
    bound, other, free = (
        models.issue(user.pk, clock.now, session_id=session_id)[1] for session_id in ("s-1", "s-2", None)
    )
    models.revoke_of_session("s-1", clock.now)
    assert [models.find(secret) is None for secret in (bound, other, free)] == [True, False, False]
