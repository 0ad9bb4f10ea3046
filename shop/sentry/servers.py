"""The servers whose connections can be watched: Gunicorn's `gthread` and `sync` workers."""

import logging
import os
import sys
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from . import sockets

_logger = logging.getLogger(__name__)

MEND = (
    "serve with Gunicorn's gthread or sync worker; with other servers, the sentry does not notice "
    "when clients leave"
)
# A process that has loaded one of these modules runs the named server, or uses its greenlets.
_OTHERS = {
    "gevent.monkey": "gevent",
    "eventlet.patcher": "eventlet",
    "gunicorn.workers.gasgi": "Gunicorn's asgi worker",
    "gunicorn.workers.gtornado": "Gunicorn's tornado worker",
    "uvicorn.server": "Uvicorn",
    "hypercorn.run": "Hypercorn",
    "daphne.server": "Daphne",
    "granian.server": "Granian",
    "waitress.server": "Waitress",
    "uwsgi": "uWSGI",
    "mod_wsgi": "mod_wsgi",
}
_WORKERS = ("sync", "gthread")
_said: set[str] = set()


def socket_of(environ: Mapping[str, Any]) -> Any:
    """Return the socket of this request's connection. If the sentry cannot watch it, log a warning
    once and return None.
    """
    socket = environ.get("gunicorn.socket")
    if type(socket).__module__ in ("socket", "ssl") and sockets.AVAILABLE:
        if not str(environ.get("SERVER_PROTOCOL")).startswith("HTTP/2"):
            return socket
        _say_once("HTTP/2: a connection carries several requests")
    elif socket is None:
        server = environ.get("SERVER_SOFTWARE") or "this server"
        _say_once(f"{server} does not give its sockets to the application (gunicorn.socket)")
    else:
        _say_once(refusal() or f"the sockets are from the module {type(socket).__module__}")
    return None


def _say_once(why: str) -> None:
    if why not in _said:
        _said.add(why)
        _logger.warning("The Connection Sentry cannot watch requests: %s; %s.", why, MEND)


def refusal() -> str | None:
    """Return the reason why this process's requests cannot be watched; None if there is no known
    reason.
    """
    if len(sys.argv) > 1 and sys.argv[1] == "runserver":
        return "Django's development server does not give its sockets to the application"
    for module, server in _OTHERS.items():
        if module in sys.modules:
            return f"this process runs {server}"
    worker = _worker_class(os.environ.get("GUNICORN_CMD_ARGS", ""))
    if worker is not None and worker not in _WORKERS:
        return f"GUNICORN_CMD_ARGS sets the worker class {worker}"
    if not sockets.AVAILABLE:  # last, because greenlets also remove epoll
        return f"{sys.platform} has no epoll (only Linux has it)"
    return None


def _worker_class(arguments: str) -> str | None:
    words = arguments.replace("=", " ").split()
    for option, value in pairwise(words):
        if option in ("-k", "--worker-class"):
            return value
    return None
