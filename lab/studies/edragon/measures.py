"""The metrics of a run of the hosting platform, and the values of eDragon's figures.

A run has the metrics `duration_s`, `bin_s` and `applications`. Each application has counts
(`sessions`, `completed`, `refused`, `timed_out`, `replies`), `response_p95_s`, `processors` (the
mean number assigned) and `series`. Each series (`sessions_ps`, `replies_ps` and `processors`) has a
value for every `bin_s` paper seconds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.results.metrics import Metrics, Value
from lab.spec.cases import Case
from lab.spec.runs import PlatformRun
from lab.studies.edragon.cases import Zone, mean_over
from loadgen.records.attempt_log import AttemptLog
from loadgen.workload.load_schedule import RateStep, Schedule
from loadgen.workload.partly_open import PartlyOpenModel
from simulator.hosting import simulate_platform
from simulator.hosting_result import AppResult
from simulator.hosting_scenario import AppScenario, PlatformScenario

BIN_S = 30.0
"""The width of a bin in paper seconds."""


def application_metrics(
    *,
    sessions: Mapping[str, int],
    response_s: npt.NDArray[np.float64],
    per_second: Mapping[str, npt.NDArray[np.float64]],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the metrics of one application. `sessions` has the number of sessions with each
    outcome. `per_second` has three series with a value for each second of the run: `sessions` and
    `replies` (counts), and `processors`."""
    return {
        "sessions": int(per_second["sessions"].sum()),
        "completed": int(sessions["completed"]),
        "refused": int(sessions["refused"]),
        "timed_out": int(sessions["timed_out"]),
        "replies": int(per_second["replies"].sum()),
        "response_p95_s": float(np.percentile(response_s, 95)) if len(response_s) else None,
        "processors": float(np.mean(per_second["processors"])),
        "series": {
            "sessions_ps": binned(per_second["sessions"]),
            "replies_ps": binned(per_second["replies"]),
            "processors": binned(per_second["processors"]),
        },
        **more,
    }


def binned(per_second: Sequence[float] | npt.NDArray[np.float64]) -> list[float]:
    """Return the mean of each bin of BIN_S seconds; the last bin can be shorter."""
    values = np.asarray(per_second, dtype=float)
    width = round(BIN_S)
    starts = range(0, len(values), width)
    return [round(float(np.mean(values[start : start + width])), 6) for start in starts]


def _simulated_application(found: AppResult) -> dict[str, Any]:
    per_second = {
        "sessions": found.series["new_sessions"],
        "replies": found.series["replies"],
        "processors": found.series["processors"],
    }
    used = float(np.mean(found.series["busy"])) if len(found.series["busy"]) else math.nan
    return application_metrics(
        sessions={fate.value: number for fate, number in found.sessions.items()},
        response_s=found.response_s,
        per_second=per_second,
        more={"processors_used": used},
    )


def scenario_of(run: PlatformRun, seed: int) -> PlatformScenario:
    """Return the run as a scenario of the simulator; raises ScenarioError if the run is invalid."""
    return PlatformScenario(
        applications=tuple(
            AppScenario(
                PartlyOpenModel(),
                Schedule.of_rates([RateStep(*step) for step in loads], run.duration_s),
                priority,
                cto_s=run.cto_s,
                ctn_s=run.ctn_s,
            )
            for loads, priority in zip(run.loads, run.priorities, strict=True)
        ),
        seed=seed,
        processors=run.processors,
        provisioning=run.provisioning,
        sharing=run.sharing,
        admission=run.admission,
        duration_s=run.duration_s,
    )


def _simulated(case: Case[PlatformRun], seed: int, log: AttemptLog | None) -> dict[str, Any]:
    found = simulate_platform(scenario_of(case.run, seed))
    return {
        "duration_s": case.run.duration_s,
        "bin_s": BIN_S,
        "applications": [_simulated_application(one) for one in found],
    }


MEASURES = {"applications": _simulated}
"""The measures of simulated cases, by name."""


def throughput_ps(metrics: Metrics) -> float:
    """Return the replies per second of all applications over the whole run."""
    replies = sum(one["replies"] for one in metrics["applications"])
    return float(replies / metrics["duration_s"])


def count(name: str) -> Callable[[Metrics], float]:
    """Return a metric: the number of sessions of all applications with this outcome."""
    return lambda metrics: float(sum(one[name] for one in metrics["applications"]))


def unattended(metrics: Metrics) -> float:
    """Return the number of sessions that were refused or timed out."""
    return count("refused")(metrics) + count("timed_out")(metrics)


def response_p95_s(metrics: Metrics) -> float | None:
    """Return the 95th percentile of the first application's response times, or None if the
    application has none."""
    found: float | None = metrics["applications"][0]["response_p95_s"]
    return found


def processors(metrics: Metrics) -> float:
    """Return the mean number of processors assigned to the first application during the run."""
    return float(metrics["applications"][0]["processors"])


def at(series: str, application: int, i: int) -> Value:
    """Return a metric: the value of an application's series in bin `i`."""

    def value(metrics: Metrics) -> float | None:
        values = metrics["applications"][application]["series"][series]
        return float(values[i]) if i < len(values) else None

    return value


def over(series: str, application: int, zone: Zone) -> Value:
    """Return a metric: the mean of an application's series over a zone."""
    return lambda metrics: mean_over(
        metrics["applications"][application]["series"][series], metrics["bin_s"], zone
    )


def over_both(series: str, zone: Zone) -> Value:
    """Return a metric: the mean of a series over a zone, added up over the applications."""

    def value(metrics: Metrics) -> float | None:
        found = [over(series, i, zone)(metrics) for i in range(len(metrics["applications"]))]
        return None if None in found else sum(one or 0.0 for one in found)

    return value
