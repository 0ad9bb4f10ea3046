"""A comparison on the running appliance, from its capacity to its last run.

Owns: the lock, what is said meanwhile, resuming.
Must not know: options, how a run is made or drawn.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.analysis.reconciliation import summarise
from lab.baselines import process as peers
from lab.database.publishing import publishing
from lab.durations import duration
from lab.engines import capacity as capacities
from lab.engines.live import announcement as live_runs
from lab.engines.live import capacity as measuring
from lab.engines.live.appliance import Appliance
from lab.engines.live.run import LiveRun
from lab.engines.load_generators import Progress, run_loads
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.files.run_summary import RunSummary
from lab.machine import speeds
from lab.machine.description import describe_machine, describe_versions, live_run_lock
from lab.machine.progress_file import progress_file
from lab.report.terminal import RunProgress, announce, console, verdict
from lab.results.comparison import ComparisonResult
from lab.runner import comparison, estimates, side_by_side
from lab.runner.environment import surroundings
from lab.runner.stopwatch import stopwatch
from lab.spec import shop_cpus as lane_cpus
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.spec.shop_cpus import LaneCpus
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


def compare_live(spec: Spec, *, fresh: bool) -> ComparisonResult:
    """Make what is missing of the comparison; raises ExperimentError."""
    lab = settings.load()
    peers.check(lab, (policy.gateway for policy in spec.policy))
    lanes = lane_cpus.plan(lab, len(spec.policy), spec.at_once) if spec.at_once else None
    appliance = running_appliance(lab)
    asked_s = time.monotonic()
    with live_run_lock():
        stopwatch.waited(time.monotonic() - asked_s)
        if lanes is not None:
            with side_by_side.shops(lab, spec, lanes) as shops:
                return _compare(spec, lab, shops, lanes, fresh=fresh)
        appliance.check_knows(spec.policy)
        with surroundings(appliance, spec):
            return _compare(spec, lab, [appliance], None, fresh=fresh)


@stopwatch.live()
def _compare(
    spec: Spec,
    lab: settings.Settings,
    shops: Sequence[Appliance],
    lanes: LaneCpus | None,
    *,
    fresh: bool,
) -> ComparisonResult:
    """On one shop run after run; on several, whose CPUs `lanes` says, so many runs at once."""
    estimate = estimates.of_launch(spec, lab, processes=estimates.cpus_here())
    stopwatch.expect(spec.fingerprint, estimate)
    machine = describe_machine(lab) | ({"at_once": lanes.facts()} if lanes else {})
    folder = comparison.resumed(lab.results_dir, spec, fresh=fresh)
    if folder is None:
        console.print(f"All of it takes {estimate.words} with the drawing, {estimates.IDLE}.")
        progress_file.stage(0.0, estimate.capacity_ratio)
        folder = _begin(spec, lab, shops, machine)
        progress_file.stage(estimate.capacity_ratio, estimate.stages[1])
        stopwatch.begin(folder.path, is_new=True)
    elif folder.facts("machine") != machine:
        raise ExperimentError(
            f"{folder.path} was begun on another machine or other settings; "
            "begin anew with --fresh."
        )
    capacity = folder.capacity()
    capacity_rps = capacity and capacity.median_rps
    todo = comparison.missing_groups(folder, spec)
    expectation = comparison.Expectation(spec, capacity_rps)
    overhead_s = estimates.live_run_s(speeds.load(lab))
    expected = [expectation.real_s(group) + overhead_s for group in todo]
    how = f"at time scale {spec.time_scale:g}, about {duration(sum(expected))}"
    announce(spec, folder, sum(map(len, todo)), how)
    until_s = spec.load.duration_s if spec.clients else None
    with publishing(lab, console.print) as published, RunProgress(sum(expected)) as progress:
        published.experiment(folder)
        for group, real_s in zip(todo, expected, strict=True):
            titles = [planned.title(len(folder.plan())) for planned in group]
            steps = progress.at_once(titles, real_s, until_s)
            tells = [published.of_run(folder, planned) for planned in group]
            folders = [folder.run(planned) for planned in group]
            runs = [ShopRun.of_spec(spec, one.policy, one.rho, capacity_rps) for one in group]
            began_s = time.monotonic()
            if lanes is None:
                (shop,), (run,), (file,), (step,), (tell,) = shops, runs, folders, steps, tells
                made = [make_run(shop, run, group[0].seed, file, step, tell)]
            else:
                shops_rps = capacity.shops_rps if capacity else ()
                made = side_by_side.make_runs(
                    shops, runs, group[0].seed, folders, steps, tells, lanes, shops_rps
                )
            beyond_s = time.monotonic() - began_s - expectation.real_s(group)
            stopwatch.spent("live run", 1, max(beyond_s, 0.1))
            for title, tell, one in zip(titles, tells, made, strict=True):
                tell()
                progress.say(f"{title}: {verdict(one)}")
    return folder


def make_run(
    appliance: Appliance,
    run: ShopRun,
    seed: int,
    folder: RunFolder,
    on_progress: Progress,
    on_event: Callable[[], None] = lambda: None,
) -> RunSummary:
    """Make one live run and fill its folder; returns what run.json says.

    What an interrupted attempt at the same run left is removed first. `on_event` is called once the
    folder says that the run has begun, or that somebody changed something in it. Raises
    ExperimentError.
    """
    with LiveRun(appliance, run, seed, folder, on_event) as live:
        load = live.load_generator(on_progress)
        run_loads([load], appliance.lab.other_cpus, on_end=lambda _: live.customers_gone())
    return summarise(run, seed, folder, live.record())


def measure_capacity(
    spec: Spec, lab: settings.Settings, shops: Sequence[Appliance]
) -> capacities.Capacity:
    """Measure it for the customers and page work of `spec`, and tell that; raises ExperimentError.

    The capacity of one shop is kept for the next runs.
    """
    real_s = measuring.expected_real_s(spec.time_scale)
    whose = "the shop's capacity" if len(shops) == 1 else "the capacity of all shops at once"
    console.print(f"Measuring {whose}, about {duration(real_s)}")
    words = f"measuring {whose}, about {duration(real_s)}"
    progress_file.tell(now=True, done_ratio=0.0, words=words)
    done = 0

    def say(line: str) -> None:
        nonlocal done
        done += 1
        console.print(line)
        progress_file.tell(done_ratio=done / measuring.REPETITIONS, words=words)

    with live_runs.told_measuring(lab.state_dir, spec.title, real_s):
        measured = measuring.measure(shops, spec, on_progress=say)
    if len(shops) == 1:
        capacities.keep(measured, lab)
    return measured


def _capacity(
    spec: Spec, lab: settings.Settings, shops: Sequence[Appliance]
) -> capacities.Capacity | None:
    """The kept capacity where it holds for `spec`, else a new one; None in a closed loop."""
    if spec.clients:
        return None
    if len(shops) > 1:
        return measure_capacity(spec, lab, shops)
    try:
        return capacities.kept(lab, spec)
    except ExperimentError:
        return measure_capacity(spec, lab, shops)


def _begin(
    spec: Spec, lab: settings.Settings, shops: Sequence[Appliance], machine: Mapping[str, Any]
) -> ComparisonResult:
    capacity = _capacity(spec, lab, shops)
    if capacity is not None:
        console.print(f"{capacity.words()}; `make capacity` measures it again")
    facts = {
        "machine": machine,
        "versions": describe_versions(),
        "capacity": capacities.facts_of(capacity),
    }
    return ComparisonResult.create(lab.results_dir, spec, facts, comparison.plan(spec))
