from django.apps import AppConfig


class RoutinesConfig(AppConfig):
    """Manifests that say when to fire what: read, checked and previewed."""

    name = "routines"
    verbose_name = "Routines"
