"""A comparison on the running appliance, from its capacity to its last run.

Owns: the lock, what is said meanwhile, resuming.
Must not know: options, how a run is made or drawn.
"""

from pathlib import Path

from lab.experiments import capacity as capacities
from lab.experiments import comparison
from lab.experiments.appliance import Appliance
from lab.experiments.errors import ExperimentError
from lab.experiments.live_run import make_run
from lab.experiments.machine import describe_machine, describe_versions, live_run_lock
from lab.experiments.results import ResultFolder
from lab.experiments.spec import Spec
from lab.experiments.surroundings import surroundings
from lab.experiments.terminal import RunProgress, announce, console, duration, verdict
from runtime import settings


def running_appliance(lab: settings.Settings) -> Appliance:
    """The one that answers, and that load may be sent to; raises ExperimentError."""
    appliance = Appliance(lab)
    appliance.check_may_be_loaded()
    appliance.check()
    return appliance


def compare_live(spec: Spec, *, fresh: bool) -> ResultFolder:
    """Make what is missing of the comparison; raises ExperimentError."""
    appliance = running_appliance(settings.load())
    with live_run_lock():
        appliance.check_knows(spec.policy)
        with surroundings(appliance, spec):
            return _compare(spec, appliance, fresh=fresh)


def _compare(spec: Spec, appliance: Appliance, *, fresh: bool) -> ResultFolder:
    lab = appliance.lab
    folder = comparison.resumed(lab.results_dir, spec, fresh=fresh)
    if folder is None:
        folder = _begin(spec, appliance)
    elif folder.facts("machine") != describe_machine(lab):
        raise ExperimentError(
            f"{folder.path} was begun on another machine or other settings; "
            "begin anew with --fresh."
        )
    capacity = capacities.of_result(folder)
    capacity_rps = capacity and capacity.median_rps
    todo = comparison.missing(folder)
    expected = [comparison.expected_real_s(spec, [planned], capacity_rps) for planned in todo]
    how = f"at time scale {spec.time_scale:g}, {duration(sum(expected))}"
    announce(spec, folder, len(todo), how)
    with RunProgress(sum(expected)) as progress:
        for planned, real_s in zip(todo, expected, strict=True):
            until_s = spec.load.duration_s if spec.clients else None
            step = progress.run(planned.title(len(folder.plan())), real_s, until_s)
            made = make_run(appliance, spec, planned, capacity_rps, folder.run(planned), step)
            progress.say(f"{planned.title(len(folder.plan()))}: {verdict(made)}")
    return folder


def measure_capacity(spec: Spec, appliance: Appliance) -> tuple[capacities.Capacity, Path]:
    """Measure it for the customers and page work of `spec`; also the file it is kept in."""
    real_s = capacities.expected_real_s(spec.time_scale)
    console.print(f"Measuring the shop's capacity, {duration(real_s)}")
    measured = capacities.measure(appliance, spec, on_progress=console.print)
    return measured, capacities.keep(measured, appliance.lab)


def _begin(spec: Spec, appliance: Appliance) -> ResultFolder:
    measured = None
    if not spec.clients:
        measured, _ = measure_capacity(spec, appliance)
        console.print(f"Capacity: {measured.median_rps:.2f} requests per paper second")
    facts = {
        "machine": describe_machine(appliance.lab),
        "versions": describe_versions(),
        "capacity": capacities.facts_of(measured),
    }
    return ResultFolder.create(appliance.lab.results_dir, spec, facts, comparison.plan(spec))
