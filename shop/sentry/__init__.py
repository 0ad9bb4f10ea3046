"""The Connection Sentry, which stops the work on a request when its customer leaves.

It is a Django middleware for Gunicorn's `gthread` and `sync` workers; it takes one line, the first
in MIDDLEWARE:

    MIDDLEWARE = ["shop.sentry.SentryMiddleware", ...]

It is the user-level counterpart of `socket_watch` (Connection Sentry, section 3): one epoll thread
per process watches the sockets of the requests in progress. When a client leaves, the thread
cancels the request's running query; the page ends at its next query or call of `check()`, and the
connection is closed. docs/sentry.md has the settings and limits, and explains which requests may be
cancelled.

The package uses relative imports only, so that the folder can be copied into another project.
"""

from .configuration import MODES, Mode, SettingRefused, mode, set_mode
from .meter import snapshot
from .middleware import SentryMiddleware, watching
from .permission import cancellable, protected
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
