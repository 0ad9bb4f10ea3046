"""The metrics of a simulated case.

All metrics can be written as JSON, so that figures can be drawn again without simulating.
"""

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lab.analysis.outcomes import after_warm_up, outcomes_of, response_times_s
from lab.engines.simulated.run import scenario_of
from lab.spec import own_policies
from lab.spec.cases import Case
from lab.spec.runs import ShopRun
from loadgen.records.attempt_log import AttemptLog
from loadgen.workload.sessions import FIRST_PAGE
from simulator.result import SessionFate, Simulated
from simulator.simulation import simulate

Measure = Callable[[Case[Any], int, AttemptLog | None], dict[str, Any]]
"""A function that simulates a case with a seed and returns its metrics.

If a log is given, the function writes every attempt to it.
"""

RESPONSE_STEP_S = 0.5
RESPONSE_UNTIL_S = 60.0
RESPONSE_EDGES_S = np.arange(0.0, RESPONSE_UNTIL_S + RESPONSE_STEP_S, RESPONSE_STEP_S)
"""The bounds of the bins of response times in the histogram, in paper seconds."""


def simulate_case(task: Mapping[str, Any]) -> dict[str, Any]:
    """Simulate `task["case"]` with `task["seed"]`; return its metrics.

    If `task` has an `attempts_file`, every attempt is written to this file.
    """
    case = Case.of_json(task["case"])
    own_policies.remember(case.own)
    path = task.get("attempts_file")
    log = AttemptLog() if path else None
    metrics = measure_of(case.measure)(case, task["seed"], log)
    if path and log is not None:
        log.write(Path(path), {"case": task["case"], "seed": task["seed"]})
    return metrics


def measure_of(name: str) -> Measure:
    """Return the measure with this name. Raises ValueError or ModuleNotFoundError if the name is
    unknown."""
    found = re.fullmatch(r"([a-z_]+(?:\.[a-z_]+)*):([a-z_]+)", name)
    if found is not None and found[1].partition(".")[0] in ("studies", "leaderboard"):
        known = importlib.import_module(f"lab.{found[1]}.measures").MEASURES
        if found[2] in known:
            measure: Measure = known[found[2]]
            return measure
    raise ValueError(f"measure: {name!r} is unknown")


def session_metrics(simulated: Simulated, run: ShopRun) -> dict[str, Any]:
    """Return the numbers of sessions by outcome and length, and how the server spent its time.
    `unfinished` is the number of sessions in progress when the run ended. Lengths have three bins,
    as in SBAC, section 6: up to the mean, from the mean to twice the mean, and longer."""
    sessions = simulated.sessions
    fate, length, kinds = map(np.asarray, (sessions.fate, sessions.length, sessions.kind))
    completed = fate == SessionFate.COMPLETED
    rejected = fate == SessionFate.REJECTED
    aborted = (fate == SessionFate.TIMED_OUT) | (fate == SessionFate.DROPPED)
    return {
        "arrivals_s": run.arrivals_s or simulated.end_s,
        "end_s": simulated.end_s,
        "sessions": len(length),
        "rejected": int(rejected.sum()),
        "completed": int(completed.sum()),
        "aborted": int(aborted.sum()),
        "unfinished": int((fate == SessionFate.UNFINISHED).sum()),
        "length": _mean(length),
        "completed_length": _mean(length[completed]),
        "bins": _bins(length, run.mean_length),
        "completed_bins": _bins(length[completed], run.mean_length),
        "kinds": [
            {
                "sessions": int((kinds == kind).sum()),
                "admitted": int(((kinds == kind) & ~rejected).sum()),
                "completed": int(((kinds == kind) & completed).sum()),
            }
            for kind in range(int(kinds.max()) + 1 if len(length) else 0)
        ],
        "attempts": {str(outcome): int(n) for outcome, n in simulated.attempts.items()},
        "requests": int(simulated.requests),
        "busy_s": float(simulated.busy_s),
        "useful_busy_s": float(simulated.useful_busy_s),
        "rejection_busy_s": float(simulated.rejection_busy_s),
        "wasted_busy_s": float(simulated.wasted_busy_s),
        "served": int(sum(simulated.served.values())),
    }


def page_metrics(attempts: pa.Table, run: ShopRun) -> dict[str, Any]:
    """Return the counts of attempts and the response times that LIFO-Pri's figures need."""
    attempts = after_warm_up(attempts, run.warm_up_s)
    outcomes = outcomes_of(attempts, run.rho)
    first = response_times_s(attempts, FIRST_PAGE)
    every = response_times_s(attempts)
    transactions = np.concatenate([response_times_s(attempts, f"Tr-{i}") for i in (1, 2, 3, 4)])
    return {
        "outcomes": {
            "rho": run.rho,
            "attempts": {page: dict(counts) for page, counts in outcomes.attempts.items()},
            "planned": dict(outcomes.planned),
            "fates": asdict(outcomes.fates),
            "confirms": outcomes.confirms,
            "duration_s": outcomes.duration_s,
        },
        "first_page_attempts": len(first),
        "first_page_response_counts": _histogram(first[np.isfinite(first)]),
        "response_mean_s": _mean(every[np.isfinite(every)]),
        "response_max_s": float(every[np.isfinite(every)].max(initial=0.0)),
        "transaction_response_mean_s": _mean(transactions[np.isfinite(transactions)]),
    }


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _bins(lengths: np.ndarray, mean: float) -> list[int]:
    first = int((lengths <= mean).sum())
    second = int((lengths <= 2 * mean).sum()) - first
    return [first, second, len(lengths) - first - second]


def _histogram(times_s: np.ndarray) -> list[int]:
    return [int(n) for n in np.histogram(times_s, RESPONSE_EDGES_S)[0]]


def _sessions(case: Case[ShopRun], seed: int, log: AttemptLog | None) -> dict[str, Any]:
    simulated = simulate(scenario_of(case.run, seed), log=log)
    return session_metrics(simulated, case.run)


def _pages(case: Case[ShopRun], seed: int, log: AttemptLog | None) -> dict[str, Any]:
    log = AttemptLog() if log is None else log
    simulated = simulate(scenario_of(case.run, seed), log=log)
    return session_metrics(simulated, case.run) | page_metrics(log.table(), case.run)


MEASURES = {"sessions": _sessions, "pages": _pages}
"""The measures that several studies use, by name."""
