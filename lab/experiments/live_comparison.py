"""A comparison on the running appliance, from its capacity to its last run.

Owns: the lock, what is said meanwhile, resuming.
Must not know: options, how a run is made or drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.experiments import capacity as capacities
from lab.experiments import comparison, lane_cpus, side_by_side
from lab.experiments.appliance import Appliance
from lab.experiments.durations import duration
from lab.experiments.errors import ExperimentError
from lab.experiments.lane_cpus import LaneCpus
from lab.experiments.live_run import make_run
from lab.experiments.machine import describe_machine, describe_versions, live_run_lock
from lab.experiments.peers import process as peers
from lab.experiments.results import ResultFolder
from lab.experiments.results_publishing import publishing
from lab.experiments.spec import Spec
from lab.experiments.surroundings import surroundings
from lab.experiments.terminal import RunProgress, announce, console, verdict
from runtime import settings


def running_appliance(lab: settings.Settings) -> Appliance:
    """The one that answers, and that load may be sent to; raises ExperimentError."""
    appliance = Appliance(lab)
    try:
        appliance.check_may_be_loaded()
        appliance.check()
    finally:
        appliance.close()  # some only want to know
    return appliance


def compare_live(spec: Spec, *, fresh: bool) -> ResultFolder:
    """Make what is missing of the comparison; raises ExperimentError."""
    lab = settings.load()
    peers.check(lab, (policy.gateway for policy in spec.policy))
    lanes = lane_cpus.plan(lab, len(spec.policy), spec.at_once) if spec.at_once else None
    appliance = running_appliance(lab)
    with live_run_lock():
        if lanes is not None:
            with side_by_side.shops(lab, spec, lanes) as shops:
                return _compare(spec, lab, shops, lanes, fresh=fresh)
        appliance.check_knows(spec.policy)
        with surroundings(appliance, spec):
            return _compare(spec, lab, [appliance], None, fresh=fresh)


def _compare(
    spec: Spec,
    lab: settings.Settings,
    shops: Sequence[Appliance],
    lanes: LaneCpus | None,
    *,
    fresh: bool,
) -> ResultFolder:
    """On one shop run after run; on several, whose CPUs `lanes` says, so many runs at once."""
    machine = describe_machine(lab) | ({"at_once": lanes.facts()} if lanes else {})
    folder = comparison.resumed(lab.results_dir, spec, fresh=fresh)
    if folder is None:
        folder = _begin(spec, lab, shops, machine)
    elif folder.facts("machine") != machine:
        raise ExperimentError(
            f"{folder.path} was begun on another machine or other settings; "
            "begin anew with --fresh."
        )
    capacity = capacities.of_result(folder)
    capacity_rps = capacity and capacity.median_rps
    todo = comparison.missing_groups(folder, spec)
    expected = [comparison.expected_real_s(spec, group, capacity_rps) for group in todo]
    how = f"at time scale {spec.time_scale:g}, about {duration(sum(expected))}"
    announce(spec, folder, sum(map(len, todo)), how)
    until_s = spec.load.duration_s if spec.clients else None
    with publishing(lab, console.print) as published, RunProgress(sum(expected)) as progress:
        published.experiment(folder)
        for group, real_s in zip(todo, expected, strict=True):
            titles = [planned.title(len(folder.plan())) for planned in group]
            steps = progress.at_once(titles, real_s, until_s)
            tells = [published.of_run(folder, planned) for planned in group]
            runs = [folder.run(planned) for planned in group]
            if lanes is None:
                (shop,), (run,), (step,), (tell,) = shops, runs, steps, tells
                made = [make_run(shop, spec, group[0], capacity_rps, run, step, tell)]
            else:
                shops_rps = capacity.shops_rps if capacity else ()
                made = side_by_side.make_runs(
                    shops, spec, group, capacity_rps, runs, steps, tells, lanes, shops_rps
                )
            for title, tell, one in zip(titles, tells, made, strict=True):
                tell()
                progress.say(f"{title}: {verdict(one)}")
    return folder


def measure_capacity(spec: Spec, shops: Sequence[Appliance]) -> capacities.Capacity:
    """Measure it for the customers and page work of `spec`; raises ExperimentError."""
    real_s = capacities.expected_real_s(spec.time_scale)
    whose = "the shop's capacity" if len(shops) == 1 else "the capacity of all shops at once"
    console.print(f"Measuring {whose}, about {duration(real_s)}")
    return capacities.measure(shops, spec, on_progress=console.print)


def _begin(
    spec: Spec, lab: settings.Settings, shops: Sequence[Appliance], machine: Mapping[str, Any]
) -> ResultFolder:
    measured = None
    if not spec.clients:
        measured = measure_capacity(spec, shops)
        if len(shops) == 1:
            capacities.keep(measured, lab)
        console.print(f"Capacity: {measured.median_rps:.2f} requests per paper second")
    facts = {
        "machine": machine,
        "versions": describe_versions(),
        "capacity": capacities.facts_of(measured),
    }
    return ResultFolder.create(lab.results_dir, spec, facts, comparison.plan(spec))
