"""Create the rows of a result folder for the results database."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from lab.analysis.bound import CapacityBound
from lab.analysis.cells import bound_of, counted_attempts
from lab.analysis.metrics import METRICS
from lab.analysis.outcomes import outcomes_of, response_times_s
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun, RunSummary
from lab.results.comparison import ComparisonResult
from lab.results.result import is_imported, made_at
from lab.spec.experiment import Spec
from lab.wording import event_words, load_words, title_of

Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""The rows of a result folder, by table."""


def rows_of(path: str) -> Rows:
    """Return all rows of the result folder at `path` as JSON values; times are ISO 8601 texts.

    Damaged files can cause any exception of `database.DAMAGED`.
    """
    folder = ComparisonResult(Path(path))
    spec, plan = folder.spec(), folder.plan()
    rows = {
        "experiments": [experiment_row(folder)],
        "runs": [run_row(folder, spec, planned) for planned in plan],
        "events": [row for planned in plan for row in event_rows(folder, spec, planned)],
    }
    plain: Rows = json.loads(json.dumps(rows, default=_plain))
    return plain


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    assert isinstance(value, np.generic)
    return value.item()


def experiment_row(folder: ComparisonResult) -> Row:
    """Return the row of `results.experiments`; raises ExperimentError for a damaged folder."""
    spec, plan = folder.spec(), folder.plan()
    whole = [run for planned in plan if (run := folder.run(planned)).is_whole]
    ended = [_at(events[-1]) for run in whole if (events := run.events())]
    machine = folder.facts("machine")
    imported = is_imported(folder.path)
    return {
        "experiment": folder.path.name,
        "title": f"{spec.heading} (imported)" if imported else spec.heading,
        "imported": imported,
        "engine": spec.engine,
        "began_at": made_at(folder.path),
        "ended_at": max(ended, default=None) if len(whole) == len(plan) else None,
        "planned_runs": len(plan),
        "whole_runs": len(whole),
        "repetitions": spec.repetitions,
        "time_scale_ratio": spec.time_scale,
        "page_profile": None if spec.has_fifo_server else spec.page_profile,
        "capacity_rps": folder.facts("capacity").get("median_rps"),
        "doorbuster_version": folder.facts("versions").get("doorbuster", ""),
        "machine": f"{machine.get('cpus')} × {machine.get('cpu')}",
        "spec": spec.plain(),
    }


def run_row(folder: ComparisonResult, spec: Spec, planned: PlannedRun) -> Row:
    """Return the row of the table `results.runs`, with metrics if the run is complete; raises
    ExperimentError if a file of the result is missing or damaged."""
    choice = spec.choice(planned.policy)
    run = folder.run(planned)
    events = run.events()
    row: Row = {
        "experiment": folder.path.name,
        "number": planned.number,
        "run": planned.folder,
        "policy": planned.policy,
        "title": title_of(planned.policy),
        "queueing": choice.policy_name,
        "admission": choice.admission,
        "abandonment": spec.abandonment_of(choice),
        "rho": planned.rho,
        "seed": planned.seed,
        "state": "whole" if run.is_whole else "begun" if events else "planned",
        "started_at": _at(events[0]) if events else None,
        "ended_at": _at(events[-1]) if run.is_whole and events else None,
    }
    if not run.is_whole:
        return row
    return {**row, **_figures(spec, planned, run, bound_of(folder, spec))}


def event_rows(folder: ComparisonResult, spec: Spec, planned: PlannedRun) -> list[Row]:
    """Return the rows of the table `results.events`, in the order of the log.

    Raises ExperimentError if a file of the run is damaged.
    """
    run = folder.run(planned)
    events = run.events()
    summary = run.summary() if run.is_whole else RunSummary()
    return [
        {
            "experiment": folder.path.name,
            "number": planned.number,
            "place": place,
            "at": _happened_at(event, events[0], summary, spec),
            "time_s": event.get("time_s"),
            "kind": event["event"],
            "words": _words(event, planned),
            "facts": {k: v for k, v in event.items() if k not in ("at", "event", "time_s")},
        }
        for place, event in enumerate(events)
    ]


def _figures(spec: Spec, planned: PlannedRun, run: RunFolder, bound: CapacityBound | None) -> Row:
    attempts = counted_attempts(spec, run)
    found = outcomes_of(attempts, spec.load.offered(planned.rho), bound)
    summary = run.summary()
    waste = summary.waste or {}
    schedule = summary.load_generator.schedule
    whole_cpu_s, wasted_cpu_s = waste.get("server_cpu_s"), waste.get("wasted_cpu_s")
    times_s = response_times_s(attempts)
    times_s = times_s[np.isfinite(times_s)]
    quantiles = np.quantile(times_s, (0.5, 0.9, 0.99)).tolist() if len(times_s) else [None] * 3
    return {
        **{
            metric.name: metric.of(found)
            for metric in METRICS
            if not (spec.clients and metric.is_of_sessions)  # clients have no sessions that end
        },
        **dict(zip(("response_p50_s", "response_p90_s", "response_p99_s"), quantiles, strict=True)),
        "server_cpu_s": whole_cpu_s,
        "wasted_cpu_s": wasted_cpu_s,
        "wasted_cpu_ratio": wasted_cpu_s / whole_cpu_s
        if whole_cpu_s and wasted_cpu_s is not None
        else None,
        "late_ratio": schedule and schedule.late_share,
        "reconciles": summary.reconciles,
        "switched": bool(summary.switched or summary.load_generator.load_changes or summary.faults),
    }


ON_CLOCK_OF_SAMPLES = ("switched", "fault", "fault over")
"""The events whose `time_s` counts from the start of the run, as in the samples."""


def _at(event: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


def _happened_at(
    event: Mapping[str, Any], first: Mapping[str, Any], summary: RunSummary, spec: Spec
) -> datetime:
    """Return the wall-clock time of an event, which can be earlier than its entry in the log."""
    began_at = summary.load_generator.started_at
    if spec.engine != "live" or "time_s" not in event:
        return _at(event)
    since = timedelta(seconds=event["time_s"] / spec.time_scale)
    if event["event"] == "load changed" and began_at is not None:
        return datetime.fromtimestamp(began_at, UTC) + since
    return _at(first) + since if event["event"] in ON_CLOCK_OF_SAMPLES else _at(event)


def _words(event: Mapping[str, Any], planned: PlannedRun) -> str:
    if event["event"] == "run started":
        return f"{title_of(planned.policy)}, {load_words(planned.rho)}, seed {planned.seed}"
    return event_words(event)
