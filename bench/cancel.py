"""The time that a query still runs after its customer has closed the connection.

`make bench-cancel` uses a real Gunicorn (30 threads, on the shop's CPU), a separate PostgreSQL, and
a gateway with 30 workers. Customers request a page from the shop or the gateway, and leave. The
page's query holds a lock until it ends. Another database session waits for this lock, so it
observes the end of the query. The bench also measures the sentry's cost for a request whose
customer stays.
"""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import psycopg
from rich.table import Table

from bench import harness
from bench.harness import percentile
from bench.servers import database, temporary_folder
from common import ports
from common.one_line import OneLineCommand
from runtime.native import postgres

THREADS, QUEUED = 30, 20
PATIENCE_S = 120.0  # seconds, for a busy machine
ALONE = "one leaves"
CROWD = f"{THREADS} leave at once, {QUEUED} queued"
TARGET_P99_MS = {ALONE: 20.0, CROWD: 60.0}

# (scene, shop or gateway) → time for which the queries still ran, in ms
Rows = dict[tuple[str, str], list[float]]

# All requests go through the policy, as the shop's pages do.
_PAGES = """
[[rule]]
page = "Br-1"
methods = ["GET"]
path = "/.*"
"""


class Bench:
    """The port to which customers connect (the shop's or the gateway's), and the database."""

    def __init__(self, where: str, cluster: postgres.Cluster, port: int) -> None:
        self.where = where
        self._cluster = cluster
        self._port = port

    def session(self) -> "psycopg.Connection[tuple[Any, ...]]":
        return psycopg.connect(
            host="127.0.0.1", port=self._cluster.port, user=self._cluster.user,
            password=self._cluster.password, dbname=self._cluster.database, autocommit=True,
        )  # fmt: skip

    def request(self, path: str) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: shop\r\n\r\n".encode())
        return client


until = partial(harness.until, within_s=PATIENCE_S, every_s=0.001)


class Observers:
    """Database sessions that wait for the queries' locks, one for each client."""

    def __init__(self, bench: Bench, count: int) -> None:
        self._bench = bench
        self._sessions = [bench.session() for _ in range(count)]
        self._looking = bench.session()

    def round(self, first_key: int, queued: int = 0) -> list[float]:
        """Let one client per observer leave, all at the same time.

        Return the time for which each query still ran, in ms. At the same time, `queued` more
        clients leave, whose requests still wait in a queue.
        """
        keys = range(first_key, first_key + len(self._sessions))
        clients = [self._bench.request(f"/wait/{key}/") for key in keys]
        until(lambda: self._locks(keys, granted=True) == len(keys), "the queries did not begin")
        gone_s: dict[int, float] = {}

        def wait(number: int) -> None:
            self._sessions[number].execute("SELECT pg_advisory_lock(%s)", (keys[number],))
            gone_s[number] = time.perf_counter()

        waiting = [self._bench.request(f"/wait/{keys[-1] + 1 + i}/") for i in range(queued)]
        threads = [threading.Thread(target=wait, args=(number,)) for number in range(len(keys))]
        for thread in threads:
            thread.start()
        until(
            lambda: self._locks(keys, granted=False) == len(keys),
            "the observers did not begin to wait",
        )
        left_s = []
        for client in waiting:
            client.close()
        for client in clients:
            left_s.append(time.perf_counter())
            client.close()
        for thread in threads:
            thread.join(PATIENCE_S)
        if len(gone_s) < len(keys):
            raise click.ClickException(f"the queries did not end within {PATIENCE_S:g} s")
        for session in self._sessions:
            session.execute("SELECT pg_advisory_unlock_all()")
        return [(gone_s[number] - left) * 1000 for number, left in enumerate(left_s)]

    def _locks(self, keys: range, *, granted: bool) -> int:
        found = self._looking.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted = %s "
            "AND objid BETWEEN %s AND %s",
            (granted, keys[0], keys[-1]),
        ).fetchone()
        assert found is not None
        return int(found[0])

    def close(self) -> None:
        for session in (*self._sessions, self._looking):
            session.close()


@contextmanager
def interpreter_busy(bench: Bench, threads: int) -> Iterator[None]:
    """Keep `threads` of the server's threads busy with calculations."""
    over = threading.Event()

    def keep_busy() -> None:
        while not over.is_set():
            with bench.request("/burn/") as client:
                client.recv(1024)

    busy = [threading.Thread(target=keep_busy) for _ in range(threads)]
    for thread in busy:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in busy:
            thread.join()


@contextmanager
def served(folder: Path, worker_class: str = "gthread") -> Iterator[tuple[Bench, Bench]]:
    """Run PostgreSQL and a gateway on the first CPUs and Gunicorn on the last.

    Yield two benches: one at the shop's address and one at the gateway's address.
    """
    own, others = harness.split_cpus()
    port, gateway_port = ports.free(2)
    gunicorn = [
        sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--no-control-socket",
        "--worker-class", worker_class, "--threads", str(THREADS), "--graceful-timeout", "1",
        "bench.cancel_page",
    ]  # fmt: skip
    pages = folder / "pages.toml"
    pages.write_text(_PAGES)
    gateway = harness.gateway_command(
        gateway_port, port, workers=THREADS, pages_file=pages, abandonment="cancel"
    )

    with ExitStack() as stack:
        cluster = stack.enter_context(
            database(folder, others, (("fsync", "off"), ("shared_buffers", "32MB")))
        )
        stack.enter_context(
            harness.running(
                gunicorn,
                lambda: ports.accepts(port),
                on=own,
                environment={
                    "BENCH_PORT": str(cluster.port),
                    "BENCH_USER": cluster.user,
                    "BENCH_PASSWORD": cluster.password,
                    "BENCH_DATABASE": cluster.database,
                },
            )
        )
        stack.enter_context(
            harness.running(gateway, lambda: ports.accepts(gateway_port), on=others)
        )
        yield Bench("shop", cluster, port), Bench("gateway", cluster, gateway_port)


def measured(doors: tuple[Bench, Bench], rounds: int, say: Callable[[str], None]) -> Rows:
    rows: Rows = {}
    with ExitStack() as stack:

        def observers(door: Bench, count: int) -> Observers:
            watching = Observers(door, count)
            stack.callback(watching.close)
            return watching

        alone = {door: observers(door, 1) for door in doors}
        crowds = {door: observers(door, THREADS) for door in doors}
        for door in doors:
            alone[door].round(1)  # warm-up
        say(ALONE)
        for i in range(rounds):
            for door in doors:
                rows.setdefault((ALONE, door.where), []).extend(alone[door].round(1000 + i))
        say(CROWD)
        for i in range(max(1, rounds // 20)):
            for door in doors:
                values = crowds[door].round(100_000 + (THREADS + QUEUED) * i, QUEUED)
                rows.setdefault((CROWD, door.where), []).extend(values)
        busy = f"one client leaves, {THREADS - 1} threads calculate"
        say(busy)
        for door in doors:
            with interpreter_busy(door, THREADS - 1):
                rows[busy, door.where] = [
                    ms for i in range(max(1, rounds // 5)) for ms in alone[door].round(500_000 + i)
                ]
    return rows


def shown(rows: Rows) -> Table:
    table = harness.table(
        "Time from the customer's close to the end of the query, ms",
        *("", "at the", "n", "least", "median", "p90", "p99", "most"),
        texts=("at the",),
    )
    for (scene, where), values in rows.items():
        shares = (percentile(values, ratio) for ratio in (0.0, 0.5, 0.9, 0.99, 1.0))
        table.add_row(scene, where, str(len(values)), *(f"{value:.1f}" for value in shares))
    return table


def verdicts(rows: Rows) -> dict[tuple[str, str], tuple[float, bool]]:
    """Return the p99 in ms, and whether the p99 meets its target. Each key is a scene with a
    target, and the place to which customers connect (shop or gateway).
    """
    return {
        (scene, where): (p99_ms, p99_ms <= TARGET_P99_MS[scene])
        for (scene, where), values in rows.items()
        if scene in TARGET_P99_MS
        for p99_ms in [percentile(values, 0.99)]
    }


@click.command(cls=OneLineCommand)
@click.option("--rounds", default=200, type=click.IntRange(10, 10_000), show_default=True)
def main(rounds: int) -> None:
    """Print how long queries still run after the customer left, and the sentry's cost. The exit
    status is 1 if a p99 misses its target.
    """
    console = harness.console_of(100)
    load = os.getloadavg()[0]
    with (
        temporary_folder() as folder,
        console.status("measuring") as status,
        served(folder) as doors,
    ):
        rows = measured(doors, rounds, status.update)
    console.print(shown(rows))
    from bench.cancel_page import costs  # the import configures Django

    cost = harness.table("The cost of the sentry, µs", "", "least")
    for name, us in costs().items():
        cost.add_row(name, f"{us:.2f}")
    console.print(cost)
    harness.report_busy(console, load)
    judged = verdicts(rows)
    for (scene, where), (p99_ms, is_reached) in judged.items():
        verdict = "reached" if is_reached else "missed"
        console.print(
            f"p99 at the {where}, {scene}: {p99_ms:.1f} ms, target {TARGET_P99_MS[scene]:g}: "
            f"{verdict}."
        )
    if not all(is_reached for _, is_reached in judged.values()):
        sys.exit(1)
