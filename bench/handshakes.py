"""The gateway's CPU time per TLS connection: full handshake, resumed session, or refusal.

For each key, `make bench-handshakes` starts a separate gateway, to which customers connect one
after another. Each round measures all TLS versions and kinds of connections, and a ratio compares
two measurements of the same round. The CPU time includes all work of the gateway's process for a
connection, from accepting to closing.
"""

import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
from rich.console import Console

from bench import harness
from bench.harness import gateway_command, running
from common import cpus, hosts, ports
from common.http_json import JsonClient
from common.one_line import OneLineCommand
from runtime import certificates
from runtime.certificate_files import CertificateError, CertificateFiles

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
KINDS = ("full", "resumed", "refused")
MOST_RATIO = 0.2  # the maximum cost of a refusal, as a share of a full handshake
TOO_CHEAP = ("ec-p256",)  # a full handshake costs hardly anything; shown without a verdict
LEAST_CPU_S = 0.2  # a measurement repeats a connection until it has used this CPU time
LET_IN = {"name": "none"}
# No new connection is accepted, because the processor is too small; intervals are short.
REFUSE = {
    "name": "eac",
    "parameters": {"k_apl_s": 0.01, "processors": 1e-6, "cto_s": 1.0, "ctn_s": 10_000.0},
}


@dataclass(frozen=True)
class Subject:
    process: int
    port: int
    admin_port: int
    authority: Path

    def admission(self, choice: Mapping[str, object]) -> None:
        """Set the admission policy, and wait until it is in force."""
        with JsonClient(hosts.LOOPBACK, self.admin_port, timeout_s=60) as admin:
            admin.call("PUT", "/connection-admission", choice)
        time.sleep(0.1)  # several intervals of the refusing policy

    def cpu_s(self) -> float:
        return cpus.cpu_s(self.process)


@contextmanager
def gateway(folder: Path) -> Iterator[Subject]:
    files = CertificateFiles(folder)
    port, admin_port, tls_port, nobody = ports.free(4)
    command = gateway_command(
        port, nobody, admin_port=admin_port, tls_port=tls_port, tls_certificate=files.server,
        tls_key=files.key,
    )  # fmt: skip
    with running(command, lambda: ports.accepts(tls_port)) as process:
        yield Subject(process.pid, tls_port, admin_port, files.authority)


class Customer:
    """A customer who connects repeatedly with the same TLS version."""

    def __init__(self, subject: Subject, version: str) -> None:
        self._address = ("127.0.0.1", subject.port)
        self._context = ssl.create_default_context(cafile=subject.authority)
        self._context.minimum_version = self._context.maximum_version = VERSIONS[version]

    @contextmanager
    def _connected(self, session: ssl.SSLSession | None = None) -> Iterator[ssl.SSLSocket]:
        with (
            socket.create_connection(self._address) as raw,
            self._context.wrap_socket(raw, server_hostname="localhost", session=session) as sock,
        ):
            yield sock

    def connect(self, session: ssl.SSLSession | None = None) -> None:
        """Connect, and resume `session` if it is given. Raises ClickException if it cannot be
        resumed.
        """
        with self._connected(session) as sock:
            if session is not None and not sock.session_reused:
                raise click.ClickException("a session was not resumed")
            sock.setblocking(False)
            with suppress(ssl.SSLWantReadError):
                sock.recv(1)  # tickets of TLS 1.3 come after the handshake

    def ticket(self) -> ssl.SSLSession:
        with self._connected() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            sock.recv(1000)
            session = sock.session
            assert session is not None
            return session

    def refused(self) -> None:
        """Connect. Raises ClickException if the gateway does not refuse the connection."""
        try:
            self.connect()
        except ssl.SSLError as error:
            if "ACCESS_DENIED" not in str(error.reason):
                raise
        else:
            raise click.ClickException("the gateway accepted a connection that it had to refuse")


def cost_s(subject: Subject, customer: Customer, kind: str) -> float:
    """Return the CPU seconds of the gateway per connection of this kind."""
    session = customer.ticket() if kind == "resumed" else None
    if kind == "refused":
        subject.admission(REFUSE)
    connections, before_s = 0, subject.cpu_s()
    while (used_s := subject.cpu_s() - before_s) < LEAST_CPU_S or connections < 10:
        for _ in range(10):
            if kind == "refused":
                customer.refused()
            else:
                customer.connect(session)
        connections += 10
    if kind == "refused":
        subject.admission(LET_IN)
    return used_s / connections


@click.command(cls=OneLineCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--keys",
    default="ec-p256,rsa-2048,rsa-4096,rsa-7680",
    show_default=True,
    help="The kinds of keys, separated by commas.",
)
@click.option(
    "--rounds", default=5, type=click.IntRange(1, 100), help="The number of interleaved rounds."
)
def main(keys: str, rounds: int) -> None:
    """Print the CPU time per connection for each key and TLS version. The exit status is 1 if a
    refusal costs too much.
    """
    console = Console()
    table = harness.table(
        "CPU of the gateway per TLS connection, ms (medians)",
        *("key", "TLS", *KINDS, "resumed ÷ full", "refused ÷ full"),
        texts=("TLS",),
        wraps=True,
    )
    is_dear = False
    for key in keys.split(","):
        with tempfile.TemporaryDirectory() as folder:
            try:
                certificates.make(Path(folder), key)
            except CertificateError as error:
                raise click.ClickException(str(error)) from None
            with gateway(Path(folder)) as subject:
                customers = {version: Customer(subject, version) for version in VERSIONS}
                found = [
                    {
                        (version, kind): cost_s(subject, customer, kind)
                        for version, customer in customers.items()
                        for kind in KINDS
                    }
                    for _ in range(rounds)
                ]
        for version in VERSIONS:
            ratios = [
                median(one[version, kind] / one[version, "full"] for one in found)
                for kind in KINDS[1:]
            ]
            costs = [median(one[version, kind] for one in found) * 1000 for kind in KINDS]
            table.add_row(
                key, version, *(f"{it:.2f}" for it in costs), *(f"{it:.3f}" for it in ratios)
            )
            is_dear = is_dear or (key not in TOO_CHEAP and ratios[1] > MOST_RATIO)
    console.print(table)
    if is_dear:
        console.print(f"Warning: a refusal costs more than {MOST_RATIO:.0%} of a full handshake.")
        sys.exit(1)
