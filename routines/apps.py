from django.apps import AppConfig


class RoutinesConfig(AppConfig):
    """Manifests that say when to fire what, and the jobs and runs that come of them."""

    name = "routines"
    verbose_name = "Routines"

    def ready(self) -> None:
        from routines import checks, events  # noqa: F401  checks register themselves
        from schedules import tools
        from schedules.sessions import log

        log.hooks.append(events.of_session_events)
        tools.on_value.append(events.of_tool_value)
        tools.on_error.append(events.of_tool_error)
