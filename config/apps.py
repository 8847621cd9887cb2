from django.apps import AppConfig


class WakefulConfig(AppConfig):
    """The commands and pages that need more than one app."""

    name = "config"
    label = "wakeful"
    verbose_name = "Wakeful"
