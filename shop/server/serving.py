"""The start of Gunicorn on the shop's CPUs, and the end of Gunicorn's workers if its master
process is killed.
"""

import os
import signal
import socket
import sys

import click
from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

from common import cpus, processes
from shop import settings


def end_with_master(worker: Worker, sign: signal.Signals) -> None:
    """Make the kernel send `sign` to this worker process when its master is killed.

    Otherwise the worker would keep the ports that the next master needs.
    """
    processes.end_with_parent(sign)
    if worker.ppid != os.getppid():  # the master has already been killed
        sys.exit(Arbiter.WORKER_BOOT_ERROR)


def check_inner_host() -> None:
    """Raise ClickException if no process can listen on the inner host, because Gunicorn would try
    for a long time.
    """
    host = settings.INNER_HOST
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        with socket.socket(found[0][0], socket.SOCK_STREAM) as probe:
            probe.bind(found[0][4])
    except OSError as error:
        raise click.ClickException(
            f"DOORBUSTER_INNER_HOST: {host} is not an address of this machine ({error.strerror}); "
            "allowed: 127.0.0.1, 0.0.0.0 for all addresses, or one of this machine's addresses"
        ) from error


def check_inner_token() -> None:
    """Raise ClickException if the controller needs a token but none is set."""
    if settings.INNER_TOKEN_REQUIRED and not settings.INNER_TOKEN:
        raise click.ClickException(
            "DOORBUSTER_INNER_TOKEN: must be set, because DOORBUSTER_INNER_TOKEN_REQUIRED is 1. "
            "`make up` generates a token; or set DOORBUSTER_INNER_TOKEN_REQUIRED=0."
        )


def serve() -> None:
    check_inner_token()
    try:
        os.sched_setaffinity(0, settings.SHOP_CPUS)
    except OSError as error:
        present = cpus.written(os.sched_getaffinity(0))
        raise click.ClickException(
            f"DOORBUSTER_SHOP_CPUS: this machine does not have the CPUs "
            f"{cpus.written(settings.SHOP_CPUS)}; this process may use {present}. Write, for "
            "example, 1 or 2-3."
        ) from error
    check_inner_host()
    command = [sys.executable, "-m", "gunicorn", "--config", "python:shop.server.gunicorn_config"]
    os.execv(sys.executable, command)
