"""Starts the console's Gunicorn.

Owns: the worker class, the replacement of this process by Gunicorn. Must not know: pages.
"""

import os
import sys

from uvicorn_worker import UvicornWorker


class ConsoleWorker(UvicornWorker):
    """uvicorn within Gunicorn; a stream that is open does not hold up the end."""

    CONFIG_KWARGS = {  # noqa: RUF012 - as its parent has it
        "loop": "uvloop",
        "http": "httptools",
        "lifespan": "on",
        "timeout_graceful_shutdown": 1,
        "access_log": False,
    }


def serve() -> None:
    """Never returns: the process becomes Gunicorn's."""
    command = [sys.executable, "-m", "gunicorn", "--config", "python:lab.console.gunicorn_config"]
    os.execv(sys.executable, command)
