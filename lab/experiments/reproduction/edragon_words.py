"""What is said of eDragon's live runs: what is run, what came of it, what its figures rest on.

Owns: the words. Must not know: how a run is made or drawn.
"""

from collections.abc import Mapping, Sequence

from lab.experiments import connection_costs
from lab.experiments.connection_costs import ConnectionCosts
from lab.experiments.intervals import estimate
from lab.experiments.reproduction.edragon_cases import LIVE, PlatformCase
from lab.experiments.reproduction.edragon_scaling import beside_ratio
from lab.experiments.reproduction.store import Metrics

_OTHERS_AT_MOST_RATIO = 0.1
"""CPU manager, Redis and system among them."""


def profile_words() -> str:
    """The command that measures what is needed."""
    return (
        f"`{connection_costs.COMMAND} --key {LIVE['key']} --page-profile {LIVE['profile']} "
        f"--time-scale {LIVE['time_scale']:g} --interactions-mean {LIVE['interactions_mean']:g} "
        "--no-key-sizes`"
    )


def case_words(case: PlatformCase) -> str:
    """For people: what is run."""
    how = case.provisioning if case.admission == "eac" else "original"
    if len(case.loads) == 1:
        return f"one application, {how}, {case.loads[0][0][1]:g} new sessions/s"
    priorities = ":".join(f"{priority:g}" for priority in case.priorities)
    return f"two applications, {how}, priorities {priorities}, sharing {case.sharing}"


def verdict(metrics: Metrics) -> str:
    """A run in a line."""
    names = ("sessions", "completed", "refused", "timed_out", "replies")
    count = {name: sum(one[name] for one in metrics["applications"]) for name in names}
    return (
        f"{count['sessions']} sessions, {count['completed']} completed, {count['refused']} "
        f"refused, {count['timed_out']} timed out; "
        f"{count['replies'] / metrics['duration_s']:.1f} replies/s"
    )


def costs_words(costs: ConnectionCosts, found: Mapping[str, float | None]) -> str:
    """What the loads rest on."""
    ratio = beside_ratio(found)
    return (
        f"CTO {costs.cto_s:.3f}, CTN {costs.ctn_s:.3f}, session {costs.session_s:.2f} paper s of "
        f"CPU ({costs.key}, full handshake {100 * costs.handshake_ratio:.0f} % of a session, "
        f"measured {costs.measured_at}); load generator and database take {100 * ratio:.0f} % of "
        "that beside it, which is counted in."
    )


def disturbed_words(made: Sequence[Metrics], processors: int) -> list[str]:
    """A warning where others had more than a little of the processors; else nothing."""
    most = max((metrics["cpus"]["others"] for metrics in made), default=0.0)
    if most <= _OTHERS_AT_MOST_RATIO * processors:
        return []
    return [
        f"The machine was busy with something else: up to {most:.2f} of its {processors} "
        "processors in a run. Platform and admission take all of them for theirs; measure on a "
        "quiet machine."
    ]


def shares_words(made: Sequence[Metrics], processors: int) -> list[tuple[str, str]]:
    """What load generator, database and others took of the processors, over the runs."""
    found = []
    for key, name in (
        ("applications", "Applications had"),
        ("load_generator", "The load generator had"),
        ("database", "The database had"),
        ("others", "Everything else had"),
    ):
        shares = [metrics["cpus"][key] for metrics in made if metrics["cpus"][key] is not None]
        if shares:
            found.append(
                (name, f"{estimate(shares).mean:.2f} of {processors} processors on average, "
                       f"{max(shares):.2f} at most in a run")
            )  # fmt: skip
    return found
