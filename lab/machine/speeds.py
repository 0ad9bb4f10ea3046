"""Store the cost of each kind of work on this machine in CPU seconds, to predict durations.

Examples of kinds are `run shared-cpus sq` and `draw comparison`. Experiments add their measurements
to `speeds.json` in the state folder. If a kind was never measured on this machine, its cost is the
reference machine's cost times a factor. A calibration of less than a second
(`estimates.calibrated`) measures this factor.
"""

import contextlib
import hashlib
import json
import math
import platform
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from common import locks, private_file
from lab.machine.description import describe_machine
from runtime.settings import Settings
from runtime.state import State, StateError

SHIPPED = Path(__file__).with_name("speeds.json")
FILE = "speeds.json"
"""The file in the state folder with the measurements of this machine."""
KEPT = 5
"""The number of measurements that are kept of each kind of work; their median is the cost."""
FURTHEST = 4.0
"""The largest allowed factor between a cost and the value expected from the reference machine.

With this limit, a wrong measurement cannot make a launch seem far cheaper than it is. Students'
limits depend on the costs (`lab.console.site.allowances`).
"""
FURTHEST_FACTOR = 10.0
"""The largest allowed factor between the speeds of this machine and the reference machine."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """The costs on the reference machine."""

    machine: str
    date: str
    calibration_cpu_s: float
    costs: Mapping[str, float]
    work: Mapping[str, Mapping[str, float]]
    """The amount of each kind of work, for commands without a spec."""


@cache
def shipped() -> Shipped:
    """Return the reference costs that come with Doorbuster."""
    return Shipped(**json.loads(SHIPPED.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Speeds:
    """The cost of each kind of work on this machine."""

    factor: float = 1.0
    """The factor by which this machine is slower than the reference machine."""
    measured: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The most recent measurements of each kind on this machine, beginning with the oldest."""
    is_calibrated: bool = False

    def cost(self, *kinds: str) -> float | None:
        """Return the CPU seconds (`live …`: real seconds) for one unit of the first kind with a
        known cost; None if no cost is known. `kinds` begins with the most exact kind and ends with
        the most general."""
        known = (self._reference(kind) for kind in kinds)
        reference = next((one for one in known if one is not None), None)
        for kind in kinds:
            if found := self.measured.get(kind):
                return _within(statistics.median(found), reference, FURTHEST)
            if (expected := self._reference(kind)) is not None:
                return expected
        return None

    def _reference(self, kind: str) -> float | None:
        known = shipped().costs.get(kind)
        if known is None:
            return None
        # `live …` is real time, which passes equally fast on every machine.
        return known if kind.startswith("live ") else known * self.factor


def _within(value: float, reference: float | None, furthest: float) -> float:
    if reference is None:
        return value
    return min(max(value, reference / furthest), reference * furthest)


_read: dict[object, tuple[tuple[int, int], Speeds]] = {}


def load(lab: Settings) -> Speeds:
    """Return the costs of work on this machine; before any measurement, return the costs of the
    reference machine.
    """
    path = lab.state_dir / FILE
    try:
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_ino)
        here = (path, lab.shop_cpus, lab.other_cpus, lab.shop_workers)
        if here not in _read or _read[here][0] != stamp:
            _read[here] = (stamp, _parsed(path.read_text(encoding="utf-8"), lab))
        return _read[here][1]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Speeds()  # missing or damaged: the next command writes it again


def _parsed(text: str, lab: Settings) -> Speeds:
    content = json.loads(text)
    if content["machine"] != _machine(lab):
        return Speeds()  # another machine, or this one before a change
    calibration = content.get("calibration_cpu_s")
    factor = 1.0
    if _is_positive(calibration):
        ratio = calibration / shipped().calibration_cpu_s
        factor = min(max(ratio, 1 / FURTHEST_FACTOR), FURTHEST_FACTOR)
    measured = {
        str(kind): tuple(value for value in values if _is_positive(value))[-KEPT:]
        for kind, values in content["costs"].items()
    }
    return Speeds(factor, measured, _is_positive(calibration))


def _machine(lab: Settings) -> str:
    """Return a text that changes when the machine or Python changes, because costs are then
    invalid. A change of the code hardly changes the costs, so they stay valid."""
    facts = {**describe_machine(lab), "python": platform.python_version()}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0


def keep(lab: Settings, costs: Mapping[str, float], calibration_cpu_s: float | None = None) -> None:
    """Add a measurement for each of these kinds of work, if the file can be written."""
    path = lab.state_dir / FILE
    state = State(lab.state_dir)
    if state.is_somebodys:
        return
    with contextlib.suppress(OSError, StateError):
        if not state.is_ours:
            state.make()  # as `make up` does
        with locks.locked(path.with_name(f".{FILE}.lock"), waits=True):
            known = load(lab)
            content: dict[str, Any] = {"machine": _machine(lab)}
            calibrated = known.factor * shipped().calibration_cpu_s if known.is_calibrated else None
            content["calibration_cpu_s"] = calibration_cpu_s or calibrated
            every = {kind: list(values) for kind, values in known.measured.items()}
            for kind, cost in costs.items():
                if _is_positive(cost):
                    every[kind] = [*every.get(kind, []), cost][-KEPT:]
            content["costs"] = every
            private_file.write(path, (json.dumps(content, indent=1) + "\n").encode())


def per_unit(measured: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    """Return the CPU seconds per unit of each kind, calculated from (kind, size, CPU seconds)."""
    sizes: dict[str, float] = {}
    costs: dict[str, float] = {}
    for kind, size, cpu_s in measured:
        sizes[kind] = sizes.get(kind, 0.0) + size
        costs[kind] = costs.get(kind, 0.0) + cpu_s
    return {kind: costs[kind] / size for kind, size in sizes.items() if size > 0}
