"""Requests/s and p99 of this gateway, compared with nginx, HAProxy and the backend alone.

In `make bench-gateway`, wrk requests answers of 1 kB over 32 kept connections. The measured server
has a CPU to itself; wrk and the backend (nginx, which serves a file) share the others. Repetitions
are interleaved in random order, and ratios are taken within a round.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
import psutil
from rich.console import Console
from rich.table import Table

from common import ports, processes
from common.one_line import OneLineCommand

REPOSITORY = Path(__file__).parents[1]
PACKAGES = {"nginx": "nginx-light", "haproxy": "haproxy", "wrk": "wrk", "taskset": "util-linux"}
CONNECTIONS = 32
BODY_BYTES = 1024
YARDSTICK = "HAProxy"
START_S = 60.0
PATIENCE_S = 20
"""The time in which a busy machine must serve a request."""


@dataclass(frozen=True)
class Subject:
    """A server to measure, and the function that returns its command line for its port and the
    backend's port.
    """

    name: str
    command: Callable[["Bench", int], list[str]]


@dataclass(frozen=True)
class Score:
    """A measurement; `cpu_ratio` is the used share of the server's CPU."""

    rate_rps: float
    p99_ms: float
    cpu_ratio: float


class Bench:
    """The files, the CPUs and the backend that one run of the bench uses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own_cpu, self.other_cpus = cpus()
        [self.backend_port] = ports.free(1)
        (folder / "www").mkdir()
        (folder / "www" / "index.html").write_bytes(b"x" * BODY_BYTES)
        folder.chmod(0o755)

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def nginx(self, name: str, server: str) -> list[str]:
        """Return the command line of an nginx with one process, whose only virtual host is
        `server`.
        """
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{name}-{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        conf = self.file(
            f"{name}.conf",
            f"daemon off; master_process off; pid {self.folder}/{name}.pid;\n"
            "error_log stderr error; events { worker_connections 1024; }\n"
            f"http {{ access_log off; keepalive_requests 100000000; tcp_nodelay on;\n"
            f"{temporary}{server} }}\n",
        )
        return ["nginx", "-p", str(self.folder), "-c", conf]


def backend(bench: Bench, port: int) -> list[str]:
    return bench.nginx(
        f"backend-{port}", f"server {{ listen 127.0.0.1:{port}; root {bench.folder}/www; }}"
    )


def nginx(bench: Bench, port: int) -> list[str]:
    return bench.nginx(
        "nginx",
        f"upstream shop {{ server 127.0.0.1:{bench.backend_port}; keepalive {CONNECTIONS};"
        " keepalive_requests 100000000; }\n"
        f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://shop;"
        ' proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;'
        " proxy_set_header X-Forwarded-For $remote_addr; } }",
    )


def haproxy(bench: Bench, port: int) -> list[str]:
    conf = bench.file(
        "haproxy.conf",
        "global\n  nbthread 1\n  maxconn 1024\n"
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
        "  option forwardfor\n  http-reuse always\n"
        f"frontend gateway\n  bind 127.0.0.1:{port}\n  default_backend shop\n"
        f"backend shop\n  server shop 127.0.0.1:{bench.backend_port}\n",
    )
    return ["haproxy", "-q", "-db", "-f", conf]


def gateway(policy: str) -> Callable[[Bench, int], list[str]]:
    def command(bench: Bench, port: int) -> list[str]:
        return [
            sys.executable, "-m", "gateway", "--policy", policy, "--port", str(port),
            "--admin-port", "0", "--shop-port", str(bench.backend_port),
            "--shop-controller-port", str(ports.free(1)[0]),
        ]  # fmt: skip

    return command


SUBJECTS = (
    Subject("direct backend", backend),
    Subject("nginx", nginx),
    Subject(YARDSTICK, haproxy),
    Subject("gateway, SQ", gateway("sq")),
    Subject("gateway, 8Q-LIFO-Pri", gateway("8q-lifo-pri")),
)


def cpus() -> tuple[str, str]:
    """Return the measured server's CPU, and the CPUs of wrk and the backend."""
    allowed = sorted(os.sched_getaffinity(0))
    others = allowed[:-1] or allowed
    return str(allowed[-1]), ",".join(map(str, others))


@contextmanager
def running(command: list[str], port: int, on_cpus: str) -> Iterator[psutil.Process]:
    """Run `command`; yield its process once it accepts connections, and end it afterwards."""
    process = subprocess.Popen(
        ["taskset", "-c", on_cpus, *command],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if not k.startswith("DOORBUSTER_")},
    )
    try:
        if not processes.becomes_ready(process, lambda: ports.accepts(port), START_S):
            process.kill()
            assert process.stderr is not None
            text = process.stderr.read().decode(errors="replace").strip()
            raise click.ClickException(f"{command[0]} does not start: {text[-500:]}")
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def distinct_requests(bench: Bench) -> list[str]:
    """Return wrk's options for requests whose heads all differ."""
    script = """local number = 0
request = function()
  number = number + 1
  return wrk.format("GET", "/", { Cookie = "sessionid=" .. number })
end
"""
    return ["-s", bench.file("distinct.lua", script)]


def measure(
    process: psutil.Process, port: int, seconds: int, on_cpus: str, options: list[str]
) -> Score:
    """Measure the server on `port` with wrk."""
    before, began_s = process.cpu_times(), time.monotonic()
    done = subprocess.run(
        ["taskset", "-c", on_cpus, "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s",
         "--timeout", f"{PATIENCE_S}s", *options, "--latency", f"http://127.0.0.1:{port}/"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    after, elapsed_s = process.cpu_times(), time.monotonic() - began_s
    return Score(
        *read_wrk(done.stdout, done.stderr),
        (after.user + after.system - before.user - before.system) / elapsed_s,
    )


def read_wrk(text: str, errors: str = "") -> tuple[float, float]:
    """Return requests/s and the p99 in ms. Raises ClickException if requests failed."""
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", text)
    p99 = re.search(r"99%\s+([0-9.]+)(us|ms|s)\b", text)
    if rate is None or p99 is None or "Non-2xx" in text or "Socket errors" in text:
        raise click.ClickException(f"wrk: the measurement failed: {(text + errors).strip()[-500:]}")
    return float(rate[1]), float(p99[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[p99[2]]


def table(scores: dict[str, list[Score]]) -> Table:
    """Return one row for each server, with medians and the ratio to the reference within each
    round.
    """
    shown = Table(title=f"{BODY_BYTES} B GETs, c = {CONNECTIONS}, one CPU for the measured server")
    columns = ("", "requests/s", "p99 ms", f"÷ {YARDSTICK}", "least–most", "its CPU", "per CPU s")
    for column in columns:
        shown.add_column(column, justify="right" if column else "left", no_wrap=True)
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
    "--seed", default=1, show_default=True, help="The seed for the order within the rounds."
)
@click.option(
    "--distinct", is_flag=True, help="Send another cookie with each request; no head comes twice."
)
def main(rounds: int, seconds: int, seed: int, distinct: bool) -> None:
    """Measure all servers, interleaved, and print one table."""
    missing = [name for name in PACKAGES if shutil.which(name) is None]
    if missing:
        names = " ".join(PACKAGES[name] for name in missing)
        raise click.ClickException(
            f"{', '.join(missing)} not found; on Debian or Ubuntu: apt-get install {names}"
        )
    console = Console()
    if not console.is_terminal:
        console.width = 100
    busy = os.getloadavg()[0]
    order = random.Random(seed)
    scores: dict[str, list[Score]] = {subject.name: [] for subject in SUBJECTS}
    with ExitStack() as stack:
        bench = Bench(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        options = distinct_requests(bench) if distinct else []
        stack.enter_context(
            running(backend(bench, bench.backend_port), bench.backend_port, bench.other_cpus)
        )
        servers = {}
        for subject in SUBJECTS:
            [port] = ports.free(1)
            command = subject.command(bench, port)
            process = stack.enter_context(running(command, port, bench.own_cpu))
            servers[subject.name] = (process, port)
            measure(process, port, 1, bench.other_cpus, options)  # warm-up
        status = stack.enter_context(console.status("measuring"))
        for number in range(1, rounds + 1):
            for subject in order.sample(SUBJECTS, len(SUBJECTS)):
                status.update(f"round {number} of {rounds}: {subject.name}")
                score = measure(*servers[subject.name], seconds, bench.other_cpus, options)
                scores[subject.name].append(score)
        console.print(table(scores))
        console.print(
            "If wrk and the backend use their CPU fully, `per CPU s` (requests/s ÷ CPU of the "
            "server) compares the servers better than requests/s."
        )
        if busy > 0.5:
            console.print(f"The machine was busy (load average {busy:.1f}) before this began.")
        console.print(
            f"{rounds} interleaved rounds of {seconds} s; measured server on CPU {bench.own_cpu},"
            f" wrk and backend on CPU {bench.other_cpus}."
        )
