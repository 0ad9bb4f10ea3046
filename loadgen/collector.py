"""The results of a run, collected from all its processes: measurements, metadata and files."""

import platform
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from loadgen.plan import ClosedLoop, LoadPlan, Part, PartlyOpen
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import AttemptOutcome
from loadgen.records.connection_log import ConnectionKind, ConnectionLog, connections_file
from loadgen.records.rows import RowLog
from loadgen.schedule import Lag
from loadgen.tally import Tally, add_up

_VERSIONS_OF = ("doorbuster", "locust", "gevent", "httptools", "pyarrow")


@dataclass(slots=True)
class WorkerPart:
    name: str
    counts: dict[str, Any]
    done: bool = False
    """True if the worker has finished or was stopped, so that all its measurements have arrived."""
    lost: bool = False


@dataclass(slots=True)
class Collector:
    """The attempts of one run, and the counts of each worker, by the index of its part."""

    plan: LoadPlan
    host: str
    parts: dict[int, WorkerPart]
    log: AttemptLog = field(default_factory=AttemptLog)
    connections: ConnectionLog = field(default_factory=ConnectionLog)
    started_at: float = field(default_factory=time.time)
    interrupted: bool = False

    @classmethod
    def expecting(cls, plan: LoadPlan, host: str, names: Sequence[str]) -> "Collector":
        """Create a collector for the workers with these names, in the order of their parts."""
        parts = {}
        for index, name in enumerate(names):
            parts[index] = WorkerPart(name, _nothing_yet(plan, index, len(names)))
        return cls(plan, host, parts)

    def begin(self) -> None:
        self.started_at = time.time()

    def add(
        self,
        index: int,
        rows: Mapping[str, Sequence[Sequence[Any]]],
        counts: Mapping[str, Any],
        done: bool,
    ) -> None:
        """Add a part's new rows, as `LoadRun.new_rows` returns them, and its latest counts."""
        part = self.parts[index]
        self.log.extend_columns(rows["attempts"])
        self.connections.extend_columns(rows["connections"])
        part.counts = dict(counts)
        part.done = done

    def files(self) -> list[tuple[Path, RowLog]]:
        """Return the files to write and their rows. The file of attempts is last, so that its
        existence means that all files are written.
        """
        path = self.plan.attempts_file
        if path is None:
            return []
        if not isinstance(self.plan.load, PartlyOpen):
            return [(path, self.log)]
        return [(connections_file(path), self.connections), (path, self.log)]

    def remove_stale(self) -> None:
        """Remove the files of an earlier run, so that no user takes them for files of this run.

        An error is ignored: if the folder cannot be written, the attempt to write the new files
        reports this.
        """
        path = self.plan.attempts_file
        for stale in [] if path is None else [path, connections_file(path)]:
            with suppress(OSError):
                stale.unlink()

    def settled(self) -> bool:
        """Return True if no part will send another report."""
        return all(part.done or part.lost for part in self.parts.values())

    def counts(self) -> dict[str, Any]:
        return add_up(part.counts for part in self.parts.values())

    def time_s(self) -> float:
        """Return the paper seconds since the run started, by this process's clock."""
        return (time.time() - self.started_at) * self.plan.time_scale

    def metadata(self) -> dict[str, Any]:
        """Return the run's settings, counts, delays and versions, ready for JSON."""
        plan = self.plan
        counts = self.counts()
        lost = [part.name for part in self.parts.values() if part.lost]
        found: dict[str, Any] = {
            "host": self.host,
            "seed": plan.seed,
            **plan.facts(),
            "arrivals_until_s": plan.load.arrivals_until_s,
            "time_scale": plan.time_scale,
            "started_at": self.started_at,
            "ended_at": time.time(),
            "interrupted": self.interrupted,
            "complete": not (self.interrupted or lost or counts["broken"]) and self._all_ended(),
            "counts": {
                name: counts[name] for name in counts if name not in ("behind_s", "load_changes")
            },
            "load_changes": counts["load_changes"],
            "schedule": _schedule(counts, plan.late_tolerance_s),
            "workers": [
                {
                    "index": index,
                    "of": len(self.parts),
                    "name": part.name,
                    "lost": part.lost,
                    "sessions_planned": part.counts["planned"],
                    "sessions_started": part.counts["started"],
                    "sessions_ended": part.counts["ended"],
                    "schedule": _schedule(part.counts, plan.late_tolerance_s),
                }
                for index, part in self.parts.items()
            ],
            "versions": {"python": platform.python_version()}
            | {name: version(name) for name in _VERSIONS_OF},
        }
        if isinstance(plan.load, ClosedLoop):
            found["closed_loop"] = self._capacity(plan.load)
        if isinstance(plan.load, PartlyOpen):
            kinds = Counter(self.connections.column("kind"))
            found["connections"] = {kind.value: kinds[kind.value] for kind in ConnectionKind}
        return found

    def _all_ended(self) -> bool:
        """Return whether every planned session has ended; True for a closed loop, which ends at a
        fixed time.
        """
        counts = self.counts()
        return isinstance(self.plan.load, ClosedLoop) or counts["ended"] == counts["planned"]

    def _capacity(self, closed: ClosedLoop) -> dict[str, Any]:
        first, last = closed.warm_up_s, closed.warm_up_s + closed.duration_s
        ended = self.log.outcomes_between(first, last)
        completed = ended[AttemptOutcome.COMPLETED.value]
        return {
            "customers": closed.customers,
            "duration_s": closed.duration_s,
            "warm_up_s": closed.warm_up_s,
            "completed": completed,
            "not_completed": ended.total() - completed,
            "capacity_rps": completed / closed.duration_s,
        }


def _nothing_yet(plan: LoadPlan, index: int, of: int) -> dict[str, Any]:
    return Tally(Part(index, of).count(plan.planned), Lag(plan.late_tolerance_s)).as_counts()


def _schedule(counts: Mapping[str, Any], tolerance_s: float) -> dict[str, Any]:
    attempts = counts["attempts"]
    return {
        "late_tolerance_s": tolerance_s,
        "late_attempts": counts["late_attempts"],
        "late_share": counts["late_attempts"] / attempts if attempts else 0.0,
        "max_behind_s": counts["max_behind_s"],
    }
