"""The functions that several benchmarks share, for example to start programs and to run wrk."""

import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import click
import psutil
from rich.console import Console
from rich.table import Table

from common import cpus, pinned, ports, processes
from common.waiting import wait_until
from lab.baselines.process import SYSTEM_PATH
from runtime.settings import REPOSITORY

PATIENCE_S = 120.0
"""The real seconds in which a program must start or end, on a busy machine."""
PACKAGES = {"nginx": "nginx-light", "haproxy": "haproxy", "wrk": "wrk", "taskset": "util-linux"}
"""The Debian package of each program."""
PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), SYSTEM_PATH))
Case = TypeVar("Case")

BUSY_LOAD = 0.5
"""The load average above which a benchmark reports that the machine was busy."""


def need(*programs: str) -> None:
    """Raise a ClickException if programs are not installed; the message names them."""
    missing = [name for name in programs if shutil.which(name, path=PATH) is None]
    if missing:
        packages = " ".join(PACKAGES[name] for name in missing)
        raise click.ClickException(
            f"cannot find {', '.join(missing)}; on Debian or Ubuntu, run: "
            f"apt-get install {packages}"
        )


def split_cpus() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the measured server's CPU, and the CPUs of everything else."""
    own = cpus.for_shop()
    return own, cpus.for_others(own)


def until(
    condition: Callable[[], bool], what: str, within_s: float = PATIENCE_S, every_s: float = 0.1
) -> None:
    """Wait for the condition. Raises ClickException after `within_s` real seconds.

    `what` begins the error message, for example "the queries did not begin".
    """
    if not wait_until(condition, within_s, every_s=every_s):
        raise click.ClickException(f"{what} within {within_s:g} s")


@contextmanager
def running(
    command: Sequence[str],
    ready: Callable[[], bool],
    *,
    on: tuple[int, ...] | None = None,
    user: str | None = None,
    stop: signal.Signals = signal.SIGTERM,
    environment: Mapping[str, str] | None = None,
) -> Iterator[psutil.Process]:
    """Run `command` on the CPUs `on`, by default all, and yield its process once `ready` is true.

    At the end of the block, the signal `stop` ends the program. The program inherits the
    environment variables of this process, except `DOORBUSTER_...`, and gets those in `environment`.
    If this process dies, the kernel ends the program.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("DOORBUSTER_")}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            pinned.command(
                on or tuple(sorted(cpus.here())), command, user=user, end_with_parent=stop
            ),
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**inherited, "PATH": PATH, **(environment or {})},
        )
        try:
            if not processes.becomes_ready(process, ready, PATIENCE_S):
                processes.end(process, PATIENCE_S, signal.SIGKILL)
                errors.seek(0)
                text = errors.read().decode(errors="replace").strip()
                raise click.ClickException(f"{' '.join(command)} does not start: {text[-500:]}")
            yield psutil.Process(process.pid)
        finally:
            processes.end(process, PATIENCE_S, stop)


def gateway_command(
    port: int, shop_port: int, *, admin_port: int = 0, **options: object
) -> list[str]:
    """Return the command line of a gateway in front of a shop without a controller."""
    given = {
        "port": port,
        "admin-port": admin_port,
        "shop-port": shop_port,
        "shop-controller-port": ports.free(1)[0],
        **{name.replace("_", "-"): value for name, value in options.items()},
    }
    return [sys.executable, "-m", "gateway", *(f"--{name}={it}" for name, it in given.items())]


def listeners(wanted: set[int]) -> set[int]:
    found = psutil.net_connections("inet")
    pids = {
        one.pid
        for one in found
        if one.laddr and one.status == psutil.CONN_LISTEN and one.laddr.port in wanted
    }
    return {pid for pid in pids if pid is not None}


@dataclass(frozen=True)
class Wrk:
    """The numbers that wrk prints. The p99 requires wrk's option `--latency`."""

    answered: int = 0
    turned_away: int = 0
    errors: int = 0
    rate_rps: float = math.nan
    p99_ms: float = math.nan

    @property
    def served(self) -> int:
        return self.answered - self.turned_away

    @classmethod
    def read(cls, text: str) -> "Wrk":
        """Return the numbers in wrk's output. Raises ClickException if wrk did not measure."""
        answered = re.search(r"(\d+) requests in ", text)
        rate = re.search(r"Requests/sec:\s+([0-9.]+)", text)
        if answered is None or rate is None:
            raise wrk_failed(text)
        turned_away = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        errors = re.search(r"Socket errors: .*", text)
        p99 = re.search(r"99%\s+([0-9.]+)(us|ms|s)\b", text)
        return cls(
            int(answered[1]),
            int(turned_away[1]) if turned_away else 0,
            sum(map(int, re.findall(r"\d+", errors[0]))) if errors else 0,
            float(rate[1]),
            float(p99[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[p99[2]] if p99 else math.nan,
        )


def wrk_failed(text: str) -> click.ClickException:
    """Return the error for a measurement that failed, with the end of wrk's output."""
    return click.ClickException(f"wrk: the measurement failed: {text.strip()[-500:]}")


def wrk_command(
    port: int, *, connections: int, seconds: int, timeout_s: int, options: Sequence[str] = ()
) -> list[str]:
    return [
        "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", f"{timeout_s}s", *options,
        f"http://127.0.0.1:{port}/",
    ]  # fmt: skip


def interleaved(
    cases: Sequence[Case], rounds: int, rng: random.Random, *, warm_up: int = 0
) -> Iterator[tuple[int, Case]]:
    """Yield every case once per round, in random order, with the number of the round.

    Before these rounds, which have the numbers 1 to `rounds`, come `warm_up` rounds with numbers
    below 1.
    """
    for number in range(1 - warm_up, rounds + 1):
        for case in rng.sample(cases, len(cases)):
            yield number, case


def percentile(values: Sequence[float], ratio: float) -> float:
    """Return the value at the position `ratio` (0 to 1) of the values in ascending order."""
    return sorted(values)[min(len(values) - 1, int(ratio * len(values)))]


def table(title: str, *columns: str, texts: Collection[str] = (), wraps: bool = False) -> Table:
    """Return an empty table. The first column and those in `texts` are for texts, the others for
    numbers. Only with `wraps`, a heading may have several lines.
    """
    drawn = Table(title=title)
    for place, name in enumerate(columns):
        is_text = not place or name in texts
        drawn.add_column(name, justify="left" if is_text else "right", no_wrap=not wraps)
    return drawn


def times_table(title: str, times_ms: Mapping[str, Sequence[float]]) -> Table:
    """Return a table with the number, the median, the p95 and the maximum of each page's times in
    ms, and of all pages' times.
    """
    drawn = table(title, "", "n", "median", "p95", "most")
    for name, values in {**times_ms, "all": [*chain(*times_ms.values())]}.items():
        shares = (percentile(values, ratio) for ratio in (0.5, 0.95, 1.0))
        drawn.add_row(name, str(len(values)), *(f"{value:.0f}" for value in shares))
    return drawn


def console_of(width: int) -> Console:
    """Return Rich's console, which prints the tables. Unless the output is a terminal, its lines
    have this width in characters.
    """
    console = Console()
    if not console.is_terminal:
        console.width = width
    return console


def report_busy(console: Console, load: float) -> None:
    """Report the load average before the measurement if it was high."""
    if load > BUSY_LOAD:
        console.print(f"The machine was busy before the measurement (load average {load:.1f}).")
