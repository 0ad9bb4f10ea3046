"""Django's system checks for projects that have the package in INSTALLED_APPS."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from . import configuration, servers

_NAME = "SentryMiddleware"


def check(**_: Any) -> list[CheckMessage]:
    """Return the faults in the project's configuration.

    E001: a setting is invalid; W001: the middleware is missing; W002: it is not the first; W003:
    the server is unsuitable.
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
            Warning(f"{names[0]} is not in MIDDLEWARE: no request is watched.", id="sentry.W001")
        )
    elif places[0]:
        found.append(
            Warning(
                f"{names[0]} is not the first in MIDDLEWARE: the sentry does not watch earlier "
                f"middleware, and skips it when a client leaves.",
                id="sentry.W002",
            )
        )
    why = servers.refusal()
    if why is not None:
        found.append(
            Warning(
                f"The Connection Sentry cannot watch: {why}.",
                hint=servers.MEND.capitalize() + ".",
                id="sentry.W003",
            )
        )
    return found
