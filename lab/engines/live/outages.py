"""Outages of PostgreSQL and Redis during a run, read from the shop's counts of failed requests.

If a shop or a gateway dies, the run ends instead (`sampling.Age`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

TITLES = {"postgres": "PostgreSQL", "redis": "Redis"}
_ONE_OUTAGE_S = 50.0
"""The longest time between two failed requests of the same outage, in paper seconds."""


@dataclass(slots=True)
class Outage:
    """An outage, with the time of the last sample before its first failed request and of the first
    sample after its last failed request."""

    back_end: str
    from_s: float
    until_s: float
    requests: int

    def words(self) -> str:
        """Return a description of the outage for users."""
        words = [f"{self.requests} requests were answered with status 503"] if self.requests else []
        if self.back_end == "redis":
            words += ["the shop read its sessions from PostgreSQL until Redis was available again"]
        return (
            f"{TITLES[self.back_end]} was unavailable from {self.from_s:.0f} s to "
            f"{self.until_s:.0f} s: " + ", and ".join(words)
        )


class Outages:
    """A recorder of the outages in a series of the gateway's snapshots."""

    def __init__(self) -> None:
        self.found: list[Outage] = []
        self._time_s = 0.0
        self._lost: Mapping[str, int] | None = None
        self._redis_away: int | None = None

    def looked(self, time_s: float, snapshot: Mapping[str, Any]) -> None:
        """Process the snapshot that was taken at `time_s`, paper seconds of the run."""
        status = (snapshot.get("load") or {}).get("status") or {}
        lost = status.get("lost_to")
        if lost is not None:
            before = self._lost or lost
            for back_end in TITLES:
                if (requests := lost[back_end] - before[back_end]) > 0:
                    self._cost(back_end, time_s, requests)
            self._lost = lost
            forgotten = status.get("redis_away", 0)
            if self._redis_away is not None and forgotten > self._redis_away:
                self._cost("redis", time_s, 0)  # available again before a request failed
            self._redis_away = forgotten
        self._time_s = time_s

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the outages in the form of run.json."""
        return [asdict(one) for one in self.found]

    def _cost(self, back_end: str, time_s: float, requests: int) -> None:
        last = next((one for one in reversed(self.found) if one.back_end == back_end), None)
        if last is None or time_s - last.until_s > _ONE_OUTAGE_S:
            self.found.append(Outage(back_end, self._time_s, time_s, requests))
        else:
            last.until_s = time_s
            last.requests += requests


def words(outages: list[Mapping[str, Any]]) -> str:
    """Return a line of text about the outages in a run.json."""
    return "; ".join(Outage(**one).words() for one in outages)
