"""The package as a Django application, which is needed only for its system checks."""

from django.apps import AppConfig
from django.core import checks

from .checks import check


class SentryConfig(AppConfig):
    """The application for `"shop.sentry"` in INSTALLED_APPS."""

    name = __name__.rpartition(".")[0]
    label = "sentry"

    def ready(self) -> None:
        checks.register(check)
