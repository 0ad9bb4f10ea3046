"""A comparison in the simulator: its runs spread over cores or Celery workers.

Owns: what is said meanwhile, resuming, keeping runs as they come.
Must not know: options, how a run is made or drawn.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.analysis.reconciliation import summarise
from lab.database.publishing import publishing
from lab.engines import capacity as capacities
from lab.engines.simulated.run import OnProgress, simulate_run
from lab.executors.executor import run_grid
from lab.executors.tasks import tell
from lab.files.run_folder import RunFolder
from lab.files.run_summary import RunSummary
from lab.machine import speeds
from lab.machine.description import describe_machine, describe_versions
from lab.machine.progress_file import progress_file
from lab.report.terminal import GridProgress, announce, console, verdict
from lab.results.comparison import ComparisonResult
from lab.runner import comparison, estimates
from lab.runner.stopwatch import LEAST_REQUESTS, stopwatch
from lab.spec import own_policies
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun, run_of
from runtime import settings


def compare_simulated(
    spec: Spec, *, fresh: bool, processes: int | None, broker: str | None
) -> ComparisonResult:
    """Make what is missing of the comparison; raises ExperimentError.

    On `processes` cores (all by default) or, with a `broker`, on the Celery workers that listen
    there. A run is kept when it is whole; one that is cut by Ctrl-C is made again another time.
    """
    lab = settings.load()
    estimates.calibrated(lab)
    folder = comparison.resumed(lab.results_dir, spec, fresh=fresh) or _begin(spec, lab)
    with comparison.alone(folder):
        _make(folder, spec, lab, processes, broker)
    return folder


def make_simulated_run(
    run: ShopRun, seed: int, folder: RunFolder, on_progress: OnProgress
) -> RunSummary:
    """Simulate one run and fill its folder; returns what run.json says. As `simulate_run`."""
    return summarise(run, seed, folder, simulate_run(run, seed, folder, on_progress))


def make_packed_run(task: Mapping[str, Any]) -> dict[str, Any]:
    """Simulate a run on any machine: the run as JSON in, its files out.

    `task`: `run` (`ShopRun.as_json`), `seed`, `own` (the texts of students' policies, which may be
    nowhere else on this machine).
    """
    own_policies.remember(task["own"])
    run = run_of(task["run"])
    assert isinstance(run, ShopRun)
    with tempfile.TemporaryDirectory(prefix="doorbuster-run-") as place:
        folder = RunFolder(Path(place) / "run")
        make_simulated_run(run, task["seed"], folder, tell)
        return {"files": folder.pack()}


def _make(
    folder: ComparisonResult,
    spec: Spec,
    lab: settings.Settings,
    processes: int | None,
    broker: str | None,
) -> None:
    capacity = folder.capacity()
    capacity_rps = capacity and capacity.median_rps
    todo = comparison.missing(folder)
    own = [file.text for file in own_policies.of_spec(spec)]
    runs = {
        (policy.key, rho): ShopRun.of_spec(spec, policy.key, rho, capacity_rps).as_json()
        for policy in spec.policy
        for rho in spec.load.rhos
    }
    tasks = [
        {"run": runs[planned.policy, planned.rho], "seed": planned.seed, "own": own}
        for planned in todo
    ]
    expectation = comparison.Expectation(spec, capacity_rps)
    expected = [expectation.sessions(run) for run in todo]
    known = speeds.load(lab)
    estimate = None if broker else _estimate(spec, lab, capacity_rps, len(todo), processes)
    # How fast the machines behind a broker are is not known here.
    how = "simulated by Celery workers" if estimate is None else f"simulated, {_words(estimate)}"
    announce(spec, folder, len(todo), how)
    is_new = len(todo) == spec.number_of_runs
    stopwatch.expect(spec.fingerprint, estimate, "start")
    stopwatch.begin(folder.path, is_new=is_new)
    if estimate is not None:
        progress_file.stage(*estimate.stages)
    choices = {policy.key: policy for policy in spec.policy}
    with publishing(lab, console.print) as published, GridProgress(expected) as progress:
        published.experiment(folder)

        def cost(index: int, cpu_s: float) -> None:
            run = todo[index]
            requests = expectation.requests_at(run.rho)
            if requests >= LEAST_REQUESTS:
                files_s = known.factor * estimates.RUN_CPU_S
                for kind in estimates.run_kinds(spec, choices[run.policy]):
                    stopwatch.spent(kind, requests, cpu_s - files_s)

        def keep(index: int, result: Mapping[str, Any]) -> None:
            run = folder.run(todo[index])
            size_bytes = run.unpack(result["files"])
            published.run(folder, todo[index])
            progress.done(index)
            told = verdict(run.summary())
            sent = f" ({size_bytes / 1e6:.1f} MB came back)" if broker else ""
            progress.say(f"{todo[index].title(len(folder.plan()))}: {told}{sent}")

        run_grid(
            tasks,
            make_packed_run,
            processes=processes,
            celery_broker=broker,
            on_done=keep,
            on_progress=progress.ended,
            on_cost=cost,
        )


def _estimate(
    spec: Spec,
    lab: settings.Settings,
    capacity_rps: float | None,
    runs: int,
    processes: int | None,
) -> estimates.Estimate:
    """How long this many of the runs take, with the start and the drawing."""
    cpus = estimates.cpus_here()
    return estimates.of_spec(
        spec,
        capacity_rps,
        speeds.load(lab),
        processes=min(processes or cpus, cpus),
        left_ratio=runs / spec.number_of_runs,
    )


def _words(estimate: estimates.Estimate) -> str:
    where = "one processor" if estimate.processes == 1 else f"{estimate.processes} processors"
    return f"{estimate.words} with the drawing, {estimates.IDLE} ({where})"


def _begin(spec: Spec, lab: settings.Settings) -> ComparisonResult:
    capacity = None
    if not spec.clients:
        capacity = capacities.computed(spec)
        console.print(f"{capacity.words()}.")
    facts = {
        "machine": describe_machine(lab),
        "versions": describe_versions(),
        "capacity": capacities.facts_of(capacity),
    }
    return ComparisonResult.create(lab.results_dir, spec, facts, comparison.plan(spec))
