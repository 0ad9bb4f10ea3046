"""Starts Gunicorn on the CPUs that belong to the shop.

Owns: CPU affinity and the replacement of this process by Gunicorn. Must not know: pages.
"""

import os
import socket
import sys

import click

from shop import settings


def cpus_of(text: str) -> set[int]:
    """`1`, `2-3` or `0,2` as numbers. Raises ValueError."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        numbers.update(range(int(first), int(last if dash else first) + 1))
    if not numbers:
        raise ValueError(f"{text!r} names no CPU")
    return numbers


def check_inner_host() -> None:
    """Raises click's error if nothing can listen on the inner host; Gunicorn would try for long."""
    host = settings.INNER_HOST
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        with socket.socket(found[0][0], socket.SOCK_STREAM) as probe:
            probe.bind(found[0][4])
    except OSError as error:
        raise click.ClickException(
            f"DOORBUSTER_INNER_HOST={host} is no address of this machine ({error.strerror}); "
            "allowed is 127.0.0.1, 0.0.0.0 for all addresses, or one of them."
        ) from error


def serve() -> None:
    """Never returns: the process becomes Gunicorn's."""
    try:
        os.sched_setaffinity(0, cpus_of(settings.SHOP_CPUS))
    except (ValueError, OSError) as error:
        present = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise click.ClickException(
            f"DOORBUSTER_SHOP_CPUS={settings.SHOP_CPUS!r} does not name CPUs of this machine; "
            f"write for example 1 or 2-3. This process may use {present}."
        ) from error
    check_inner_host()
    command = [sys.executable, "-m", "gunicorn", "--config", "python:shop.gunicorn_config"]
    os.execv(sys.executable, command)
