"""Requests/s and p99 response time of the gateway, nginx, HAProxy and the backend alone.

In `make bench-gateway`, wrk requests answers of 1 kB over 32 connections that stay open. Each round
measures all servers in random order, and a ratio compares two servers in the same round.
"""

import math
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
from rich.table import Table

from bench import harness
from bench.harness import Wrk
from bench.servers import BODY_BYTES, Backend
from common import cpus, ports
from common.one_line import OneLineCommand

CONNECTIONS = 32
YARDSTICK = "HAProxy"
PATIENCE_S = 20
"""The real seconds within which a request must be served, even on a busy machine."""


@dataclass(frozen=True)
class Score:
    """A measurement; `cpu_ratio` is the used share of the server's CPU."""

    rate_rps: float
    p99_ms: float
    cpu_ratio: float


def nginx(backend: Backend, port: int) -> list[str]:
    return backend.nginx(
        "nginx",
        f"upstream shop {{ server 127.0.0.1:{backend.port}; keepalive {CONNECTIONS};"
        " keepalive_requests 100000000; }\n"
        f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://shop;"
        ' proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;'
        " proxy_set_header X-Forwarded-For $remote_addr; } }",
    )


def haproxy(backend: Backend, port: int) -> list[str]:
    conf = backend.file(
        "haproxy.conf",
        "global\n  nbthread 1\n  maxconn 1024\n"
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
        "  option forwardfor\n  http-reuse always\n"
        f"frontend gateway\n  bind 127.0.0.1:{port}\n  default_backend shop\n"
        f"backend shop\n  server shop 127.0.0.1:{backend.port}\n",
    )
    return ["haproxy", "-q", "-db", "-f", conf]


def gateway(policy: str) -> Callable[[Backend, int], list[str]]:
    return lambda backend, port: harness.gateway_command(port, backend.port, policy=policy)


SUBJECTS: Mapping[str, Callable[[Backend, int], list[str]]] = {
    "direct backend": Backend.command,
    "nginx": nginx,
    YARDSTICK: haproxy,
    "gateway, SQ": gateway("sq"),
    "gateway, 8Q-LIFO-Pri": gateway("8q-lifo-pri"),
}
"""The functions that return each server's command line for a backend and a port."""


def distinct_requests(backend: Backend) -> list[str]:
    """Return wrk's options for requests whose heads all differ."""
    script = """local number = 0
request = function()
  number = number + 1
  return wrk.format("GET", "/", { Cookie = "sessionid=" .. number })
end
"""
    return ["-s", backend.file("distinct.lua", script)]


def measure(
    process: int, port: int, seconds: int, on: tuple[int, ...], options: list[str]
) -> Score:
    wrk = harness.wrk_command(
        port, connections=CONNECTIONS, seconds=seconds, timeout_s=PATIENCE_S,
        options=[*options, "--latency"],
    )  # fmt: skip
    before_s, began_s = cpus.cpu_s(process), time.monotonic()
    # Taskset starts wrk sooner than `common.pinned`, whose start would count as a part of the time.
    done = subprocess.run(
        ["taskset", "-c", cpus.written(on), *wrk], capture_output=True, text=True, check=False
    )
    used_s, elapsed_s = cpus.cpu_s(process) - before_s, time.monotonic() - began_s
    return Score(*rate_and_p99(done.stdout + done.stderr), used_s / elapsed_s)


def rate_and_p99(text: str) -> tuple[float, float]:
    """Return requests/s and the p99 in ms that wrk printed. Raises ClickException if wrk did not
    measure, or if requests failed.
    """
    wrk = Wrk.read(text)
    if math.isnan(wrk.p99_ms) or wrk.turned_away or wrk.errors:
        raise harness.wrk_failed(text)
    return wrk.rate_rps, wrk.p99_ms


def table(scores: dict[str, list[Score]]) -> Table:
    """Return a table with one row for each server.

    The rows have medians over the rounds. The ratios to YARDSTICK are taken within a round.
    """
    shown = harness.table(
        f"{BODY_BYTES} B GETs, c = {CONNECTIONS}, one CPU for the measured server",
        *("", "requests/s", "p99 ms", f"÷ {YARDSTICK}", "least–most", "its CPU", "per CPU s"),
    )
    for name, rounds in scores.items():
        pairs = zip(rounds, scores[YARDSTICK], strict=True)
        ratios = [mine.rate_rps / theirs.rate_rps for mine, theirs in pairs]
        shown.add_row(
            name,
            f"{median(s.rate_rps for s in rounds):,.0f}",
            f"{median(s.p99_ms for s in rounds):.2f}",
            f"{median(ratios):.2f}",
            f"{min(ratios):.2f}–{max(ratios):.2f}",
            f"{median(s.cpu_ratio for s in rounds):.0%}",
            f"{median(s.rate_rps / max(s.cpu_ratio, 0.01) for s in rounds):,.0f}",
        )
    return shown


@click.command(cls=OneLineCommand)
@click.option("--rounds", default=3, type=click.IntRange(1, 100), show_default=True)
@click.option("--seconds", default=2, type=click.IntRange(1, 60), show_default=True)
@click.option(
    "--seed", default=1, show_default=True, help="The seed of the order of servers in the rounds."
)
@click.option(
    "--distinct",
    is_flag=True,
    help="Send a different cookie with each request, so that no two requests are equal.",
)
def main(rounds: int, seconds: int, seed: int, distinct: bool) -> None:
    """Measure all servers in interleaved rounds, and print one table."""
    harness.need("nginx", "haproxy", "wrk", "taskset")
    console = harness.console_of(100)
    load = os.getloadavg()[0]
    own, others = harness.split_cpus()
    scores: dict[str, list[Score]] = {name: [] for name in SUBJECTS}
    with ExitStack() as stack:
        backend = Backend(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        options = distinct_requests(backend) if distinct else []

        def start(command: list[str], port: int, on: tuple[int, ...]) -> int:
            running = harness.running(command, lambda: ports.accepts(port), on=on)
            return stack.enter_context(running).pid

        start(backend.command(backend.port), backend.port, others)
        servers = {}
        for name, command in SUBJECTS.items():
            [port] = ports.free(1)
            servers[name] = (start(command(backend, port), port, own), port)
            measure(*servers[name], 1, others, options)  # warm-up
        status = stack.enter_context(console.status("measuring"))
        for number, name in harness.interleaved(list(SUBJECTS), rounds, random.Random(seed)):
            status.update(f"round {number} of {rounds}: {name}")
            scores[name].append(measure(*servers[name], seconds, others, options))
        console.print(table(scores))
        console.print(
            "If wrk and the backend use their CPU fully, `per CPU s` (requests/s ÷ CPU of the "
            "server) compares the servers better than requests/s."
        )
        harness.report_busy(console, load)
        console.print(
            f"{rounds} interleaved rounds of {seconds} s; measured server on CPU "
            f"{cpus.written(own)}, wrk and backend on CPU {cpus.written(others)}."
        )
