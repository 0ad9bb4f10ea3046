"""The console as Django's application."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "lab.console"
    label = "console"
