"""`python -m hosting ecm` and `ecm-status`: the commands that run the CPU manager and show its
state.
"""

import logging
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import click
from prometheus_client import start_http_server
from rich.console import Console
from rich.table import Table

from common import cpus as cpu_lists
from gateway.policies.processor_assignment import Sharing
from gateway.tls.processor_protocol import (
    ProtocolError,
    Status,
    StatusWanted,
    from_manager,
    written,
)
from hosting import affinity
from hosting.ecm import server
from hosting.ecm.accounts import AccountFile
from hosting.ecm.cpu_manager import CpuManager
from hosting.ecm.metrics import CpuManagerMetrics
from hosting.options import Finite

LEAST_SETTLE_S = 1.0
_PATIENCE_S = 10.0

socket_option = click.option(
    "--socket",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    help="Unix socket of the CPU manager",
)


@click.command()
@socket_option
@click.option("--cpus", required=True, help="processors of the platform, e.g. 0-1 or 0,2-3")
@click.option(
    "--interval-s",
    default=0.2,
    show_default=True,
    type=Finite(0.01, 3600),
    help="real seconds between two assignments of processors (k_ECM)",
)
@click.option(
    "--sharing",
    default="both",
    show_default=True,
    type=click.Choice(get_args(Sharing)),
    help="which applications may share a processor. both: any two; to-high: an application gives "
    "half a processor only to one of higher priority; none: no processor is shared",
)
@click.option(
    "--accounts",
    type=click.Path(path_type=Path),
    help="file to which the accounts of each interval are appended",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    help="port of /metrics for Prometheus, on the loopback address",
)
def ecm(
    path: Path,
    cpus: str,
    interval_s: float,
    sharing: Sharing,
    accounts: Path | None,
    metrics_port: int | None,
) -> None:
    """Divide the processors among the applications that register, until SIGTERM or SIGINT."""
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s"
    )
    try:
        chosen = cpu_lists.parse(cpus)
    except ValueError as error:
        raise click.ClickException(f"--cpus: {error}") from None
    try:
        affinity.check(chosen)
        ecm_socket = server.EcmSocket(path)
    except affinity.AffinityError as error:
        raise click.ClickException(f"--cpus: {error}") from None
    except server.SocketError as error:
        raise click.ClickException(f"--socket: {error}") from None
    try:
        account_file = None if accounts is None else AccountFile(accounts)
    except OSError as error:
        ecm_socket.close()
        raise click.ClickException(f"--accounts: {accounts}: {error.strerror}") from None
    manager = CpuManager(
        chosen,
        sharing=sharing,
        interval_s=interval_s,
        settle_s=max(3 * interval_s, LEAST_SETTLE_S),
        is_successor=ecm_socket.has_predecessor,
        accounts=account_file,
    )
    if metrics_port is not None:
        _serve_metrics(manager, metrics_port)
    logging.getLogger(__name__).info(
        "CPU %s on %s, every %g s, sharing %s", cpu_lists.written(chosen), path, interval_s, sharing
    )
    try:
        server.serve(manager, ecm_socket, (signal.SIGTERM, signal.SIGINT))
    finally:
        ecm_socket.close()
        if account_file is not None:
            account_file.close()


def _serve_metrics(manager: CpuManager, port: int) -> None:
    """Serve metrics in a separate thread; if the port is in use, log this and continue."""
    try:
        start_http_server(port, "127.0.0.1", CpuManagerMetrics(manager.status).registry)
    except OSError as error:
        log = logging.getLogger(__name__)
        log.error("cannot serve metrics on port %d: %s", port, error.strerror)


@click.command("ecm-status")
@socket_option
def ecm_status(path: Path) -> None:
    """Show the processors that the applications request, have and use."""
    try:
        status = ask_status(path)
    except (OSError, ProtocolError) as error:
        reason = getattr(error, "strerror", None) or error
        raise click.ClickException(
            f"cannot read a CPU manager's state on {path}: {reason}"
        ) from None
    console = Console(highlight=False)
    if not sys.stdout.isatty():
        console.width = 120
    console.print(_table(status))
    own = status["manager_cpu_s"] / max(status["last_interval_s"], 1e-9)
    console.print(f"The manager uses {own:.1%} of one CPU.")


def ask_status(path: Path, patience_s: float = _PATIENCE_S) -> Mapping[str, Any]:
    """Return the manager's state (docs/edragon.md).

    Raises OSError if the manager does not answer, and ProtocolError if its answer is not a state.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(patience_s)
        connection.connect(str(path))
        connection.sendall(written(StatusWanted()))
        with connection.makefile("rb") as lines:
            answer = from_manager(lines.readline())
    if not isinstance(answer, Status):
        raise ProtocolError("no status arrived", "", "")
    return answer.status


def _table(status: Mapping[str, Any]) -> Table:
    table = Table(
        title=f"CPU {cpu_lists.written(tuple(status['cpus']))}, every {status['interval_s']:g} s, "
        f"sharing {status['sharing']}" + (", settling" if status["settling"] else "")
    )
    table.add_column("application")
    for heading in ("priority", "requested", "assigned"):
        table.add_column(heading, justify="right")
    table.add_column("processors")
    table.add_column(f"CPU s in the last {status['last_interval_s']:.2g} s", justify="right")
    table.add_column("CPU s", justify="right")
    for one in status["applications"]:
        table.add_row(
            one["application"] + (" (left)" if one["has_left"] else ""),
            f"{one['priority']:g}",
            str(one["requested"]),
            f"{one['assigned']:g}",
            cpu_lists.written(tuple(one["processors"])) or "parked",
            f"{one['cpu_s']:.2f}",
            f"{one['total_cpu_s']:.2f}",
        )
    return table
