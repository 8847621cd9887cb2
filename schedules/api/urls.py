"""The addresses of sessions and their tools."""

from django.urls import URLPattern, path, re_path

from schedules.api import describe, sessions, tools, turns

_SESSION = rf"^sessions/(?P<session_id>{describe.SESSION_ID})"
# An imported turn may have the last safe integer for its number, and those after it have longer ones.
_TURN = _SESSION + r"/turns/(?P<number>[0-9]{1,19})"


def _turn(view: type[turns.Turns], action: str, name: str) -> URLPattern:
    return re_path(rf"{_TURN}/{name}\Z", view.as_view({"post": action}))


urlpatterns = [
    path("sessions", sessions.Sessions.as_view({"get": "index", "post": "create"})),
    re_path(rf"{_SESSION}\Z", sessions.Sessions.as_view({"get": "retrieve"})),
    *(
        re_path(rf"{_SESSION}/{action}\Z", sessions.Sessions.as_view({"post": action}))
        for action in ("open", "renew", "close", "fork")
    ),
    re_path(rf"{_SESSION}/events\Z", sessions.Events.as_view({"get": "index", "post": "create"})),
    re_path(rf"{_SESSION}/stream\Z", sessions.Stream.as_view({"get": "read"})),
    re_path(rf"{_SESSION}/schedules\Z", sessions.Schedules.as_view({"get": "index"})),
    re_path(rf"{_SESSION}/turns\Z", turns.Turns.as_view({"post": "create"})),
    _turn(turns.Turns, "add", "messages"),
    _turn(turns.Turns, "end", "end"),
    re_path(rf"{_SESSION}/followups\Z", turns.Followups.as_view({"get": "index"})),
    # An imported follow-up's id may be any text, slashes included.
    re_path(rf"{_SESSION}/followups/(?P<followup_id>[\s\S]+)\Z", turns.Followups.as_view({"delete": "destroy"})),
    *(
        re_path(rf"{_SESSION}/tools/{name}\Z", tools.Tools.as_view({"post": name}))
        for name in ("schedule_create", "schedule_list", "schedule_delete")
    ),
    path("tools", tools.Catalogues.as_view({"get": "tools"})),
    path("event-types", tools.Catalogues.as_view({"get": "event_types"})),
]
