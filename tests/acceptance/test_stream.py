"""Streams of a real server: what another process writes arrives, and a stop ends them at once."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.acceptance.processes import OpenSession, Server, until


@contextmanager
def followed(server: Server, session: OpenSession) -> Iterator[list[dict[str, Any]]]:
    """The events of the session's stream as they come, in a thread that ends with the stream."""
    seen: list[dict[str, Any]] = []
    begun = threading.Event()

    def follow() -> None:
        bearer = {"Authorization": f"Bearer {server.token}"}
        with httpx.stream("GET", f"{server.url}{session.path}/stream", headers=bearer, timeout=30) as stream:
            begun.set()
            seen.extend(json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))

    reader = threading.Thread(target=follow)
    reader.start()
    try:
        assert begun.wait(30)
        yield seen
    finally:
        reader.join(30)
        assert not reader.is_alive()


def test_what_another_web_process_writes_arrives_and_a_stop_ends_the_stream(fresh_database: str) -> None:
    with Server("--no-deliver", database=fresh_database) as one:
        session = one.open_session()
        with Server("--no-deliver", database=fresh_database, token=one.token) as other:
            with followed(other, session) as seen:
                until(lambda: len(seen) == 1)
                session.remind(3600)
                until(lambda: len(seen) == 2)
                assert other.stop() == 0
            assert seen == session.events()
        assert one.stop() == 0
