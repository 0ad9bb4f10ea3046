"""The start of processes that end with the thread that started them, the seeding of hosted shops,
and the end of gateways and shops.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from common import log_tail, pinned, processes
from runtime.settings import REPOSITORY


class HostingError(RuntimeError):
    """The error of a platform or an additional shop; the message is the reason."""


class Started:
    """A context manager that starts parts and ends them. Its method `_start` must start all parts,
    and must register in `_running` the function that ends each part.
    """

    def __init__(self) -> None:
        self._running = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _start(self) -> None:
        raise NotImplementedError


START_PATIENCE_S = 240.0
"""The time, in real seconds, in which a started part must be ready."""
END_PATIENCE_S = 30.0
"""The time, in real seconds, in which gateways and shops together may finish their requests before
they are killed. A gateway drains for a shorter time by default (`drain_s`), so that some time is
left for its shops. The platform waits longer than this for an application.
"""
SEEDING_PATIENCE_S = 300.0
SEEDING_PATIENCE_S_PER_BOOK = 0.002


def start(
    module: Sequence[str],
    *,
    on: tuple[int, ...],
    environment: Mapping[str, str],
    log: Path,
    own_session: bool = True,
) -> subprocess.Popen[bytes]:
    """Start `python -m MODULE …` on these CPUs.

    With `own_session`, the process does not get Ctrl-C, so that the starting process can end its
    processes in order.
    """
    command = pinned.command(
        on,
        [sys.executable, "-m", *module],
        end_with_parent=signal.SIGTERM,
        parent=os.getpid(),
    )
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=own_session,
        )


def end(
    gateways: Sequence[subprocess.Popen[bytes]], shops: Sequence[subprocess.Popen[bytes]]
) -> None:
    """End the gateways before the shops, because a gateway that drains still needs its shop."""
    deadline_s = time.monotonic() + END_PATIENCE_S
    processes.end_all(gateways, deadline_s - time.monotonic())
    processes.end_all(shops, deadline_s - time.monotonic())


def seed(
    name: str, *, books: int, on: tuple[int, ...], environment: Mapping[str, str], log: Path
) -> None:
    """Create the tables, books and accounts of the shop in this `environment`. Raises HostingError,
    which names the shop `name`, if this fails or takes too long for `books` books.
    """
    process = start(["shop", "migrate-and-seed"], on=on, environment=environment, log=log)
    try:
        status = process.wait(SEEDING_PATIENCE_S + SEEDING_PATIENCE_S_PER_BOOK * books)
    except subprocess.TimeoutExpired:
        raise HostingError(
            f"the tables of {name} were not ready in time; {log_tail.of(log)}"
        ) from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if status != 0:
        raise HostingError(f"the tables of {name} could not be created; {log_tail.of(log)}")
