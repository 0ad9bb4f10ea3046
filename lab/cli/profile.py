"""The command `doorbuster profile-connections`, which measures the cost of a connection on this
machine and recommends a size for the server's key.
"""

from typing import Any

import click

from hosting.options import Finite
from hosting.starting import HostingError
from lab.cli.command import LabCommand
from lab.cli.platform_options import (
    CPUS_OPTION,
    KEY_OPTION,
    PROFILE_OPTION,
    THREADS_OPTION,
    TIME_SCALE_OPTION,
    checked,
)
from lab.engines.hosted import connection_costs
from lab.engines.hosted.connection_costs import ConnectionCosts
from lab.engines.hosted.key_sizes import BITS, PUBLISHED_RATIO, KeySize, recommended, sizes
from lab.errors import ExperimentError
from lab.machine.lock import live_run_lock
from lab.report.drawing.table import Table
from lab.report.terminal import console, show
from lab.runner.live import running_appliance
from runtime import settings

SESSIONS = 20
INTERACTIONS_MEAN = 50.0


@click.command("profile-connections", cls=LabCommand)
@KEY_OPTION
@TIME_SCALE_OPTION
@PROFILE_OPTION
@CPUS_OPTION
@THREADS_OPTION
@click.option(
    "--interactions-mean",
    type=Finite(1, 100, max_open=True),
    default=INTERACTIONS_MEAN,
    show_default=True,
    help="The mean number of pages in a session; give the value of the runs that you plan.",
)
@click.option(
    "--sessions",
    type=click.IntRange(2, 10_000),
    default=SESSIONS,
    show_default=True,
    help="The approximate number of measured sessions, each with several connections.",
)
@click.option(
    "--no-key-sizes",
    is_flag=True,
    help="Do not measure the costs of other keys. The first such measurement creates large keys "
    "and takes about a minute.",
)
def profile_connections(
    interactions_mean: float, sessions: int, no_key_sizes: bool, **given: Any
) -> None:
    """Measure the cost of new and resumed TLS connections for an application (eDragon's CTN and
    CTO).

    The command starts one application on all processors (or on those that --cpus names), opens
    connections without requests, and runs a few sessions. It stores the costs for `doorbuster
    platform` and `doorbuster reproduce edragon`.
    """
    from hosting.platform import Platform
    from lab.engines.hosted.connection_profile import measure

    lab = settings.load()
    options = checked(
        {"applications": 1, "priorities": (1.0,), "provisioning": "linux", "admission": "none"}
        | given
    )
    running_appliance(lab)
    try:
        with live_run_lock():
            with Platform(lab, options, console.print) as platform:
                costs = measure(
                    platform,
                    interactions_mean=interactions_mean,
                    sessions=sessions,
                    say=console.print,
                )
            path = connection_costs.keep(costs, lab)
            show(costs_table(costs))
            console.print(f"Kept in {path}\n")
            if not no_key_sizes:
                _show_key_sizes(lab, costs)
    except HostingError as fault:
        raise ExperimentError(str(fault)) from None


def _show_key_sizes(lab: settings.Settings, costs: ConnectionCosts) -> None:
    from lab.engines.hosted.key_sizes import signatures_s

    console.print("Measuring signatures with other keys; missing keys are created first.")
    kind, _, own_bits = costs.key.partition("-")
    own = int(own_bits) if kind == "rsa" else None
    signatures = signatures_s(lab, sorted({*BITS, *([own] if own else [])}))
    found = sizes(
        signatures,
        handshake_s=costs.handshake_full_s / costs.time_scale,
        own_signature_s=signatures[own] if own else 0.0,
        session_s=costs.session_s / costs.time_scale,
    )
    show(key_table(found, costs))


def costs_table(costs: ConnectionCosts) -> Table:
    """Return a table with the measured costs and the paper's costs, in paper seconds of CPU
    time.
    """
    rows = [
        ("Resumed connection, CTO", "", costs.cto_s),
        ("New connection, CTN", "", costs.ctn_s),
        ("Full handshake", "0.175", costs.handshake_full_s),
        ("Resumed handshake", "0.002", costs.handshake_resumed_s),
        ("One reply", "", costs.reply_s),
        ("Session", "1.33", costs.session_s),
    ]
    table = Table(
        title=f"CPU time of an application, paper seconds (key {costs.key}, page profile "
        f"{costs.profile}, time scale {costs.time_scale:g})",
        header=("", "published", "measured", "measured, real ms"),
        note=f"{costs.sessions} sessions with {costs.resumed_per_session:.1f} resumed connections "
        f"each; {costs.replies_per_new:.1f} replies over a new connection, "
        f"{costs.replies_per_resumed:.1f} over a resumed connection. A full handshake takes "
        f"{100 * costs.handshake_ratio:.1f} % of a session's CPU time (published: "
        f"{100 * PUBLISHED_RATIO:.0f} %).",
    )
    for what, published, measured_s in rows:
        real_ms = 1000 * measured_s / costs.time_scale
        table.rows.append((what, published, f"{measured_s:.4f}", f"{real_ms:.2f}"))
    return table


def key_table(found: list[KeySize], costs: ConnectionCosts) -> Table:
    """Return a table of key sizes, with the handshake's share of a session and a recommendation."""
    best = recommended(found)
    table = Table(
        title="Keys of the server certificate",
        header=(
            "key", "signature, real ms", "full handshake, paper s", "share of a session, %",
            f"{100 * PUBLISHED_RATIO:.0f} % at interactions", "",
        ),
        note=f"With time scale {costs.time_scale:g}, page profile {costs.profile} and "
        f"{costs.interactions_mean:g} interactions in a session, the share of --key "
        f"rsa-{best.bits} is nearest to the paper's {100 * PUBLISHED_RATIO:.0f} %. The last "
        "column with numbers shows the mean number of interactions in a session at which the key "
        "would have this share.",
    )  # fmt: skip
    for size in found:
        table.rows.append(
            (
                f"rsa-{size.bits}",
                f"{1000 * size.signature_s:.2f}",
                f"{size.handshake_s * costs.time_scale:.3f}",
                f"{100 * size.session_ratio:.1f}",
                f"{costs.interactions_mean * size.length_ratio:.1f}",
                "recommended" if size is best else "",
            )
        )
    return table
