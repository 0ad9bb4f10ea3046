"""Carry out comparisons in the simulator, on the cores of this machine or on Celery workers."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.analysis.reconciliation import summarise
from lab.database.publishing import publishing
from lab.engines import capacity as capacities
from lab.engines.capacity import Capacity
from lab.engines.simulated.run import OnProgress, simulate_run
from lab.executors.executor import run_tasks
from lab.executors.tasks import tell
from lab.files.run_folder import RunFolder
from lab.files.run_summary import RunSummary
from lab.machine import speeds
from lab.machine.description import describe_machine
from lab.machine.progress_file import progress_file
from lab.report.terminal import TasksProgress, console, verdict
from lab.results.comparison import ComparisonResult
from lab.runner import estimates
from lab.runner.comparison import Comparison
from lab.runner.estimates import Estimate
from lab.runner.expectation import Expectation
from lab.runner.stopwatch import LEAST_REQUESTS, stopwatch
from lab.spec import own_policies
from lab.spec.runs import ShopRun, run_of


class SimulatedComparison(Comparison):
    """A simulated comparison. If Ctrl-C interrupts a run, this run is simulated again when the
    comparison is resumed.
    """

    same_machine = False
    start_kind = "start"

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Measure the speed of this machine, unless it is known."""
        estimates.calibrated(self.lab)
        yield

    def machine(self) -> Mapping[str, Any]:
        """Return a description of this machine, even if other machines run the simulations, because
        the results are the same.
        """
        return describe_machine(self.lab)

    def capacity(self) -> Capacity:
        """Calculate the capacity of the simulated server and print it."""
        found = capacities.computed(self.spec)
        console.print(f"{found.words()}.")
        return found

    def estimate(self, result: ComparisonResult) -> Estimate | None:
        """Return the expected duration; None with a broker, because its machines are unknown."""
        if self.broker:
            return None
        cpus = estimates.cpus_here()
        return estimates.of_spec(
            self.spec,
            result.capacity_rps(),
            speeds.load(self.lab),
            processes=min(self.processes or cpus, cpus),
            left_ratio=len(result.missing()) / self.spec.number_of_runs,
        )

    def make(self, result: ComparisonResult, estimate: Estimate | None) -> None:
        """Simulate the missing runs, several at a time."""
        spec = self.spec
        capacity_rps = result.capacity_rps()
        todo, total = result.missing(), len(result.plan())
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
        expectation = Expectation(spec, capacity_rps)
        known = speeds.load(self.lab)
        self.announce(result, len(todo), f"simulated{_words(estimate)}")
        if estimate is not None:
            progress_file.stage(*estimate.stages)
        choices = {policy.key: policy for policy in spec.policy}
        sizes = [expectation.sessions(run) for run in todo]
        with publishing(self.lab, console.print) as published, TasksProgress(sizes) as progress:
            published.experiment(result)

            def cost(index: int, cpu_s: float) -> None:
                run = todo[index]
                requests = expectation.requests_at(run.rho)
                if requests >= LEAST_REQUESTS:
                    files_s = known.factor * estimates.RUN_CPU_S
                    for kind in estimates.run_kinds(spec, choices[run.policy]):
                        stopwatch.spent(kind, requests, cpu_s - files_s)

            def keep(index: int, made: Mapping[str, Any]) -> None:
                run = result.run(todo[index])
                size_bytes = run.unpack(made["files"])
                published.run(result, todo[index])
                progress.done(index)
                outcome = verdict(run.summary())
                sent = f" ({size_bytes / 1e6:.1f} MB came back)" if self.broker else ""
                progress.say(f"{todo[index].title(total)}: {outcome}{sent}")

            run_tasks(
                tasks,
                make_packed_run,
                processes=self.processes,
                celery_broker=self.broker,
                on_done=keep,
                on_progress=progress.ended,
                on_cost=cost,
            )


def make_simulated_run(
    run: ShopRun, seed: int, folder: RunFolder, on_progress: OnProgress
) -> RunSummary:
    """Simulate one run, write its files to the folder as `simulate_run` does, and return the
    content of run.json."""
    return summarise(run, seed, folder, simulate_run(run, seed, folder, on_progress))


def make_packed_run(task: Mapping[str, Any]) -> dict[str, Any]:
    """Simulate a run that is given as JSON, on any machine, and return its files.

    `task` has the keys `run` (`ShopRun.as_json`), `seed`, and `own`: the texts of students'
    policies, because this machine may not have their files.
    """
    own_policies.remember(task["own"])
    run = run_of(task["run"])
    assert isinstance(run, ShopRun)
    with tempfile.TemporaryDirectory(prefix="doorbuster-run-") as place:
        folder = RunFolder(Path(place) / "run")
        make_simulated_run(run, task["seed"], folder, tell)
        return {"files": folder.pack()}


def _words(estimate: Estimate | None) -> str:
    if estimate is None:
        return " by Celery workers"
    where = "one processor" if estimate.processes == 1 else f"{estimate.processes} processors"
    return f", {estimate.words} with the drawing, {estimates.IDLE} ({where})"
