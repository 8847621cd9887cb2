from django.apps import AppConfig
from django.db.models.signals import post_migrate


class SchedulesConfig(AppConfig):
    """Sessions, reminders and their delivery."""

    name = "schedules"
    verbose_name = "Schedules"

    def ready(self) -> None:
        from schedules import checks  # noqa: F401  registers the system checks
        from schedules.sessions import guards

        post_migrate.connect(guards.put_back, sender=self, dispatch_uid="schedules.guards")
