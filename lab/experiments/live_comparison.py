"""A comparison on the running appliance, from its capacity to its last run.

Owns: the lock, what is said meanwhile, resuming.
Must not know: options, how a run is made or drawn.
"""

from dataclasses import asdict
from pathlib import Path

from lab.experiments import capacity as capacities
from lab.experiments import comparison
from lab.experiments.appliance import Appliance, is_loopback
from lab.experiments.errors import ExperimentError
from lab.experiments.live_run import make_run
from lab.experiments.machine import describe_machine, describe_versions, live_run_lock
from lab.experiments.results import ResultFolder, unfinished
from lab.experiments.spec import Spec
from lab.experiments.terminal import RunProgress, announce, console, duration, verdict
from runtime import settings


def compare_live(spec: Spec, *, fresh: bool) -> ResultFolder:
    """Make what is missing of the comparison; raises ExperimentError."""
    lab = settings.load()
    appliance = Appliance(lab)
    if not is_loopback(appliance.url):
        raise ExperimentError(
            f"{appliance.url}: load goes to loopback only; "
            "set DOORBUSTER_HOST to 127.0.0.1 or 0.0.0.0 and `make up` again."
        )
    with live_run_lock():
        appliance.check()
        folder = None if fresh else unfinished(lab.results_dir, spec)
        if folder:
            done = len(folder.whole_runs())
            console.print(f"Resuming {folder.path}: {done} of {len(folder.plan())} runs are done.")
            if folder.facts("machine") != describe_machine(lab):
                raise ExperimentError(
                    f"{folder.path} was begun on another machine or other settings; "
                    "begin anew with --fresh."
                )
        else:
            folder = _begin(spec, appliance)
        measured = capacities.from_json(folder.facts("capacity"))
        todo = comparison.missing(folder)
        expected = [
            comparison.expected_real_s(spec, [planned], measured.median_rps) for planned in todo
        ]
        how = f"at time scale {spec.time_scale:g}, {duration(sum(expected))}"
        announce(spec, folder, len(todo), how)
        with RunProgress(sum(expected)) as progress:
            for planned, real_s in zip(todo, expected, strict=True):
                step = progress.run(planned.title(len(folder.plan())), real_s)
                made = make_run(
                    appliance, spec, planned, measured.median_rps, folder.run(planned), step
                )
                progress.say(f"{planned.title(len(folder.plan()))}: {verdict(made)}")
    return folder


def measure_capacity(spec: Spec, appliance: Appliance) -> tuple[capacities.Capacity, Path]:
    """Measure it for the customers and page work of `spec`; also the file it is kept in."""
    real_s = capacities.expected_real_s(spec.time_scale)
    console.print(f"Measuring the shop's capacity, {duration(real_s)}")
    measured = capacities.measure(
        appliance,
        page_profile=spec.page_profile,
        lengths=spec.customers.lengths,
        time_scale=spec.time_scale,
        seed=spec.seed,
        on_progress=console.print,
    )
    return measured, capacities.keep(measured, appliance.lab)


def _begin(spec: Spec, appliance: Appliance) -> ResultFolder:
    measured, _ = measure_capacity(spec, appliance)
    console.print(f"Capacity: {measured.median_rps:.2f} requests per paper second")
    facts = {
        "machine": describe_machine(appliance.lab),
        "versions": describe_versions(),
        "capacity": asdict(measured),
    }
    return ResultFolder.create(appliance.lab.results_dir, spec, facts, comparison.plan(spec))
