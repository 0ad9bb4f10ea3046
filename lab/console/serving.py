"""Starts the console's Gunicorn.

Owns: the worker class, the replacement of this process by Gunicorn. Must not know: pages.
"""

import logging
import os
import socket
import sys

from gunicorn.arbiter import Arbiter
from uvicorn.server import Server
from uvicorn_worker import UvicornWorker

from lab.console.settings import LAB

logger = logging.getLogger("lab.console")


class _Server(Server):
    """Ends the streams before it waits for whatever is still being answered.

    By itself a stream goes on for ever: it would be cut off after the patience of the end, and
    every cut is a traceback in the log.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        from lab.console.asgi import watch

        watch.end()
        await super().shutdown(sockets)


class ConsoleWorker(UvicornWorker):
    """uvicorn within Gunicorn; a stream that is open does not hold up the end."""

    CONFIG_KWARGS = {  # noqa: RUF012 - as its parent has it
        "loop": "uvloop",
        "http": "httptools",
        "lifespan": "on",
        "timeout_graceful_shutdown": 1,
        "access_log": False,
    }

    async def _serve(self) -> None:  # as its parent, with a server that knows of the streams
        self.config.app = self.wsgi
        server = _Server(config=self.config)
        self._install_sigquit_handler()
        await server.serve(sockets=self.sockets)
        if not server.started:
            sys.exit(Arbiter.WORKER_BOOT_ERROR)


def serve() -> None:
    """Never returns: the process becomes Gunicorn's."""
    if LAB.lab_is_hidden:
        logger.warning(
            "DOORBUSTER_HOST=%s: the console stays on %s, for without accounts anybody could "
            "run and delete; mend: DOORBUSTER_LAB_ACCOUNTS=1, then accounts (docs/console.md, "
            "People)",
            LAB.host,
            LAB.lab_host,
        )
    command = [sys.executable, "-m", "gunicorn", "--config", "python:lab.console.gunicorn_config"]
    os.execv(sys.executable, command)
