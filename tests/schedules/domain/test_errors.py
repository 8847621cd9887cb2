"""The messages of the tools' errors: stable, plain, and the same for every input."""

import hashlib

import pytest

from schedules.domain import errors

IDS = [f"{number}-{situation.code}" for number, situation in enumerate(errors.SITUATIONS)]


@pytest.mark.parametrize("situation", errors.SITUATIONS, ids=IDS)
def test_a_message_is_short_plain_and_shows_no_exception(situation: errors.Situation) -> None:
    message = situation.message
    assert situation.code in errors.CODES
    assert 20 < len(message) < 300
    assert message.isascii()
    assert "\n" not in message
    assert "  " not in message
    assert message.endswith(".")
    for leak in ("Error", "Exception", "Traceback", "line ", "SELECT", ".py", "None", "{!r}", "%s"):
        assert leak not in message


def test_every_code_has_a_message_and_every_message_is_said_once() -> None:
    assert {situation.code for situation in errors.SITUATIONS} == set(errors.CODES)
    messages = [situation.message for situation in errors.SITUATIONS]
    assert len(set(messages)) == len(messages)
    defined = [value for value in vars(errors).values() if isinstance(value, errors.Situation)]
    assert defined == list(errors.SITUATIONS)


def test_the_messages_are_those_of_before() -> None:
    """Hosts and evaluations may know them: change this digest together with the release notes."""
    text = "\n".join(f"{situation.code}: {situation.message}" for situation in errors.SITUATIONS)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "59e5ef22e9bf8caa"


def test_an_error_carries_its_situations_code_and_message() -> None:
    error = errors.NOT_FUTURE.error()
    assert (error.code, error.message) == ("not_future", errors.NOT_FUTURE.message)
    assert str(error) == error.message
