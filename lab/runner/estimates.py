"""Estimate the duration of an experiment, including the drawing of its figures, if this machine
does no other work.

The console and the command line use the same estimates.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from common import cpus
from common.page_types import CAPACITY_RPS
from lab.engines import capacity
from lab.engines.live.capacity import expected_real_s
from lab.machine import speeds
from lab.machine.speeds import Speeds
from lab.runner.expectation import Expectation
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.spec.sections import PolicyChoice
from lab.wording import duration
from runtime.settings import Settings

RUN_CPU_S = 0.02
"""The CPU seconds that the reference machine needs to write the files of a simulated run."""
DRAWN = 8.0
"""The fixed cost of drawing a comparison, as the number of cells that cost the same to draw. A cell
is a policy at a load.
"""
IDLE = "on this machine when nothing else runs"
_CALIBRATION_SESSIONS = 1000
_CALIBRATIONS = 3
"""The number of calibrations. The fastest calibration counts, because other programs can only make
a calibration slower.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The parts of a launch's expected duration."""

    live_s: float = 0.0
    """The real seconds of the live runs and of the capacity measurement."""
    serial_s: float = 0.0
    """The CPU seconds of the work that uses one processor: the start, reading results, drawing."""
    parallel_s: float = 0.0
    """The CPU seconds of the work that is spread over `processes` processors."""
    processes: int = 1
    first_s: float = 0.0
    """The part of `serial_s` before the first run."""
    capacity_s: float = 0.0
    """The part of `live_s` for the capacity measurement."""

    @property
    def real_s(self) -> float:
        """The expected duration in real seconds on a machine without other work."""
        return self.live_s + self.serial_s + self.parallel_s / self.processes

    @property
    def capacity_ratio(self) -> float:
        """The progress (0 to 1) at the end of the capacity measurement."""
        return (self.first_s + self.capacity_s) / self.real_s

    @property
    def words(self) -> str:
        """The expected duration as text: `about 3 min`."""
        return f"about {duration(self.real_s)}"

    @property
    def stages(self) -> tuple[float, float]:
        """The progress (0 to 1) at the start of the first run and at the end of the last run."""
        runs_s = self.live_s + self.parallel_s / self.processes
        return self.first_s / self.real_s, (self.first_s + runs_s) / self.real_s


def cpus_here() -> int:
    """Return the number of processors that this process may use."""
    return len(cpus.here())


def of_spec(
    spec: Spec,
    capacity_rps: float | None,
    known: Speeds,
    *,
    processes: int,
    left_ratio: float = 1.0,
    measures_capacity: bool = False,
) -> Estimate:
    """Return the expected duration of a spec, or of the share `left_ratio` of its runs, on
    `processes` processors. `capacity_rps` is None in a closed loop."""
    expected = Expectation(spec, capacity_rps)
    first_s = _cost(known, "start")
    shown_s = _cost(known, "read") * expected.all_requests
    cells = len(spec.policy) * len(spec.load.rhos)
    drawn = "draw leaderboard" if spec.leaderboard else "draw comparison"
    serial_s = first_s + shown_s + _cost(known, drawn) * (DRAWN + cells)
    if spec.engine == "live":
        groups = spec.number_of_runs / (len(spec.policy) if spec.at_once else 1)
        runs_s = left_ratio * (expected.all_real_s + groups * live_run_s(known))
        capacity_s = expected_real_s(spec.time_scale) if measures_capacity else 0.0
        return Estimate(
            live_s=capacity_s + runs_s, serial_s=serial_s, first_s=first_s, capacity_s=capacity_s
        )
    files_s = known.factor * RUN_CPU_S
    each_s = [
        files_s + expected.requests_at(rho) * request_s
        for request_s in (_cost(known, *run_kinds(spec, policy)) for policy in spec.policy)
        for rho in spec.load.rhos
    ]
    runs = max(1, round(left_ratio * spec.number_of_runs))
    processes = min(processes, runs)
    runs_s = left_ratio * spec.repetitions * sum(each_s)
    return Estimate(
        serial_s=serial_s,
        parallel_s=_spread(known, runs_s, max(each_s), processes),
        processes=processes,
        first_s=first_s,
    )


def of_launch(spec: Spec, lab: Settings, *, processes: int) -> Estimate:
    """Return the expected duration of a spec if it is launched now. In an open loop, the duration
    of a live spec includes the capacity measurement if no valid capacity is stored or several shops
    run at the same time.
    """
    capacity_rps, is_measured = None, False
    if not spec.clients:
        is_live = spec.engine == "live"
        known = capacity.kept(lab, spec) if is_live else capacity.computed(spec)
        capacity_rps = known.median_rps if known else CAPACITY_RPS
        is_measured = is_live and (known is None or bool(spec.at_once))
    return of_spec(
        spec,
        capacity_rps,
        speeds.load(lab),
        processes=processes,
        measures_capacity=is_measured,
    )


def live_run_s(known: Speeds) -> float:
    """Return the real seconds of a live run before the first customer and after the last one."""
    return _cost(known, "live run")


def of_work(
    work: Mapping[str, float], report: str, known: Speeds, *, processes: int
) -> Estimate | None:
    """Return the expected duration of a study.

    `work` has the number of requests by kind of case, and `report` is the name of the study's
    report. If the cost of a kind is unknown, the function returns None.
    """
    costs = {kind: known.cost(case_kind(kind)) for kind in work}
    first_s = _cost(known, "start study")
    runs_s = 0.0
    for kind, requests in work.items():
        cost = costs[kind]
        if cost is None:
            return None
        runs_s += requests * cost
    drawn_s = _cost(known, f"draw {report}", "draw study")
    return Estimate(
        serial_s=first_s + drawn_s,
        parallel_s=_spread(known, runs_s, 0.0, processes),
        processes=processes,
        first_s=first_s,
    )


def of_command(arguments: Iterable[str], known: Speeds, *, processes: int) -> Estimate | None:
    """Return the expected duration of an included command without a spec; None if unknown."""
    name = command_name(arguments)
    if (live_s := known.cost(f"live {name}")) is not None:
        return Estimate(live_s=live_s)
    work = speeds.shipped().work.get(name)
    return None if work is None else of_work(work, name, known, processes=processes)


def engine_of_command(arguments: Iterable[str]) -> str:
    """Return the engine, `live` or `simulated`, of an included command that has no spec."""
    is_live = f"live {command_name(arguments)}" in speeds.shipped().costs
    return "live" if is_live else "simulated"


def command_name(arguments: Iterable[str]) -> str:
    """Return the name of a command's report, for example `reproduce-sbac-quick`."""
    return "-".join(word.lstrip("-") for word in arguments)


def run_kinds(spec: Spec, policy: PolicyChoice) -> tuple[str, ...]:
    """Return the kinds of work to which a simulated run belongs, from the most specific to the most
    general kind.

    A student's policy has only the general kind, because another student's file may have the same
    name.
    """
    server = "fifo" if spec.has_fifo_server else "shared-cpus"
    everything = f"run {server}{' clients' if spec.clients else ''}"
    if policy.sha256 is not None:
        return (everything,)
    admission = "" if policy.is_pure_queueing else f"+{policy.admission}"
    return f"{everything} {policy.name}{admission}", everything


def case_kind(kind: str) -> str:
    """Return the kind of work of a study's case."""
    return f"case {kind}"


def _spread(known: Speeds, runs_s: float, longest_s: float, processes: int) -> float:
    """Return the seconds that all processors together need for simulated runs. They include the
    start of each process and the idle time until the last run ends.
    """
    waiting_s = (processes - 1) * longest_s / 2
    return runs_s + processes * _cost(known, "start process") + waiting_s


def _cost(known: Speeds, *kinds: str) -> float:
    found = known.cost(*kinds)
    assert found is not None, kinds  # shipped with the product
    return found


# ---- calibration -----------------------------------------------------------------------------


def calibrated(lab: Settings) -> Speeds:
    """Return the costs of work on this machine; if its speed is unknown, measure it first."""
    found = speeds.load(lab)
    if found.is_calibrated:
        return found
    speeds.keep(lab, {}, calibrate())
    return speeds.load(lab)


def calibrate(clock: Callable[[], float] = time.process_time) -> float:
    """Return the smallest CPU time, in seconds, of three equal small simulations."""
    from lab.engines.simulated.run import scenario_of
    from simulator.simulation import simulate  # slow, and only simulations need it

    spec = Spec.model_validate(
        {
            "engine": "simulated",
            "policy": [{"name": "8q-lifo-pri"}],
            "load": {"rho": [1.4], "sessions": _CALIBRATION_SESSIONS},
        }
    )
    run = ShopRun.of_spec(spec, spec.policy[0].key, 1.4)
    times = []
    for _ in range(_CALIBRATIONS):
        began_s = clock()
        simulate(scenario_of(run, seed=1))
        times.append(clock() - began_s)
    return min(times)
