"""The gateway's CPU time per request with many waiting requests, customers and sessions.

The gateway is a real process, alone on the last CPU. The customers are wrk's connections, each of
which sends its next request as soon as it has an answer. The shop is nginx, which answers every
page at once. The CPU time is measured between two snapshots of the gateway, after all customers
have arrived.
"""

import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import psutil

from bench import harness, policies
from bench.flood_sessions import PATHS
from bench.growth.axes import Axis, Costs, Measure
from bench.servers import Backend
from common import hosts, ports
from common.cpus import cpu_s
from common.http_json import JsonClient
from gateway.http.session_cookie import SESSION_BYTES, SessionCookie, session_id
from lab.wording import title_of

SECONDS, QUICK_SECONDS = 2.0, 0.5
"""The real seconds of one measurement."""
LEAST_REQUESTS = 1_000
PATIENCE_S = 300.0
until = partial(harness.until, within_s=PATIENCE_S)
WORKERS = 4
"""The number of requests in service; with many workers, nginx would answer before a queue forms."""
SPARE_FILES = 200
QUEUEING = ("sq", "8q-lifo-pri", "door-lifo")
SESSIONS = {
    "SQ with SBAC, responsive": {"policy": "sq", "admission": "sbac-responsive"},
    "DOOR-LIFO": {"policy": "door-lifo"},
}
COOKIE_KEY = "0123456789abcdef0123456789abcdef"
WITHIN_S = 86_400

# wrk's script: the eight pages in turn, from customers without cookies or with one cookie each.
_PAGES = """
local paths = {%s}
local i = 0
request = function()
  i = i + 1
  return wrk.format("GET", paths[i %% #paths + 1])
end
"""
_SESSIONS = """
local paths = {%s}
local cookies = {}
for line in io.lines("%s") do cookies[#cookies + 1] = line end
local i = 0
request = function()
  i = i + 1
  return wrk.format("GET", paths[i %% #paths + 1], {Cookie = cookies[i %% #cookies + 1]})
end
"""
_PATHS = ", ".join(f'"{path}"' for path in PATHS)


@dataclass
class Subject:
    process: int
    port: int
    admin_port: int
    admin: JsonClient

    def snapshot(self) -> Any:
        return self.admin.call("GET", "/snapshot")

    def arrived(self) -> int:
        """Return the number of requests for pages that have arrived so far."""
        return sum(counts["arrived"] for counts in self.snapshot()["counts"].values())

    def cpu_us(self, seconds: float) -> float:
        """Return the CPU time per request in µs. The measurement takes `seconds` real seconds, or
        longer if fewer than LEAST_REQUESTS requests have arrived by then.
        """
        before_s, arrived = cpu_s(self.process), self.arrived()
        time.sleep(seconds)
        until(
            lambda: self.arrived() >= arrived + LEAST_REQUESTS,
            f"the gateway did not receive {LEAST_REQUESTS:,} requests",
        )
        used_s = cpu_s(self.process) - before_s
        return 1e6 * used_s / (self.arrived() - arrived)


def allow_files(wanted: int) -> None:
    """Allow this process and its children enough open files. Raises ClickException if the hard
    limit is below `wanted`.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise click.ClickException(
            f"this measurement needs {wanted:,} open files, and the limit is {hard:,}; raise "
            "`nofile` in /etc/security/limits.conf"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextmanager
def gateway(shop_port: int, **options: object) -> Iterator[Subject]:
    port, admin_port = ports.free(2)
    own, _ = harness.split_cpus()
    command = harness.gateway_command(
        port, shop_port, admin_port=admin_port, workers=WORKERS, **options
    )
    with (
        harness.running(
            command,
            lambda: ports.accepts(port) and ports.accepts(admin_port),
            on=own,
            environment={"DOORBUSTER_GATEWAY_COOKIE_KEY": COOKIE_KEY},
        ) as process,
        JsonClient(hosts.LOOPBACK, admin_port, timeout_s=PATIENCE_S) as admin,
    ):
        yield Subject(process.pid, port, admin_port, admin)


def customers(
    subject: Subject, number: int, script: Path
) -> AbstractContextManager[psutil.Process]:
    """Let wrk play `number` customers during the block."""
    _, others = harness.split_cpus()
    command = harness.wrk_command(
        subject.port, connections=number, seconds=600, timeout_s=600, options=["-s", str(script)]
    )
    return harness.running(command, lambda: True, on=others)


@contextmanager
def world() -> Iterator[tuple[Backend, Path]]:
    """Run nginx as the shop; yield it and the script for customers without cookies."""
    _, others = harness.split_cpus()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        backend = Backend(folder)
        for path in PATHS[1:]:
            backend.add_page(path.partition("?")[0].strip("/"))
        stack.enter_context(
            harness.running(
                backend.command(backend.port), lambda: ports.accepts(backend.port), on=others
            )
        )
        script = folder / "pages.lua"
        script.write_text(_PAGES % _PATHS)
        yield backend, script


def with_customers(
    parameters: Callable[[str], Mapping[str, object]], *, waits: bool
) -> Callable[[bool], Any]:
    """Return the function that opens a measurement. The measured size is the number of waiting
    requests if `waits` is true, otherwise the number of customers at once.
    """

    @contextmanager
    def opened(is_quick: bool) -> Iterator[Measure]:
        with world() as (backend, script):

            def measure(size: int) -> Costs:
                number = size + WORKERS if waits else size
                allow_files(2 * number + SPARE_FILES)
                found = {}
                for name in QUEUEING:
                    given = json.dumps(parameters(name))
                    with (
                        gateway(backend.port, policy=name, policy_parameters=given) as subject,
                        customers(subject, number, script),
                    ):
                        until(
                            lambda: _all_there(subject, size, waits),
                            "not all customers arrived",
                        )
                        time.sleep(0.5)
                        seconds = QUICK_SECONDS if is_quick else SECONDS
                        found[title_of(name)] = subject.cpu_us(seconds)
                return found

            yield measure

    return opened


def _all_there(subject: Subject, size: int, waits: bool) -> bool:
    if waits:
        return bool(subject.snapshot()["waiting"] >= 0.85 * size)
    return subject.arrived() > 3 * size


@contextmanager
def sessions(is_quick: bool) -> Iterator[Measure]:
    """Measure the gateway with a given number of sessions, which send requests in turn."""
    with world() as (backend, _):

        def measure(size: int) -> Costs:
            jar, script = backend.folder / "cookies", backend.folder / "sessions.lua"
            jar.write_text("".join(cookies(size)))
            script.write_text(_SESSIONS % (_PATHS, jar))
            found = {}
            for title, options in SESSIONS.items():
                with (
                    gateway(backend.port, **options) as subject,
                    customers(subject, WORKERS, script),
                ):
                    until(
                        lambda: subject.arrived() > size + 1000,
                        "not every session sent a request",
                    )
                    found[title] = subject.cpu_us(QUICK_SECONDS if is_quick else SECONDS)
            return found

        yield measure


def cookies(sessions: int) -> Iterator[str]:
    """Yield a line with the gateway's cookie for each session."""
    cookie = SessionCookie(COOKIE_KEY.encode())
    expires_s = int(time.time()) + WITHIN_S
    for number in range(sessions):
        session = session_id(number.to_bytes(SESSION_BYTES, "big"))
        yield (cookie.mark + cookie.value(session, expires_s)).decode() + "\n"


AXES = (
    Axis(
        "gateway-queue",
        "The gateway and the length of its queue",
        "waiting requests",
        "CPU µs per request",
        80,
        with_customers(policies.room, waits=True),
        (1.0, 11.0, 14.0),
    ),
    Axis(
        "gateway-load",
        "The gateway and the number of customers at once",
        "customers at once",
        "CPU µs per request",
        80,
        with_customers(lambda name: {}, waits=False),
        (1.0, 11.0, 14.0),
    ),
    Axis(
        "gateway-sessions",
        "The gateway and the number of sessions",
        "sessions",
        "CPU µs per request",
        1_000,
        sessions,
        (1.0, 7.0, 22.0),
    ),
)
