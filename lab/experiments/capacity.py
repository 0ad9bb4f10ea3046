"""How many requests per paper second the server can serve: what ρ and the bound rest on.

Owns: the shop's measurement (closed loop with the customers' mix of pages, all workers in service,
median of three), keeping it with its date, and refusing it when the machine has changed; what
follows for a simulated server from its description.
Must not know: policies other than the single queue it measures through.
"""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from lab.experiments.appliance import Appliance
from lab.experiments.customers import (
    LoadGenerator,
    distributed_options,
    length_options,
    run_loads,
)
from lab.experiments.errors import ExperimentError
from lab.experiments.machine import fingerprint
from lab.experiments.results import ResultFolder, read_json, write_json
from lab.experiments.spec import Spec
from lab.experiments.spec_sections import Lengths
from loadgen.attempts import read_metadata
from runtime.settings import Settings
from simulator.scenario import FifoServer, SharedCpus

REPETITIONS = 3
DURATION_S = 150.0
"""Paper seconds of each measurement."""
WARM_UP_S = 30.0
"""Paper seconds left out before it, until all workers are busy with the chain's mix."""
CHAIN = "chain"
"""Instead of session lengths: the walks of LIFO-Pri's chain."""
SPARE_CUSTOMERS = 6
"""More customers than workers, so that somebody always waits and every worker is in service."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity, measured or computed, and what it holds for."""

    median_rps: float
    measurements_rps: tuple[float, ...]
    page_profile: str
    time_scale: float
    machine: str
    measured_at: str
    lengths: str = CHAIN
    """Whose mix of pages it is."""
    origin: Literal["measured", "computed"] = "measured"
    catalogue_books: int | None = None
    """None: as many as the shop is set to have."""
    database_cpus: str = "other"
    shops_rps: tuple[float, ...] = ()
    """Of several shops at once the median of each; the capacity is the median of all."""

    def words(self) -> str:
        """For people: the figure and where it comes from."""
        known = (
            f"{self.origin.capitalize()} capacity {self.median_rps:.2f} requests per paper second"
        )
        return f"{known} ({self.measured_at})" if self.origin == "measured" else known


def expected_real_s(time_scale: float) -> float:
    """About how long `measure` takes: three measurements, each with a start of a few seconds."""
    return REPETITIONS * ((WARM_UP_S + DURATION_S) / time_scale + 2.0)


def measure(
    shops: Sequence[Appliance], spec: Spec, *, on_progress: Callable[[str], None]
) -> Capacity:
    """Measure now for the customers and the page work of `spec`.

    Several shops at the same time, as they will run: what they take from each other is then in it.
    In about 3 × (WARM_UP_S + DURATION_S) / time_scale real seconds. The caller holds the machine's
    lock and has seen to catalogue and database. Raises ExperimentError.
    """
    found: list[list[float]] = []
    for repetition in range(REPETITIONS):
        seed = spec.seed + repetition
        for shop in shops:
            shop.prepare(
                policy={"name": "sq", "parameters": {}},
                profile=spec.page_profile,
                time_scale=spec.time_scale,
                utilisation_interval_s=1.0,
                seed=seed,
            )
        found.append(_measure_once(shops, spec.customers.lengths, spec.time_scale, seed))
        each = ", ".join(f"{rps:.2f}" for rps in found[-1])
        on_progress(f"  {repetition + 1} of {REPETITIONS}: {each} requests per paper second")
    every = tuple(rps for once in found for rps in once)
    return Capacity(
        median_rps=statistics.median(every),
        measurements_rps=every,
        page_profile=spec.page_profile,
        time_scale=spec.time_scale,
        machine=fingerprint(shops[0].lab),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        lengths=_words(spec.customers.lengths),
        catalogue_books=spec.catalogue_books,
        database_cpus=spec.database_cpus,
        shops_rps=tuple(map(statistics.median, zip(*found, strict=True))) if len(shops) > 1 else (),
    )


def computed(spec: Spec, server: SharedCpus | FifoServer) -> Capacity:
    """What the simulated server of `spec` can serve.

    Of shared CPUs: cpus / (busy_ratio × mean execution time of the customers' mix of pages), but
    no more than the workers get through when the CPUs are free; of a FIFO server what it is given.
    """
    if isinstance(server, SharedCpus):
        mean_s = spec.customers.as_model().mean_execution_s(server.mean_execution_s)
        rps = min(server.cpus / (server.busy_ratio * mean_s), server.workers / mean_s)
    else:
        rps = server.capacity_rps
    return Capacity(
        median_rps=rps,
        measurements_rps=(),
        page_profile="files" if spec.has_fifo_server else spec.page_profile,
        time_scale=1.0,
        machine="simulated",
        measured_at="",
        lengths=_words(spec.customers.lengths),
        origin="computed",
    )


def _words(lengths: Lengths | None) -> str:
    return lengths.words() if lengths else CHAIN


def _measure_once(
    shops: Sequence[Appliance], lengths: Lengths | None, time_scale: float, seed: int
) -> list[float]:
    """What each shop serves a paper second."""
    with tempfile.TemporaryDirectory(prefix="doorbuster-capacity-") as folder:
        files = [Path(folder) / f"attempts-{number}.parquet" for number in range(len(shops))]
        run_loads(
            [
                LoadGenerator(
                    shop.url,
                    {
                        "closed-loop-customers": shop.lab.shop_workers + SPARE_CUSTOMERS,
                        "closed-loop-duration": DURATION_S,
                        "closed-loop-warm-up": WARM_UP_S,
                        "time-scale": time_scale,
                        "seed": seed,
                        **length_options(lengths),
                        "attempts-file": file,
                        **distributed_options(shop.lab),
                    },
                    file.with_suffix(".log"),
                    lambda progress: None,
                )
                for shop, file in zip(shops, files, strict=True)
            ],
            shops[0].lab.other_cpus,
        )
        return [_served_rps(file) for file in files]


def _served_rps(attempts_file: Path) -> float:
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
    special = "" if capacity.catalogue_books is None else f"{capacity.catalogue_books}-books-"
    special += "database-beside-shop-" if capacity.database_cpus == "shop" else ""
    path = _file(lab, capacity.page_profile, capacity.lengths, capacity.time_scale, special)
    write_json(path, asdict(capacity))
    return path


def kept(
    lab: Settings, *, page_profile: str, time_scale: float, lengths: Lengths | None = None
) -> Capacity:
    """The capacity measured last; raises ExperimentError without one, or on another machine."""
    path = _file(lab, page_profile, _words(lengths), time_scale)
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


def facts_of(capacity: Capacity | None) -> dict[str, object]:
    """What capacity.json of a result folder says; of a closed loop (None) why there is none."""
    if capacity is None:
        return {"origin": "none", "reason": "clients in a closed loop offer no ρ"}
    return asdict(capacity)


def of_result(folder: ResultFolder) -> Capacity | None:
    """What the runs of a folder rest on; None in a closed loop. Raises ExperimentError."""
    return None if folder.spec().clients else from_json(folder.facts("capacity"))


def from_json(content: dict[str, object]) -> Capacity:
    """The capacity in a JSON file; raises ExperimentError when it is something else."""
    try:
        capacity = Capacity(**content)  # type: ignore[arg-type]
    except TypeError as fault:
        raise ExperimentError(f"capacity file: {fault}") from None
    return capacity


def _file(
    lab: Settings, page_profile: str, lengths: str, time_scale: float, special: str = ""
) -> Path:
    whose = "" if lengths == CHAIN else f"{lengths}-"
    return lab.state_dir / f"capacity-{page_profile}-{whose}{special}{time_scale:g}.json"
