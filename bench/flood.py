"""Sessions in progress during a flood of new customers: the gateway with DOOR, HAProxy and nginx.

In `make bench-flood`, customers walk through a shop at ρ = 0.9, while wrk sends requests without
cookies over 400 connections in a closed loop. Each proxy is measured with and without the flood;
the same customers arrive both times. A proxy has a CPU to itself; wrk (at a lower priority), the
customers and the shop share the others. Each round measures all proxies in random order.
"""

import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
import psutil
from rich.table import Table

from bench import flood_shop, harness
from bench.flood_sessions import PATHS, Customers
from bench.harness import Wrk
from common import cpus, pinned, ports, processes
from common.one_line import OneLineCommand
from lab.baselines import sheets
from lab.baselines.process import ProxyProcess, folder_for_sockets
from lab.baselines.requests import Place
from lab.errors import ExperimentError

LOAD = 0.9
CONNECTIONS = 400
PAPER_CAPACITY_RPS = 7.0
"""The shop's capacity in pages per paper second. With a shop of 70 pages per real second, a real
second has 10 paper seconds. The limits of all proxies are in paper seconds, as on the live
leaderboard.
"""
CALM_S, QUICK_CALM_S = 100.0, 30.0
"""The time before the flood in paper seconds; a session takes about 60 paper seconds."""
QUICK_CAPACITY_RPS = 140
TARGET_SHARE = 0.95
FLAT_RATIO = 1.05
WAIT_S = 60.0
"""The real seconds that wrk may take beyond its planned duration."""

DOOR = "gateway, DOOR-LIFO"
SUBJECTS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    DOOR: ("gateway", {}),
    "HAProxy, default": ("haproxy", {}),
    "HAProxy, tuned": ("haproxy", {"maxconn": 13, "queue_s": 3.4}),
    "nginx, default": ("nginx", {}),
    "nginx, tuned": ("nginx", {"rate_ratio": 1.35, "burst": 76, "connections": 21}),
}
"""The program of each row and its parameters, tuned as on the live leaderboard."""


@dataclass(frozen=True)
class Score:
    """The result of one measurement. `memory_mib` is the proxy's memory at the start, after a third
    of the time, and at the end.
    """

    under_way: int
    completed: int
    newcomers: int
    newcomers_completed: int
    used_ratio: float
    flood_ratio: float
    """The share of the shop's capacity that the flood used."""
    p99_ms: float
    memory_mib: tuple[float, float, float]
    flood: Wrk
    seconds: float
    capacity_rps: float


def share(score: Score) -> float:
    return score.completed / max(1, score.under_way)


def newcomers_share(score: Score) -> float:
    """Return the share of completed sessions among those that began during the flood."""
    return score.newcomers_completed / max(1, score.newcomers)


@contextmanager
def shop(on: tuple[int, ...], capacity_rps: int) -> Iterator[int]:
    [port] = ports.free(1)
    command = [sys.executable, "-m", "bench.flood_shop", str(port), str(capacity_rps)]
    with harness.running(command, lambda: ports.accepts(port), on=on):
        yield port


@contextmanager
def proxy(
    name: str, shop_port: int, folder: Path, time_scale: float
) -> Iterator[tuple[int, psutil.Process]]:
    """Run a row's proxy on the CPU for proxies; yield the proxy's port and process."""
    program, parameters = SUBJECTS[name]
    own, _ = harness.split_cpus()
    if program == "gateway":
        [port] = ports.free(1)
        command = harness.gateway_command(
            port, shop_port, policy="door-lifo", workers=flood_shop.WORKERS, time_scale=time_scale
        )
        with harness.running(command, lambda: ports.accepts(port), on=own) as process:
            yield port, process
        return
    files = Path(tempfile.mkdtemp(dir=folder))
    with folder_for_sockets() as sockets:
        place = Place(
            files=files,
            sockets=Path(sockets),
            host="127.0.0.1",
            port=0,
            shop_host="127.0.0.1",
            shop_port=shop_port,
            time_scale=time_scale,
            abandonment="ignore",
            capacity_rps=PAPER_CAPACITY_RPS,
        )
        try:
            with ProxyProcess(program, sheets.read(program, parameters), place, own) as started:
                assert started.process is not None
                yield started.place.port, psutil.Process(started.process.pid)
        except ExperimentError as fault:
            raise click.ClickException(str(fault)) from None
    shutil.rmtree(files)


def work_s(port: int) -> dict[str, float]:
    """Return the shop's seconds of work so far, for the sessions and for the flood."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    try:
        connection.request("GET", flood_shop.COUNTS)
        counts: dict[str, float] = json.loads(connection.getresponse().read())
        return counts
    finally:
        connection.close()


@contextmanager
def flooding(port: int, seconds: int, on: tuple[int, ...]) -> Iterator[Callable[[], Wrk]]:
    """Let wrk flood the port for `seconds` real seconds. The yielded function waits for wrk's end
    and returns its counts.
    """
    command = harness.wrk_command(
        port, connections=CONNECTIONS, seconds=seconds, timeout_s=10,
        options=["-H", f"User-Agent: {flood_shop.FLOOD}"],
    )  # fmt: skip
    wrk = subprocess.Popen(
        pinned.command(on, ["nice", "-n", "10", *command], end_with_parent=signal.SIGTERM),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def counts() -> Wrk:
        try:
            text, _ = wrk.communicate(timeout=seconds + WAIT_S)
        except subprocess.TimeoutExpired:
            raise click.ClickException(
                f"wrk did not end within {WAIT_S:g} s after its planned duration"
            ) from None
        return Wrk.read(text)

    try:
        yield counts
    finally:
        processes.end(wrk, 1.0, signal.SIGKILL)
        assert wrk.stdout is not None
        wrk.stdout.close()


def measure(
    name: str, seed: int, calm_s: float, seconds: int, capacity_rps: int, *, floods: bool,
    folder: Path,
) -> Score:  # fmt: skip
    """Measure a proxy for `seconds` real seconds, with or without the flood, after a calm time."""
    _, others = harness.split_cpus()
    time_scale = capacity_rps / PAPER_CAPACITY_RPS
    with (
        shop(others, capacity_rps) as shop_port,
        proxy(name, shop_port, folder, time_scale) as (port, process),
    ):
        rate_per_s = LOAD * capacity_rps / len(PATHS)
        customers = Customers(port, rate_per_s, seed, set(others), time_scale)
        try:
            time.sleep(calm_s / time_scale)
            memory = [process.memory_info().rss]
            before, began_s = work_s(shop_port), time.monotonic()
            flood = Wrk()
            if floods:
                with flooding(port, seconds, others) as counts:
                    time.sleep(seconds / 3)
                    memory.append(process.memory_info().rss)
                    flood = counts()
            else:
                time.sleep(seconds / 3)
                memory.append(process.memory_info().rss)
                time.sleep(seconds * 2 / 3)
            after, ended_s = work_s(shop_port), time.monotonic()
            memory.append(process.memory_info().rss)
        finally:
            customers.stop()
    took_s = ended_s - began_s
    done = {origin: after[origin] - before[origin] for origin in after}
    sessions = customers.sessions
    under_way = [one for one in sessions if one.is_under_way(began_s)]
    newcomers = [one for one in sessions if began_s < one.began_s <= ended_s]
    page_ms = [
        1000 * page_s
        for one in sessions
        for requested_s, page_s in one.served
        if began_s < requested_s <= ended_s
    ]
    first, third, last = (size / 2**20 for size in memory)
    return Score(
        len(under_way),
        sum(one.is_complete for one in under_way),
        len(newcomers),
        sum(one.is_complete for one in newcomers),
        sum(done.values()) / took_s,
        done["flood"] / took_s,
        harness.percentile(page_ms, 0.99) if page_ms else float("nan"),
        (first, third, last),
        flood,
        took_s,
        capacity_rps,
    )


def table(calm: Mapping[str, list[Score]], flooded: Mapping[str, list[Score]]) -> Table:
    """Return a table with one row for each proxy, with medians over the rounds."""
    shown = harness.table(
        f"A flood over {CONNECTIONS} connections to a shop at ρ = {LOAD:g}",
        *("", "sessions in progress", "new sessions", "capacity used", "flood's part"),
        *("turned away/s", "served/s", "÷ capacity", "p99 ms", "memory MiB"),
        wraps=True,
    )
    for name, rounds in flooded.items():
        without = calm[name]

        def of(one: Callable[[Score], float], scores: list[Score] = rounds) -> float:
            return median(map(one, scores))

        shown.add_row(
            name,
            f"{of(share, without):.2f} → {of(share):.2f}",
            f"{of(newcomers_share, without):.2f} → {of(newcomers_share):.2f}",
            f"{of(lambda one: one.used_ratio, without):.2f} → {of(lambda one: one.used_ratio):.2f}",
            f"{of(lambda one: one.flood_ratio):.2f}",
            f"{of(lambda one: one.flood.turned_away / one.seconds):,.0f}",
            f"{of(lambda one: one.flood.served / one.seconds):,.0f}",
            f"{of(multiple):,.0f}",
            f"{of(lambda one: one.p99_ms, without):,.0f} → {of(lambda one: one.p99_ms):,.0f}",
            " → ".join(f"{median(one.memory_mib[at] for one in rounds):.0f}" for at in range(3)),
        )
    return shown


def multiple(score: Score) -> float:
    """Return the flood's answered requests per second, including those turned away, as a multiple
    of the shop's capacity.
    """
    return score.flood.answered / score.seconds / score.capacity_rps


def verdicts(rounds: list[Score]) -> list[tuple[str, bool]]:
    """Return a text for each target of the gateway, and whether the gateway meets this target."""
    completed = median(map(share, rounds))
    growth = median(one.memory_mib[2] / one.memory_mib[1] for one in rounds)
    return [
        (
            f"share of completed sessions, among those in progress when the flood began: "
            f"{completed:.2f}, target at least {TARGET_SHARE:g}",
            completed >= TARGET_SHARE,
        ),
        (
            f"memory at the end ÷ memory after a third of the flood: {growth:.2f}, target at most "
            f"{FLAT_RATIO:g}",
            growth <= FLAT_RATIO,
        ),
    ]


@click.command(cls=OneLineCommand)
@click.option("--rounds", default=3, type=click.IntRange(1, 100), show_default=True)
@click.option(
    "--seconds",
    default=20,
    type=click.IntRange(2, 600),
    show_default=True,
    help="The duration of the flood.",
)
@click.option(
    "--capacity",
    default=70,
    type=click.IntRange(1, 1000),
    show_default=True,
    help="The shop's capacity in pages per real second; a smaller capacity lengthens the waits "
    "of customers and proxies.",
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    help="The seed of the arrivals and of the order in each round.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Only test that the bench works here: DOOR alone, one round, a flood of 2 s (20 s in "
    "total).",
)
def main(rounds: int, seconds: int, capacity: int, seed: int, quick: bool) -> None:
    """Measure all proxies in interleaved rounds and print a table. The exit status is 1 if DOOR
    misses a target, except with --quick.
    """
    harness.need("nginx", "haproxy", "wrk")
    calm_s = QUICK_CALM_S if quick else CALM_S
    if quick:
        rounds, seconds, capacity = 1, 2, QUICK_CAPACITY_RPS
    names = [DOOR] if quick else list(SUBJECTS)
    console = harness.console_of(160)
    load = os.getloadavg()[0]
    calm: dict[str, list[Score]] = {name: [] for name in names}
    flooded: dict[str, list[Score]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder, console.status("measuring") as status:
        for number, name in harness.interleaved(names, rounds, random.Random(seed)):
            for floods, scores in ((False, calm), (True, flooded)):
                what = "with the flood" if floods else "without the flood"
                status.update(f"round {number} of {rounds}: {name}, {what}")
                scores[name].append(
                    measure(
                        name,
                        seed + number,
                        calm_s,
                        seconds,
                        capacity,
                        floods=floods,
                        folder=Path(folder),
                    )
                )
    console.print(table(calm, flooded))
    own, others = harness.split_cpus()
    console.print(
        f"Medians of {rounds} rounds with a flood of {seconds} s; the shop serves {capacity} "
        "pages per real second. Each arrow leads from the value without the flood to the value "
        "with it."
    )
    console.print(
        "Sessions in progress: completed share of the sessions that had received a page before "
        "the flood and had not ended. New sessions: completed share of the sessions that began "
        "during the flood."
    )
    console.print(
        "Turned away/s and served/s count the flood's requests; ÷ capacity is their sum as a "
        "multiple of the shop's capacity. p99 is the response time of the pages that sessions "
        "received."
    )
    console.print(
        "Memory has three values of the proxy: before the flood, after a third of it, and at its "
        "end."
    )
    console.print(
        f"Conditions: proxy on CPU {cpus.written(own)}; flood, customers and shop on CPU "
        f"{cpus.written(others)}. The shop waits instead of using a CPU, so the flood's client "
        f"does not reduce the shop's capacity. In every row, the flood's client also uses the "
        f"customers' CPUs, so customers wait longer. The flood is a closed loop: a proxy that "
        f"turns requests away sooner receives more of them. HAProxy and nginx write a log line "
        f"for each request; the gateway does not."
    )
    errors = sum(one.flood.errors for scores in flooded.values() for one in scores)
    if errors:
        console.print(f"wrk counted {errors} requests in total that were cut off or timed out.")
    if len(os.sched_getaffinity(0)) == 1:
        console.print("This machine has only one CPU, so the flood's client slows the proxy.")
    harness.report_busy(console, load)
    judged = verdicts(flooded[DOOR])
    for words, is_reached in judged:
        console.print(f"{DOOR}: {words}: {'reached' if is_reached else 'missed'}.")
    if not quick and not all(is_reached for _, is_reached in judged):
        sys.exit(1)
