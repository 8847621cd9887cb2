"""Creates over HTTP: a real ``serve`` and sixteen clients that keep their connections."""

import asyncio
import json
import os
import subprocess
import sys
import time

import httpx
from django.contrib.auth.models import User

from schedules import clock
from schedules.access import models as access
from tests.__main__ import free_port

_START_SECONDS = 30


def creates_per_second(user: User, *, connections: int, calls: int) -> float:
    """How many reminders a second are made durable, each connection in a session of its own."""
    _, token = access.issue(user.pk, clock.sample())
    port = free_port()
    command = [sys.executable, "manage.py", "serve", "--port", str(port)]
    with subprocess.Popen(command, env=os.environ.copy(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as web:
        try:
            _await(port)
            return asyncio.run(_load(port, token, connections, calls))
        finally:
            web.terminate()


def _await(port: int) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/healthz").raise_for_status()
            return
        except httpx.HTTPError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


async def _load(port: int, token: str, connections: int, calls: int) -> float:
    clients = [_Client(port, token) for _ in range(connections)]
    sessions = []
    for client in clients:
        await client.connect()
        made = await client.post("/sessions", {"open": True, "leaseSeconds": 3600})
        sessions.append(made["id"])
    body = {"prompt": "look at the build", "after_seconds": 86_400}

    async def one(client: "_Client", session: str, count: int) -> None:
        for _ in range(count):
            await client.post(f"/sessions/{session}/tools/schedule_create", body)

    pairs = list(zip(clients, sessions, strict=True))
    await asyncio.gather(*(one(client, session, 20) for client, session in pairs))
    start = time.perf_counter()
    await asyncio.gather(*(one(client, session, calls // connections) for client, session in pairs))
    return calls // connections * connections / (time.perf_counter() - start)


class _Client:
    """As little of an HTTP client as will do: it must not take the server's processor."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Length: "

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def post(self, path: str, body: dict[str, object]) -> dict[str, str]:
        content = json.dumps(body)
        self._writer.write(f"POST {path} HTTP/1.1\r\n{self._head}{len(content)}\r\n\r\n{content}".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        answer: dict[str, str] = json.loads(await self._reader.readexactly(length))
        if not head.startswith((b"http/1.1 200", b"http/1.1 201")):
            raise RuntimeError(f"the server refused: {answer}")
        return answer
