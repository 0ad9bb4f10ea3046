"""The Connection Sentry, which stops the work on a request when its client leaves.

The sentry is a Django middleware for Gunicorn's `gthread` and `sync` workers. It must be the first
in MIDDLEWARE:

    MIDDLEWARE = ["shop.sentry.SentryMiddleware", ...]

The sentry does the same as the system call `socket_watch` in the Connection Sentry paper (section
3), without a change of the kernel. One epoll thread per process watches the sockets of the requests
in progress. When a client leaves, the request's running query is cancelled, or the page ends at its
next query or call of `check()`. Gunicorn then closes the client's connection. docs/sentry.md has
the settings and limits, and explains which requests may be cancelled.

The package uses relative imports only, so that the folder can be copied into another project.
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
