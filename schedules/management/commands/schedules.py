"""``manage.py schedules``: the three tools, from the command line."""

from typing import Any

from django.core.management.base import CommandError

from schedules import clock, reading, tools
from schedules.management.subcommands import FAILED, MISUSED, Subcommands, header, line
from schedules.sessions import lossless
from schedules.sessions.errors import Refusal
from schedules.sessions.lossless import Json

_ALL = 2**31


class Command(Subcommands):
    help = "Creates, lists and deletes the reminders of a session."

    def add_subcommands(self, subparsers: Any) -> None:
        made = self.subcommand(subparsers, "create", self._create, "Create a reminder in a live session.")
        made.add_argument("session", metavar="SESSION")
        made.add_argument("--prompt", required=True, help="what to be reminded of")
        when = made.add_mutually_exclusive_group(required=True)
        when.add_argument("--after-seconds", metavar="N", help="so many seconds from now")
        when.add_argument("--every-seconds", metavar="N", help="again and again, every so many seconds")
        when.add_argument(
            "--at",
            help='such as 2030-01-31T09:00:00+01:00, or a JSON object with "date", "time" and "time_zone"',
        )

        shown = self.subcommand(subparsers, "list", self._list, "List a session's active reminders.")
        shown.add_argument("session", metavar="SESSION")

        gone = self.subcommand(subparsers, "delete", self._delete, "Delete a reminder of a live session.")
        gone.add_argument("session", metavar="SESSION")
        gone.add_argument("id", metavar="ID", help="the reminder's, such as schedule-1")

    def _create(self, *, session: str, prompt: str, **options: Any) -> None:
        arguments: dict[str, Json] = {"prompt": prompt}
        for name in ("after_seconds", "every_seconds"):
            if options[name] is not None:
                arguments[name] = _number(options[name])
        if options["at"] is not None:
            arguments["at"] = _at(options["at"])
        value = self._value(tools.create(header(session).id, arguments), as_json=options["json"])
        if isinstance(value, dict):
            self.stdout.write(_readable(value))

    def _list(self, *, session: str, **options: Any) -> None:
        value = self._value(self._listed(header(session).id), as_json=options["json"])
        if isinstance(value, list):
            for view in value:
                self.stdout.write(_readable(view))

    def _listed(self, session_id: str) -> tools.Answer:
        try:
            return tools.list_(session_id, {})
        except Refusal as refused:
            if refused.code != "session_not_live":
                raise
        self.stderr.write("The session is cold: its reminders wait until a host opens it.")
        # As many as there are: the tool's own list has no pages either.
        views, _ = reading.schedules(session_id, clock.sample(), limit=_ALL)
        return tools.Answer(value=[*views])

    def _delete(self, *, session: str, **options: Any) -> None:
        name: str = options["id"]
        value = self._value(tools.delete(header(session).id, {"id": name}), as_json=options["json"])
        if isinstance(value, dict):
            self.stdout.write(f"Deleted {line(name)}." if value["deleted"] else f"There is no reminder {line(name)}.")

    def _value(self, answer: tools.Answer, *, as_json: bool) -> Json:
        """The value to print in words; None where it was printed as JSON. An error ends the command."""
        if as_json:
            self.say(answer.value)
        if answer.code is None:
            return None if as_json else answer.value
        if as_json or not isinstance(answer.value, dict):
            raise SystemExit(FAILED)
        raise CommandError(f"{answer.code}: {answer.value['message']}", returncode=FAILED)


def _number(text: str) -> Json:
    """A JSON number where the text is one: what it may be, the tool says."""
    try:
        return lossless.loads(text)
    except lossless.Invalid:
        return text


def _at(text: str) -> Json:
    if not text.lstrip().startswith("{"):
        return text
    try:
        return lossless.loads(text)
    except lossless.Invalid as problem:
        raise CommandError(f"--at: {problem}", returncode=MISUSED) from None


def _readable(view: Json) -> str:
    if not isinstance(view, dict):
        raise TypeError("a view is not an object")
    seconds = view.get("afterSeconds", view.get("everySeconds"))
    kind = view["kind"] if seconds is None else f"{view['kind']} {seconds} s"
    return f"{line(view['id'])}  {view['scheduledAt']}  {view['state']}  {kind}  {line(view['prompt'])}"
