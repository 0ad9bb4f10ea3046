"""Starts the console's Gunicorn.

Owns: the worker class, the replacement of this process by Gunicorn. Must not know: pages.
"""

import logging
import os
import sys

from uvicorn_worker import UvicornWorker

from lab.console.settings import LAB

logger = logging.getLogger("lab.console")


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
    if LAB.lab_host != LAB.host:
        logger.warning(
            "DOORBUSTER_HOST=%s: the console stays on %s, for without accounts anybody could "
            "run and delete; mend: DOORBUSTER_LAB_ACCOUNTS=1, then python -m lab.console teacher "
            "NAME",
            LAB.host,
            LAB.lab_host,
        )
    command = [sys.executable, "-m", "gunicorn", "--config", "python:lab.console.gunicorn_config"]
    os.execv(sys.executable, command)
