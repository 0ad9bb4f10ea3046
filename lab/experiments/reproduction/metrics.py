"""What is kept of a simulation: numbers that figures and tables are made of.

Owns: reading them off a finished simulation. Must not know: figures, papers.

All are JSON-ready, so that a result is one small file and can be drawn again without simulating.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lab.experiments import waste
from lab.experiments.leaderboard.scenario_case import simulate_scenario
from lab.experiments.outcomes import after_warm_up, outcomes_of, response_times_s
from lab.experiments.reproduction import edragon_metrics
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.client_metrics import client_metrics
from loadgen.attempts import AttemptLog
from loadgen.sessions import FIRST_PAGE
from simulator.result import SessionFate, Simulated
from simulator.simulation import simulate

RESPONSE_STEP_S = 0.5
RESPONSE_UNTIL_S = 60.0
RESPONSE_EDGES_S = np.arange(0.0, RESPONSE_UNTIL_S + RESPONSE_STEP_S, RESPONSE_STEP_S)
"""Response times are kept as counts between these."""


def simulate_case(task: Mapping[str, Any]) -> dict[str, Any]:
    """Simulate `task["case"]` with `task["seed"]`; its metrics.

    With `task["attempts_file"]` every attempt is kept there. A pure function of its input
    otherwise, so that any worker on any machine gives the same answer.
    """
    if "platform" in task["case"]:
        return edragon_metrics.simulate_platform_case(task)
    if "scenario" in task["case"]:
        return simulate_scenario(task)
    case = Case.from_json(task["case"])
    path = task.get("attempts_file")
    log = AttemptLog() if path or case.watched != "sessions" else None
    simulated = simulate(case.scenario(task["seed"]), log=log)
    if case.watched == "clients":
        assert log is not None
        found = client_metrics(log.table(), simulated.samples, waste.of_simulation(simulated), case)
    else:
        found = session_metrics(simulated, case)
    if log is not None and case.watched == "pages":
        found |= page_metrics(log.table(), case)
    if log is not None and path:
        log.write(Path(path), {"case": task["case"], "seed": task["seed"]})
    return found


def session_metrics(simulated: Simulated, case: Case) -> dict[str, Any]:
    """Sessions by fate and length, and what the server was busy with.

    `unfinished` are those under way when the run was cut. Bins are SBAC's, section 6: up to the
    mean length, up to twice that, longer.
    """
    sessions = simulated.sessions
    fate, length = sessions.fate, sessions.length
    completed = fate == SessionFate.COMPLETED
    rejected = fate == SessionFate.REJECTED
    aborted = (fate == SessionFate.TIMED_OUT) | (fate == SessionFate.DROPPED)
    return {
        "arrivals_s": case.arrivals_s or simulated.end_s,
        "end_s": simulated.end_s,
        "sessions": len(length),
        "rejected": int(rejected.sum()),
        "completed": int(completed.sum()),
        "aborted": int(aborted.sum()),
        "unfinished": int((fate == SessionFate.UNFINISHED).sum()),
        "length": _mean(length),
        "completed_length": _mean(length[completed]),
        "bins": _bins(length, case.mean_length),
        "completed_bins": _bins(length[completed], case.mean_length),
        "kinds": [
            {
                "sessions": int((sessions.kind == kind).sum()),
                "admitted": int(((sessions.kind == kind) & ~rejected).sum()),
                "completed": int(((sessions.kind == kind) & completed).sum()),
            }
            for kind in range(int(sessions.kind.max()) + 1 if len(length) else 0)
        ],
        "attempts": {str(outcome): int(n) for outcome, n in simulated.attempts.items()},
        "requests": int(simulated.requests),
        "busy_s": float(simulated.busy_s),
        "useful_busy_s": float(simulated.useful_busy_s),
        "rejection_busy_s": float(simulated.rejection_busy_s),
        "wasted_busy_s": float(simulated.wasted_busy_s),
        "served": int(sum(simulated.served.values())),
    }


def page_metrics(attempts: pa.Table, case: Case) -> dict[str, Any]:
    """Attempts by page and outcome, and response times, as LIFO-Pri's section 3.2.2 has them."""
    attempts = after_warm_up(attempts, case.warm_up_s)
    outcomes = outcomes_of(attempts, case.rho)
    first = response_times_s(attempts, FIRST_PAGE)
    every = response_times_s(attempts)
    transactions = np.concatenate([response_times_s(attempts, f"Tr-{i}") for i in (1, 2, 3, 4)])
    return {
        "outcomes": {
            "rho": case.rho,
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
