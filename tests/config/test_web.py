"""The web server's own bounds."""

import socket

from django.conf import settings

from config import web
from schedules.api import bodies


def test_a_stop_waits_for_whatever_a_call_may_wait_for() -> None:
    with socket.socket() as listener:
        patience = web.Server(listener).config.timeout_graceful_shutdown
    assert patience is not None
    # On SQLite a writer waits for its turn, and then for the file.
    assert patience > 2 * settings.LOCK_SECONDS
    assert patience > bodies.SECONDS
