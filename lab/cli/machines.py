"""The commands `doorbuster capacity` and `doorbuster worker`, which measure or use this machine."""

from typing import Any

import click

from lab.cli.experiment_options import PAGE_PROFILE, SEED, TIME_SCALE, with_options
from lab.cli.faults import LabCommand
from lab.executors.broker import checked
from lab.spec.experiment import Spec
from runtime import settings


@click.command(cls=LabCommand)
@TIME_SCALE
@PAGE_PROFILE
@SEED
def capacity(**given: Any) -> None:
    """Measure the shop's capacity in requests per paper second: the median of three closed-loop
    runs.
    """
    from lab.engines import capacity as capacities
    from lab.machine.description import live_run_lock
    from lab.report.terminal import console
    from lab.runner.live import measure_capacity, running_appliance, surroundings

    spec = with_options(Spec(), given)
    lab = settings.load()
    appliance = running_appliance(lab)
    with live_run_lock(), surroundings(appliance, spec):
        measured = measure_capacity(spec, lab, [appliance])
    each = ", ".join(f"{rps:.3f}" for rps in measured.measurements_rps)
    console.print(
        f"Capacity {measured.median_rps:.3f} requests per paper second (median of {each})"
    )
    console.print(
        f"Live runs use this capacity for the next {capacities.KEPT_FOR.days * 24} hours."
    )
    console.print(f"Kept in {capacities.file_of(measured, lab)}")


@click.command(cls=LabCommand)
@click.option(
    "--broker",
    help="The broker's address, redis://…; by default DOORBUSTER_GRID_BROKER or "
    "DOORBUSTER_CELERY_BROKER.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="The maximum number of tasks at a time; by default, the number of CPUs.",
)
def worker(broker: str | None, processes: int | None) -> None:
    """Run simulations on this machine, for commands with `--celery` on this or other machines."""
    from lab.executors.celery import serve

    serve(checked(broker or settings.load().simulations_broker, "--broker"), processes)
