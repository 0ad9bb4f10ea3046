"""The wasted work of a live or simulated run, as the block `waste` in run.json.

All seconds are paper seconds.

- `server_cpu_s`: all CPU time of the server.
- `wasted_…`: work after the customer had left, which cancelling can save.
- `kept_…`: work after the customer had left, on requests that had to finish.
- `unanswered_…`: work before the customer left, on requests that never got an answer.
- `disconnects`: requests in service whose customers left. The server stopped some of these requests
  (`interrupted`) and finished the others (`finished`).
- `cancels_…`: attempts to cancel a running database query.
- `withdrawn`: requests taken out of a queue.
"""

from collections.abc import Mapping
from typing import Any

from simulator.result import Simulated

Waste = dict[str, float | int | None]

_SECONDS = (
    "wasted_cpu_s",
    "wasted_database_s",
    "kept_cpu_s",
    "kept_database_s",
    "unanswered_cpu_s",
    "unanswered_database_s",
)
_REQUESTS = ("disconnects", "interrupted", "finished")
_CANCELS = ("cancels_attempted", "cancels_effective", "cancels_too_late", "cancels_failed")


def of_appliance(before: Mapping[str, Any], after: Mapping[str, Any], time_scale: float) -> Waste:
    """Return the wasted work between two calls of `Appliance.counts`."""
    then, now = before["shop"], after["shop"]
    metered = {name: now["sentry"][name] - then["sentry"][name] for name in now["sentry"]}
    return {
        "server_cpu_s": time_scale * (now["cpu_s"] - then["cpu_s"]),
        **{name: time_scale * metered[name] for name in _SECONDS},
        **{name: metered[name] for name in (*_REQUESTS, *_CANCELS)},
        "withdrawn": after["abandonment"]["withdrawn"] - before["abandonment"]["withdrawn"],
    }


def of_simulation(simulated: Simulated) -> Waste:
    """Return the wasted work of a simulation. The values of the database are None, because a
    simulation has no database.
    """
    return {
        "server_cpu_s": simulated.busy_s,
        **dict.fromkeys((*_SECONDS, *_CANCELS)),
        "wasted_cpu_s": simulated.wasted_busy_s,
        "kept_cpu_s": 0.0,
        "unanswered_cpu_s": simulated.unanswered_busy_s,
        "disconnects": simulated.disconnects,
        "interrupted": simulated.cancelled,
        "finished": simulated.disconnects - simulated.cancelled,
        "withdrawn": sum(fates["withdrawn"] for fates in simulated.counts.values()),
    }
