"""The SENTRY_* settings with their allowed values, and the mode, which can change at run time."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

Mode = Literal["off", "watch", "cancel"]
MODES: tuple[Mode, ...] = get_args(Mode)
OFF, WATCH, CANCEL = MODES


class Setting(NamedTuple):
    """A setting. `allowed` describes its allowed values; `fits` returns whether a value is
    allowed.
    """

    name: str
    default: Any
    meaning: str
    allowed: str
    fits: Callable[[Any], bool]


class SettingRefused(ImproperlyConfigured):
    """The error for an invalid SENTRY_* setting; it names the setting and the allowed values."""

    def __init__(self, setting: Setting, value: object) -> None:
        super().__init__(f"{setting.name}: must be {setting.allowed}, not {value!r}")
        self.allowed = setting.allowed


def _seconds(least: float, most: float) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        return (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and least <= value <= most
        )

    return fits


def _are_methods(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) and all(
        isinstance(method, str) and method.isalpha() and method.isupper() for method in value
    )


SETTINGS = (
    Setting(
        "SENTRY_MODE",
        CANCEL,
        "`cancel` stops the work for a client that has left, `watch` only counts the work that "
        "`cancel` would save, `off` does nothing",
        "'off', 'watch' or 'cancel'",
        lambda value: value in MODES,
    ),
    Setting(
        "SENTRY_METHODS",
        ("GET", "HEAD", "OPTIONS"),
        "HTTP methods whose requests may be cancelled; `@cancellable` and `@protected` make "
        "exceptions for single views",
        "a list of HTTP methods in upper-case letters",
        _are_methods,
    ),
    Setting(
        "SENTRY_CANCEL_TIMEOUT_S",
        1.0,
        "real seconds within which the database must confirm that a query is cancelled; if it does "
        "not, the database connection is closed",
        "a number from 0.01 to 60",
        _seconds(0.01, 60.0),
    ),
    Setting(
        "SENTRY_DATABASE_CHECK_S",
        0,
        "`client_connection_check_interval` of the PostgreSQL sessions, the real seconds within "
        "which a query ends after its Django process has died; 0 keeps the server's setting",
        "a number from 0 to 3600",
        _seconds(0.0, 3600.0),
    ),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


class Configuration(NamedTuple):
    methods: frozenset[str]
    cancel_timeout_s: float
    database_check_s: float


def read() -> Configuration:
    """Return the project's settings. Raises SettingRefused if one is invalid."""
    values = {setting.name: value_of(setting) for setting in SETTINGS}
    return Configuration(
        frozenset(values["SENTRY_METHODS"]),
        float(values["SENTRY_CANCEL_TIMEOUT_S"]),
        float(values["SENTRY_DATABASE_CHECK_S"]),
    )


def value_of(setting: Setting) -> Any:
    """Return the project's value of this setting, or the default. Raises SettingRefused if the
    value is invalid.
    """
    value = getattr(settings, setting.name, setting.default)
    if not setting.fits(value):
        raise SettingRefused(setting, value)
    return value


_mode: str | None = None  # set at run time; None: the project's setting


def mode() -> str:
    """Return the mode that applies to the next request: `off`, `watch` or `cancel`."""
    return value_of(_BY_NAME["SENTRY_MODE"]) if _mode is None else _mode


def set_mode(wanted: str) -> None:
    """Change this process's mode from the next request on; raise SettingRefused if it is
    unknown.
    """
    global _mode
    setting = _BY_NAME["SENTRY_MODE"]
    if not setting.fits(wanted):
        raise SettingRefused(setting, wanted)
    _mode = wanted


def reset_mode() -> None:
    """Restore the mode of the project's settings, from the next request on."""
    global _mode
    _mode = None
