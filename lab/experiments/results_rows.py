"""A result folder as rows of the results database.

Owns: which figure of a run stands in which column of `results_schema.sql`.
Must not know: PostgreSQL, how a run is made.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from lab.experiments.cells import counted_attempts
from lab.experiments.errors import ExperimentError
from lab.experiments.event_words import event_words, load_words
from lab.experiments.leaderboard.bound import reachable_ratio
from lab.experiments.outcomes import Outcomes, outcomes_of, response_times_s
from lab.experiments.results import PlannedRun, ResultFolder, RunFolder
from lab.experiments.spec import Spec
from lab.experiments.titles import title_of
from loadgen.attempts import AttemptOutcome

Row = dict[str, Any]

_WHEN = re.compile(r"\d{8}T\d{6}Z")


def experiment_row(folder: ResultFolder) -> Row:
    """Of `results.experiments`; raises ExperimentError when the folder is damaged."""
    spec, plan = folder.spec(), folder.plan()
    whole = [run for planned in plan if (run := folder.run(planned)).is_whole]
    ended = [_at(events[-1]) for run in whole if (events := read_events(run))]
    machine = folder.facts("machine")
    return {
        "experiment": folder.path.name,
        "title": spec.heading,
        "engine": spec.engine,
        "began_at": _began_at(folder),
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


def run_row(folder: ResultFolder, spec: Spec, planned: PlannedRun) -> Row:
    """Of `results.runs`; figures are left out until the run is whole. Raises ExperimentError."""
    choice = spec.choice(planned.policy)
    run = folder.run(planned)
    events = read_events(run)
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
    return {**row, **_figures(spec, planned, run)} if run.is_whole else row


def event_rows(folder: ResultFolder, spec: Spec, planned: PlannedRun) -> list[Row]:
    """Of `results.events`, in the order of the log. Raises ExperimentError."""
    run = folder.run(planned)
    events = read_events(run)
    summary = run.summary() if run.is_whole else {}
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


def read_events(run: RunFolder) -> list[Mapping[str, Any]]:
    """What events.jsonl has; nothing before the run began. Raises ExperimentError when damaged."""
    try:
        lines = run.events_file.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as fault:
        raise ExperimentError(f"{run.events_file} cannot be read: {fault}") from None


def _figures(spec: Spec, planned: PlannedRun, run: RunFolder) -> Row:
    attempts = counted_attempts(spec, run)
    found = outcomes_of(
        attempts, spec.load.offered(planned.rho), reachable_ratio(spec, planned.rho)
    )
    summary = run.summary()
    waste = summary.get("waste") or {}
    schedule = summary.get("load_generator", {}).get("schedule") or {}
    whole_cpu_s, wasted_cpu_s = waste.get("server_cpu_s"), waste.get("wasted_cpu_s")
    times_s = response_times_s(attempts)
    times_s = times_s[np.isfinite(times_s)]
    quantiles = np.quantile(times_s, (0.5, 0.9, 0.99)).tolist() if len(times_s) else [None] * 3
    return {
        "duration_s": found.duration_s,
        "planned_requests": sum(found.planned.values()),
        "generated_attempts": sum(found.generated(page) for page in found.attempts),
        **_by_outcome(found),
        "completed_ratio": found.completed_ratio,
        "throughput_rps": found.throughput_rps,
        **({} if spec.clients else _of_sessions(found)),  # clients come back for ever
        "confirms": found.confirms,
        "confirm_bound": found.confirm_bound,
        "revenue_efficiency_ratio": found.revenue_efficiency_ratio,
        **dict(zip(("response_p50_s", "response_p90_s", "response_p99_s"), quantiles, strict=True)),
        "server_cpu_s": whole_cpu_s,
        "wasted_cpu_s": wasted_cpu_s,
        "wasted_cpu_ratio": wasted_cpu_s / whole_cpu_s
        if whole_cpu_s and wasted_cpu_s is not None
        else None,
        "late_ratio": schedule.get("late_share"),
        "reconciles": summary["reconciles"],
        "switched": bool(
            summary.get("switched") or summary.get("load_generator", {}).get("load_changes")
        ),
    }


def _by_outcome(found: Outcomes) -> Row:
    of = {
        "completed_requests": AttemptOutcome.COMPLETED,
        "timed_out_attempts": AttemptOutcome.TIMED_OUT,
        "dropped_attempts": AttemptOutcome.DROPPED,
        "rejected_attempts": AttemptOutcome.REJECTED,
        "refused_attempts": AttemptOutcome.REFUSED,
        "failed_attempts": AttemptOutcome.FAILED,
        "not_generated_requests": AttemptOutcome.NOT_GENERATED,
    }
    return {column: found.count(outcome) for column, outcome in of.items()}


def _of_sessions(found: Outcomes) -> Row:
    return {
        "arrived_sessions": found.fates.arrived,
        "rejected_sessions": found.fates.rejected,
        "completed_sessions": found.fates.completed,
        "aborted_sessions": found.fates.aborted,
        "useful_rps": found.useful_rps,
    }


def _began_at(folder: ResultFolder) -> datetime:
    if told := _WHEN.match(folder.path.name):
        return datetime.strptime(told[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return datetime.fromtimestamp((folder.path / "plan.json").stat().st_mtime, UTC)


def _at(event: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


def _happened_at(
    event: Mapping[str, Any], first: Mapping[str, Any], summary: Mapping[str, Any], spec: Spec
) -> datetime:
    """When, on a clock on the wall: some are logged only when the run is over.

    A simulation's time is no clock's.
    """
    began_at = summary.get("load_generator", {}).get("started_at")
    if spec.engine != "live" or "time_s" not in event:
        return _at(event)
    since = timedelta(seconds=event["time_s"] / spec.time_scale)
    if event["event"] == "load changed" and began_at is not None:
        return datetime.fromtimestamp(began_at, UTC) + since
    return _at(first) + since if event["event"] == "switched" else _at(event)


def _words(event: Mapping[str, Any], planned: PlannedRun) -> str:
    """For a mark in a diagram."""
    if event["event"] == "run started":
        return f"{title_of(planned.policy)}, {load_words(planned.rho)}, seed {planned.seed}"
    return event_words(event)
