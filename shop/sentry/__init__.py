"""The Connection Sentry, a Django middleware that stops the work when a request's client leaves.

"shop.sentry.SentryMiddleware" must be first in MIDDLEWARE (docs/sentry.md). The package uses
relative imports only, so that the folder can be copied into another project.
"""

from .configuration import MODES, Mode, SettingRefused, mode, set_mode
from .meter import snapshot
from .middleware import SentryMiddleware, cancellable, protected, watching
from .watch import ClientGone, Watch, check, commit_point, current

__all__ = [
    "MODES",
    "ClientGone",
    "Mode",
    "SentryMiddleware",
    "SettingRefused",
    "Watch",
    "cancellable",
    "check",
    "commit_point",
    "current",
    "mode",
    "protected",
    "set_mode",
    "snapshot",
    "watching",
]
