"""``manage.py serve``: everything in one process, on a fresh clone too."""

import os
import secrets
import shlex
import socket
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config import first_run, stopping
from config.delivery import Delivery
from routines import trigger

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  an address to listen on, not one to call


class Command(BaseCommand):
    help = "Migrates the database, makes a first user where there is none, and serves the API, the admin and the owner."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.WAKEFUL_HOST, help="the address to listen on (WAKEFUL_HOST)")
        parser.add_argument(
            "--port",
            type=_port,
            default=settings.WAKEFUL_PORT,
            help="the port to listen on (WAKEFUL_PORT); 0 for any free one",
        )
        parser.add_argument(
            "--no-deliver", action="store_true", help="run no owner here: `manage.py deliver` runs elsewhere"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        from config import web  # the web application reads settings that the checks have passed by now

        if options["host"] not in settings.ALLOWED_HOSTS:
            settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, options["host"]]
        with web.listen(options["host"], options["port"]) as listener:
            if not os.environ.get("WAKEFUL_URL"):
                settings.WAKEFUL_URL = _address(listener)
            first_run.keep_secret_key()
            first_run.require_database()
            server = web.Server(listener)
            delivery = None if options["no_deliver"] else Delivery()

            def stop() -> None:
                server.stop()
                trigger.stop()
                if delivery is not None:
                    delivery.stop()

            with stopping.on_signal(stop):
                first_run.migrate()
                user = first_run.make_first_user()
                if delivery is not None:
                    delivery.start()
                try:
                    server.serve_until_stopped(lambda: self._greet(listener, user, delivers=delivery is not None))
                finally:
                    if delivery is not None:
                        delivery.stop()
                        delivery.join()

    def _greet(self, listener: socket.socket, user: first_run.FirstUser | None, *, delivers: bool) -> None:
        url = _address(listener)
        lines = [f"Wakeful serves {url}: the API's description at /docs, the operators' view at /admin/."]
        if user is not None:
            lines += [
                "",
                "It made a first user. This is shown once:",
                f"  name      {first_run.ADMIN}",
                f"  password  {user.password}",
                f"  token     {user.token}",
            ]
        if not delivers:
            lines += ["", "No owner runs here: reminders come back while `manage.py deliver` runs somewhere."]
        lines += [
            "",
            "A reminder that comes back in five seconds:"
            if user is not None
            else "A reminder that comes back in five seconds (`manage.py token NAME` makes a TOKEN):",
            *_demonstration(url, "$TOKEN" if user is None else user.token),
        ]
        self.stdout.write("\n".join(lines))
        self.stdout.flush()


def _address(listener: socket.socket) -> str:
    """Where this machine reaches the server."""
    host, port = listener.getsockname()[:2]
    host = _ANY.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _demonstration(url: str, token: str) -> list[str]:
    """Three lines for a shell: a session, a reminder in it, and the wait for its follow-up."""
    session = f"{url}/sessions/demo-{secrets.token_hex(4)}"
    name = session.rpartition("/")[2]
    bearer = f'-H "Authorization: Bearer {token}"'
    opening = f'{{"id": "{name}", "open": true, "holder": "demo", "leaseSeconds": 300}}'
    reminder = '{"prompt": "Stretch your legs.", "after_seconds": 5}'
    return [
        f"curl -sw '\\n' {bearer} {url}/sessions -d {shlex.quote(opening)}",
        f"curl -sw '\\n' {bearer} {session}/tools/schedule_create -d {shlex.quote(reminder)}",
        f"curl -sw '\\n' {bearer} {shlex.quote(f'{session}/followups?wait=30')}",
    ]


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 2**16):
        raise ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)
