"""How many requests per paper second the shop can serve: what ρ and the bound rest on.

Owns: the measurement (closed loop with the chain's mix, all workers in service, median of three),
keeping it with its date, and refusing it when the machine has changed.
Must not know: policies other than the single queue it measures through.
"""

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.experiments.appliance import Appliance
from lab.experiments.customers import run_customers
from lab.experiments.errors import ExperimentError
from lab.experiments.machine import fingerprint
from lab.experiments.results import read_json, write_json
from loadgen.attempts import read_metadata
from runtime.settings import Settings

REPETITIONS = 3
DURATION_S = 150.0
"""Paper seconds of each measurement."""
WARM_UP_S = 30.0
"""Paper seconds left out before it, until all workers are busy with the chain's mix."""
SPARE_CUSTOMERS = 6
"""More customers than workers, so that somebody always waits and every worker is in service."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """A measured capacity and what it holds for."""

    median_rps: float
    measurements_rps: tuple[float, ...]
    page_profile: str
    time_scale: float
    machine: str
    measured_at: str


def expected_real_s(time_scale: float) -> float:
    """About how long `measure` takes: three measurements, each with a start of a few seconds."""
    return REPETITIONS * ((WARM_UP_S + DURATION_S) / time_scale + 2.0)


def measure(
    appliance: Appliance,
    *,
    page_profile: str,
    time_scale: float,
    seed: int,
    on_progress: Callable[[str], None],
) -> Capacity:
    """Measure now, in about 3 × (WARM_UP_S + DURATION_S) / time_scale real seconds.

    The caller holds the machine's lock. Raises ExperimentError.
    """
    found = []
    for repetition in range(REPETITIONS):
        appliance.prepare(
            policy="sq",
            parameters={},
            profile=page_profile,
            time_scale=time_scale,
            utilisation_interval_s=1.0,
            seed=seed + repetition,
        )
        found.append(_measure_once(appliance, time_scale, seed + repetition))
        on_progress(
            f"  {repetition + 1} of {REPETITIONS}: {found[-1]:.2f} requests per paper second"
        )
    return Capacity(
        median_rps=statistics.median(found),
        measurements_rps=tuple(found),
        page_profile=page_profile,
        time_scale=time_scale,
        machine=fingerprint(appliance.lab),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _measure_once(appliance: Appliance, time_scale: float, seed: int) -> float:
    with tempfile.TemporaryDirectory(prefix="doorbuster-capacity-") as folder:
        attempts_file = Path(folder) / "attempts.parquet"
        run_customers(
            appliance,
            {
                "closed-loop-customers": appliance.lab.shop_workers + SPARE_CUSTOMERS,
                "closed-loop-duration": DURATION_S,
                "closed-loop-warm-up": WARM_UP_S,
                "time-scale": time_scale,
                "seed": seed,
                "attempts-file": attempts_file,
            },
            Path(folder) / "loadgen.log",
            lambda progress: None,
        )
        found = read_metadata(attempts_file)["closed_loop"]
    completed, failed = found["completed"], found["not_completed"]
    if completed == 0 or failed > 0.01 * completed:
        raise ExperimentError(
            f"Capacity cannot be measured: {completed} requests completed, {failed} did not. "
            "`make logs` shows the shop's and the gateway's logs."
        )
    return float(found["capacity_rps"])


def keep(capacity: Capacity, lab: Settings) -> Path:
    """Write it beside the appliance's state; returns the file."""
    path = _file(lab, capacity.page_profile, capacity.time_scale)
    write_json(path, asdict(capacity))
    return path


def kept(lab: Settings, *, page_profile: str, time_scale: float) -> Capacity:
    """The capacity measured last; raises ExperimentError without one, or on another machine."""
    path = _file(lab, page_profile, time_scale)
    if not path.is_file():
        raise ExperimentError(
            f"No capacity measured yet for profile {page_profile} at time scale {time_scale:g}; "
            "`make capacity` measures it."
        )
    capacity = from_json(read_json(path))
    if capacity.machine != fingerprint(lab):
        raise ExperimentError(
            f"The capacity of {capacity.measured_at} was measured before this machine changed "
            "(CPUs, kernel, memory, Python or workers); `make capacity` measures it again."
        )
    return capacity


def from_json(content: dict[str, object]) -> Capacity:
    """The capacity in a JSON file; raises ExperimentError when it is something else."""
    try:
        capacity = Capacity(**content)  # type: ignore[arg-type]
    except TypeError as fault:
        raise ExperimentError(f"capacity file: {fault}") from None
    return capacity


def _file(lab: Settings, page_profile: str, time_scale: float) -> Path:
    return lab.state_dir / f"capacity-{page_profile}-{time_scale:g}.json"
