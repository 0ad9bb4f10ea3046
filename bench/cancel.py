"""How long a query outlives its customer: from closing the socket to the query's end.

`make bench-cancel`. A real Gunicorn (30 threads, on the shop's CPU), a real PostgreSQL of the
bench's own. The page's query holds a lock; who waits for that lock is woken by the database itself
in the moment the query is gone. Also what the sentry costs a request nobody leaves.

Owns: the set-up, the measuring, the tables. Must not know: how the sentry cancels.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import psycopg
from rich.console import Console
from rich.table import Table

from runtime import account, pinned, ports, postgres

REPOSITORY = Path(__file__).parents[1]
THREADS = 30
PATIENCE_S = 30.0
AIM_P99_MS = 20.0
_CALLS, _ROUNDS = 2_000, 15


class Bench:
    """PostgreSQL and the page, running."""

    def __init__(self, cluster: postgres.Cluster, port: int) -> None:
        self._cluster = cluster
        self._port = port

    def session(self) -> "psycopg.Connection[tuple[Any, ...]]":
        """A session of the database, autocommitting."""
        return psycopg.connect(
            host="127.0.0.1", port=self._cluster.port, user=self._cluster.user,
            password=self._cluster.password, dbname=self._cluster.database, autocommit=True,
        )  # fmt: skip

    def request(self, path: str) -> socket.socket:
        """A client whose request has been sent."""
        client = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: shop\r\n\r\n".encode())
        return client


def until(condition: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise click.ClickException(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(0.001)


class Observers:
    """Sessions that wait for the queries' locks, one for each client."""

    def __init__(self, bench: Bench, count: int) -> None:
        self._bench = bench
        self._sessions = [bench.session() for _ in range(count)]
        self._looking = bench.session()

    def round(self, first_key: int) -> list[float]:
        """Let one client per session leave at once; answers how long their queries lived on, ms."""
        keys = range(first_key, first_key + len(self._sessions))
        clients = [self._bench.request(f"/wait/{key}/") for key in keys]
        until(lambda: self._locks(keys, granted=True) == len(keys), "the queries running")
        gone_s = [0.0] * len(keys)

        def wait(number: int) -> None:
            self._sessions[number].execute("SELECT pg_advisory_lock(%s)", (keys[number],))
            gone_s[number] = time.perf_counter()

        threads = [threading.Thread(target=wait, args=(number,)) for number in range(len(keys))]
        for thread in threads:
            thread.start()
        until(lambda: self._locks(keys, granted=False) == len(keys), "the observers waiting")
        left_s = []
        for client in clients:
            left_s.append(time.perf_counter())
            client.close()
        for thread in threads:
            thread.join(PATIENCE_S)
        for session in self._sessions:
            session.execute("SELECT pg_advisory_unlock_all()")
        return [(gone - left) * 1000 for gone, left in zip(gone_s, left_s, strict=True)]

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
    """So many of the server's threads compute all the time."""
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
def running(
    command: list[str], ready: Callable[[], bool], stop: signal.Signals, **environment: str
) -> Iterator[None]:
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    try:
        until(lambda: process.poll() is not None or ready(), f"{command[-1]} ready")
        if process.poll() is not None:
            raise click.ClickException(f"{' '.join(command)} ended with {process.returncode}")
        yield
    finally:
        process.send_signal(stop)
        process.wait()


@contextmanager
def served(folder: Path, worker_class: str = "gthread") -> Iterator[Bench]:
    """PostgreSQL on the first CPUs, Gunicorn on the last."""
    allowed = sorted(os.sched_getaffinity(0))
    others = tuple(allowed[:-1] or allowed)
    run_as = account.for_database()
    database_port, port = ports.free(2)
    cluster = postgres.Cluster(
        installation=postgres.find(None, folder / "postgres", run_as),
        folder=folder / "postgres",
        port=database_port,
        user="bench",
        password=secrets.token_urlsafe(16),
        database="bench",
        account=run_as,
        configuration=(("fsync", "off"), ("shared_buffers", "32MB")),
    )
    postgres.prepare(cluster)
    gunicorn = [
        sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--no-control-socket",
        "--worker-class", worker_class, "--threads", str(THREADS), "bench.cancel_page",
    ]  # fmt: skip

    def accepts() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    with ExitStack() as stack:
        stack.enter_context(
            running(
                pinned.command(
                    others,
                    cluster.command(),
                    user=run_as.name if run_as else None,
                    end_with_parent=signal.SIGINT,
                ),
                lambda: postgres.refusal(cluster) is None,
                signal.SIGINT,
            )
        )
        postgres.make_database(cluster)
        stack.enter_context(
            running(
                pinned.command((allowed[-1],), gunicorn, end_with_parent=signal.SIGTERM),
                accepts,
                signal.SIGTERM,
                BENCH_PORT=str(cluster.port),
                BENCH_USER=cluster.user,
                BENCH_PASSWORD=cluster.password,
                BENCH_DATABASE=cluster.database,
            )
        )
        yield Bench(cluster, port)


def percentile(sorted_values: list[float], ratio: float) -> float:
    """The least value that so many are not above."""
    return sorted_values[min(len(sorted_values) - 1, int(ratio * len(sorted_values)))]


def costs() -> dict[str, float]:
    """µs that the middleware adds to a request and a query whose client stays, by mode."""
    from django.http import HttpRequest, HttpResponse

    from bench import cancel_page
    from shop import sentry
    from shop.sentry.watch import Watch

    response = HttpResponse()
    measured = {}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        served, _ = listener.accept()
        request = HttpRequest()
        request.method = "GET"
        request.META = {"gunicorn.socket": served, "SERVER_PROTOCOL": "HTTP/1.1"}

        def page(request: HttpRequest) -> HttpResponse:
            middleware.process_view(request, cancel_page.wait)
            return response

        middleware = sentry.SentryMiddleware(page)
        for mode in sentry.MODES:
            sentry.set_mode(mode)
            measured[f"a request, mode {mode}"] = _least_us(lambda: middleware(request))
        watch = Watch(served.fileno(), cancels=True)
        measured["a query"] = _least_us(lambda: watch.begin_query(None) and watch.end_query(False))
        measured["check()"] = _least_us(sentry.check)
        served.close()
        client.close()
    return measured


def _least_us(call: Callable[[], object]) -> float:
    return min(timeit.repeat(call, number=_CALLS, repeat=_ROUNDS)) / _CALLS * 1e6


def shown(rows: dict[str, list[float]]) -> Table:
    table = Table(title="From the customer's close to the end of the query, ms")
    for column in ("", "n", "least", "median", "p90", "p99", "most"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for name, values in rows.items():
        values = sorted(values)
        shares = (percentile(values, ratio) for ratio in (0.0, 0.5, 0.9, 0.99, 1.0))
        table.add_row(name, str(len(values)), *(f"{value:.1f}" for value in shares))
    return table


@click.command()
@click.option("--rounds", default=200, type=click.IntRange(10, 10_000), show_default=True)
def main(rounds: int) -> None:
    """Print the distribution, and what watching costs; status 1 if the idle p99 misses its aim."""
    console = Console()
    if not console.is_terminal:
        console.width = 100
    load = os.getloadavg()[0]
    rows: dict[str, list[float]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may run under another account
        bench = stack.enter_context(served(folder))
        alone, crowd = Observers(bench, 1), Observers(bench, THREADS)
        stack.callback(alone.close)
        stack.callback(crowd.close)
        alone.round(1)  # warm-up
        status = stack.enter_context(console.status("measuring"))
        rows["one leaves"] = [ms for i in range(rounds) for ms in alone.round(1000 + i)]
        status.update(f"{THREADS} at once")
        rows[f"{THREADS} leave at once"] = [
            ms for i in range(max(1, rounds // 20)) for ms in crowd.round(100_000 + THREADS * i)
        ]
        status.update("busy")
        with interpreter_busy(bench, THREADS - 1):
            rows[f"one leaves, {THREADS - 1} threads compute"] = [
                ms for i in range(max(1, rounds // 5)) for ms in alone.round(500_000 + i)
            ]
    console.print(shown(rows))
    cost = Table(title="What watching costs, µs")
    cost.add_column("", no_wrap=True)
    cost.add_column("least", justify="right")
    for name, us in costs().items():
        cost.add_row(name, f"{us:.2f}")
    console.print(cost)
    if load > 0.5:
        console.print(f"The machine was busy (load average {load:.1f}) before this began.")
    p99_ms = percentile(sorted(rows["one leaves"]), 0.99)
    verdict = "reached" if p99_ms <= AIM_P99_MS else "missed"
    console.print(
        f"p99 of one that leaves an idle shop: {p99_ms:.1f} ms, aim {AIM_P99_MS:g}: {verdict}."
    )
    if p99_ms > AIM_P99_MS:
        sys.exit(1)


if __name__ == "__main__":
    main()
