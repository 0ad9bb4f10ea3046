"""The Connection Sentry, a Django middleware that stops the work when a request's client leaves.

It serves Gunicorn's `gthread` and `sync` workers and must be first in MIDDLEWARE:
"shop.sentry.SentryMiddleware". One epoll thread per process watches the sockets of requests, as
`socket_watch` does in the kernel of the paper (section 3). When a client leaves, the running query
is cancelled, or the page ends at its next query or `check()` (docs/sentry.md).

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
