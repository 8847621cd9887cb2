"""An ASGI application asked without a server: what a client sends, and what it is answered."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from schedules.api.asgi import Application, Message, Scope
from schedules.sessions import lossless


@dataclass
class Call:
    """A client's request. ``parts`` is what it sends of its body; with ``ends`` false it never sends the rest.

    leaves: whether it breaks off the connection after what it sent.
    reads: set while it takes in what it is answered.
    sent: what the application sent it.
    taken: how many bytes of its body were taken in.
    """

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    parts: Iterable[bytes] = (b"",)
    ends: bool = True
    leaves: bool = False
    reads: asyncio.Event | None = None
    sent: list[Message] = field(default_factory=list)
    taken: int = 0

    async def of(self, application: Application) -> "Call":
        """Make the call; itself, when it is answered."""
        left = list(self.parts)

        async def receive() -> Message:
            if left:
                part = left.pop(0)
                self.taken += len(part)
                return {"type": "http.request", "body": part, "more_body": bool(left) or not self.ends}
            if not self.leaves:
                await asyncio.Event().wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            self.sent.append(message)
            if self.reads is not None:
                await self.reads.wait()

        await application(self._scope(), receive, send)
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def answered(self) -> dict[bytes, bytes]:
        """The headers of the answer."""
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> Any:
        """The JSON of the answer."""
        return lossless.loads(b"".join(message.get("body", b"") for message in self.sent[1:]))

    def _scope(self) -> Scope:
        path, _, query = self.path.partition("?")
        return {
            "type": "http",
            "http_version": "1.1",
            "method": self.method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [
                (name.lower().encode(), value.encode("latin-1"))
                for name, value in {"Host": "localhost", **self.headers}.items()
            ],
        }
