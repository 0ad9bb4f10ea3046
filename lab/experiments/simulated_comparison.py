"""A comparison in the simulator: its runs spread over cores or Celery workers.

Owns: what is said meanwhile, resuming, keeping runs as they come.
Must not know: options, how a run is made or drawn.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lab.experiments import capacity as capacities
from lab.experiments import comparison, own_policies
from lab.experiments.grid import run_grid
from lab.experiments.machine import describe_machine, describe_versions
from lab.experiments.results import ResultFolder
from lab.experiments.results_publishing import publishing
from lab.experiments.simulated_run import make_packed_run, server_of
from lab.experiments.spec import Spec
from lab.experiments.terminal import GridProgress, announce, console, verdict
from runtime import settings


def compare_simulated(
    spec: Spec, *, fresh: bool, processes: int | None, broker: str | None
) -> ResultFolder:
    """Make what is missing of the comparison; raises ExperimentError.

    On `processes` cores (all by default) or, with a `broker`, on the Celery workers that listen
    there. A run is kept when it is whole; one that is cut by Ctrl-C is made again another time.
    """
    lab = settings.load()
    folder = comparison.resumed(lab.results_dir, spec, fresh=fresh) or _begin(spec, lab)
    with comparison.alone(folder):
        _make(folder, spec, lab, processes, broker)
    return folder


def _make(
    folder: ResultFolder,
    spec: Spec,
    lab: settings.Settings,
    processes: int | None,
    broker: str | None,
) -> None:
    capacity = capacities.of_result(folder)
    capacity_rps = capacity and capacity.median_rps
    todo = comparison.missing(folder)
    own = [file.text for file in own_policies.of_spec(spec)]
    tasks = [
        {"spec": spec.plain(), "run": asdict(planned), "capacity_rps": capacity_rps, "own": own}
        for planned in todo
    ]
    expected = [comparison.expected_sessions(spec, run, capacity_rps) for run in todo]
    announce(spec, folder, len(todo), "simulated")
    with publishing(lab, console.print) as published, GridProgress(expected) as progress:
        published.experiment(folder)

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
        )


def _begin(spec: Spec, lab: settings.Settings) -> ResultFolder:
    capacity = None
    if not spec.clients:
        capacity = capacities.computed(spec, server_of(spec))
        console.print(f"{capacity.words()}.")
    facts = {
        "machine": describe_machine(lab),
        "versions": describe_versions(),
        "capacity": capacities.facts_of(capacity),
    }
    return ResultFolder.create(lab.results_dir, spec, facts, comparison.plan(spec))
