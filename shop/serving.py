"""Starts Gunicorn on the CPUs that belong to the shop.

Owns: CPU affinity and the replacement of this process by Gunicorn. Must not know: pages.
"""

import os
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
    command = [sys.executable, "-m", "gunicorn", "--config", "python:shop.gunicorn_config"]
    os.execv(sys.executable, command)
