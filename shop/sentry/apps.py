"""The package as a Django application, which is needed only for its system checks."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Warning

from . import configuration, servers

_NAME = "SentryMiddleware"


def check(**_: Any) -> list[CheckMessage]:
    """Return the faults in the project's configuration.

    E001: a setting is invalid. W001: the middleware is missing. W002: the middleware is not the
    first. W003: the server's connections cannot be watched.
    """
    found: list[CheckMessage] = []
    for setting in configuration.SETTINGS:
        try:
            configuration.value_of(setting)
        except configuration.SettingRefused as refused:
            found.append(Error(str(refused), id="sentry.E001"))
    package = __name__.rpartition(".")[0]
    names = [f"{package}.{_NAME}", f"{package}.middleware.{_NAME}"]
    places = [i for i, name in enumerate(settings.MIDDLEWARE) if name in names]
    if not places:
        found.append(
            Warning(
                f"{names[0]} is not in MIDDLEWARE, so no request is watched. Make it the first.",
                id="sentry.W001",
            )
        )
    elif places[0]:
        found.append(
            Warning(
                f"{names[0]} is not the first in MIDDLEWARE. The sentry does not stop the work of "
                f"earlier middleware; make {_NAME} the first.",
                id="sentry.W002",
            )
        )
    why = servers.refusal()
    if why is not None:
        found.append(
            Warning(
                f"The Connection Sentry cannot watch requests: {why}.",
                hint=servers.MEND.capitalize() + ".",
                id="sentry.W003",
            )
        )
    return found


class SentryConfig(AppConfig):
    """The application for `"shop.sentry"` in INSTALLED_APPS."""

    name = __name__.rpartition(".")[0]
    label = "sentry"

    def ready(self) -> None:
        checks.register(check)
