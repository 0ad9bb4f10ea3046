"""Faults that a user caused during a run, read from the shop's status."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

SLOW_DATABASE: Final = "slow-database"
NAMES: Final = (SLOW_DATABASE,)
_WORDS: Final = {SLOW_DATABASE: "the database was slow"}


@dataclass(slots=True)
class Fault:
    """A fault, with the time of the last sample before the fault and of the first sample after the
    fault."""

    name: str
    from_s: float
    until_s: float | None = None
    """The end of the fault, paper seconds of the run; None while the fault lasts."""

    def words(self) -> str:
        """Return a description of the fault for users."""
        until = "the end" if self.until_s is None else f"{self.until_s:.0f} s"
        return f"{_WORDS.get(self.name, self.name)} from {self.from_s:.0f} s to {until}"


class Faults:
    """A recorder of the faults in a series of the gateway's snapshots."""

    def __init__(self) -> None:
        self.found: list[Fault] = []
        self.ends: list[Fault] = []
        """The faults that have ended, in the order of their ends."""
        self._time_s = 0.0
        self._times: int | None = None

    def looked(self, time_s: float, snapshot: Mapping[str, Any]) -> None:
        """Process the snapshot that was taken at `time_s`, paper seconds of the run."""
        status = (snapshot.get("load") or {}).get("status") or {}
        if (slow := status.get("slow_database")) is not None:
            before = slow["times"] if self._times is None else self._times
            current = self._current()
            if current is None and (slow["left_s"] > 0 or slow["times"] > before):
                current = Fault(SLOW_DATABASE, self._time_s)
                self.found.append(current)
            if current is not None and slow["left_s"] <= 0:
                current.until_s = time_s
                self.ends.append(current)
            self._times = slow["times"]
        self._time_s = time_s

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the faults in the form of run.json."""
        return [asdict(one) for one in self.found]

    def _current(self) -> Fault | None:
        return self.found[-1] if self.found and self.found[-1].until_s is None else None


def words(faults: list[Mapping[str, Any]]) -> str:
    """Return a line of text about the faults in a run.json."""
    return "; ".join(Fault(**one).words() for one in faults)
