"""What is kept of a run of the hosting platform: counts, and means over bins of time.

Owns: reading them off a finished simulation, the form that live runs give too.
Must not know: figures, how a run is made.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.experiments.reproduction.edragon_cases import PlatformCase
from simulator.hosting import simulate_platform
from simulator.hosting_result import AppResult

BIN_S = 30.0
"""Divides the zones' edges; the assignment changes every 2 s."""


def simulate_platform_case(task: Mapping[str, Any]) -> dict[str, Any]:
    """Simulate `task["case"]` with `task["seed"]`; its metrics, as `edragon_values` reads them."""
    case = PlatformCase.from_json(task["case"])
    result = simulate_platform(case.scenario(task["seed"]))
    return {
        "duration_s": case.duration_s,
        "bin_s": BIN_S,
        "applications": [_application(one) for one in result.applications],
    }


def application_metrics(
    *,
    sessions: Mapping[str, int],
    response_s: npt.NDArray[np.float64],
    per_second: Mapping[str, npt.NDArray[np.float64]],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """One application's part.

    `sessions` by fate; `per_second` has a value for each second of the run: `sessions` and
    `replies` (counts), `processors`.
    """
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
    """Means over bins of BIN_S seconds, the last one over what there is of it."""
    values = np.asarray(per_second, dtype=float)
    width = round(BIN_S)
    starts = range(0, len(values), width)
    return [round(float(np.mean(values[start : start + width])), 6) for start in starts]


def _application(found: AppResult) -> dict[str, Any]:
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
