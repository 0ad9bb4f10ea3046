"""The command that stores the costs of the shipped experiments: `make bench-speeds`.

The command writes `lab/machine/speeds.json` from the costs that `doorbuster estimates --run all`
measured on this idle machine. Kinds of work that were not measured keep their previous cost; for
simulations, this cost is scaled to this machine's speed.
"""

import json
import statistics
from datetime import UTC, datetime

import click

from common.one_line import OneLineCommand
from lab.cli.estimates import COMMANDS
from lab.cli.leaderboard import QUICK_REPORT, SPECS
from lab.files.documents import write_text
from lab.leaderboard.run_study import STUDIES
from lab.machine import speeds
from lab.machine.description import describe_machine
from lab.results.study import plan
from lab.runner import estimates
from lab.runner.study import work_of
from lab.spec.experiment import changed, load_spec
from lab.studies.registry import PAPERS
from runtime import settings


def work() -> dict[str, dict[str, float]]:
    """Return the number of simulated requests, by kind of work, for each command in `COMMANDS` that
    simulates.
    """
    found = {}
    for arguments in COMMANDS:
        command, name, *_ = arguments
        if command == "reproduce":
            paper = PAPERS[name]
            if paper.default_engine == "live":
                continue
            cases = paper.build(quick=True).cases()
            repetitions = paper.repetitions("simulated", quick=True)
        else:
            quick = "--quick" in arguments
            base = changed(load_spec(SPECS["simulated"]), **(QUICK_REPORT if quick else {}))
            cases = STUDIES[name](base, quick=quick).cases()
            repetitions = base.repetitions
        simulations = plan(cases, seed=1, repetitions=repetitions)
        found[estimates.command_name(arguments)] = work_of(simulations)
    return found


@click.command(cls=OneLineCommand)
def main() -> None:
    """Write the file with the costs."""
    lab = settings.load()
    known = speeds.load(lab)
    if not known.is_calibrated:
        raise click.ClickException(
            "Nothing was measured here; run `doorbuster estimates --run all` first."
        )
    calibration_cpu_s = estimates.calibrate()
    shipped = speeds.shipped()
    # Costs of simulations without a new measurement are scaled to this machine's speed.
    factor = calibration_cpu_s / shipped.calibration_cpu_s
    costs = {
        kind: cost if kind.startswith("live ") else cost * factor
        for kind, cost in shipped.costs.items()
    }
    costs |= {kind: statistics.median(values) for kind, values in known.measured.items()}
    machine = describe_machine(lab)
    sizes = {
        name: {kind: round(requests) for kind, requests in sorted(kinds.items())}
        for name, kinds in sorted(work().items())
    }
    content = {
        "machine": f"{machine['cpus']} CPUs of {machine['cpu']}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "calibration_cpu_s": _rounded(calibration_cpu_s),
        "costs": {kind: _rounded(cost) for kind, cost in sorted(costs.items())},
        "work": sizes,
    }
    write_text(speeds.SHIPPED, json.dumps(content, indent=1) + "\n")
    click.echo(f"{speeds.SHIPPED}: {len(costs)} kinds of work, {len(sizes)} commands")


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
