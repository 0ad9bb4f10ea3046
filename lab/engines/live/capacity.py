"""The measurement of the shop's capacity in requests per paper second.

Each measurement is a closed loop that requests the customers' mix of pages through a single queue.
The capacity is the median of three measurements with all workers busy. A fourth measurement has
only FEW_CUSTOMERS customers.
"""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from lab.engines.capacity import FEW_CUSTOMERS, Capacity, lengths_words
from lab.engines.live.appliance import Appliance
from lab.engines.load_generators import LoadGenerator, distributed_options, run_loads
from lab.errors import ExperimentError
from lab.machine.description import fingerprint
from lab.spec.experiment import Spec
from loadgen.plan import ClosedLoop, LoadPlan
from loadgen.records.attempt_log import read_metadata
from loadgen.workload.sessions import SessionModel

REPETITIONS = 3
"""The number of measurements with all workers busy."""
MEASUREMENTS = REPETITIONS + 1
DURATION_S = 150.0
"""The duration of each measurement after the warm-up, in paper seconds."""
WARM_UP_S = 30.0
"""The warm-up of each measurement, in paper seconds. After the warm-up, all workers are busy with
the mix of pages.
"""
SPARE_CUSTOMERS = 6
"""The number of customers in excess of the workers, so that a request always waits and every worker
is busy.
"""


def expected_real_s(time_scale: float) -> float:
    """Return the approximate duration of `measure` in real seconds, including the starts of the
    load generators.
    """
    return MEASUREMENTS * ((WARM_UP_S + DURATION_S) / time_scale + 2.0)


def measure(
    shops: Sequence[Appliance], spec: Spec, *, on_progress: Callable[[str], None]
) -> Capacity:
    """Measure the capacity for the customers and the page work of `spec`.

    Several shops are measured at the same time, so that their effects on each other are included.
    `expected_real_s` predicts the duration of the call. The caller holds the machine's lock and has
    prepared catalogue and database. Raises ExperimentError if a measurement fails.
    """
    found: list[list[float]] = []
    for repetition in range(MEASUREMENTS):
        is_few = repetition == REPETITIONS
        seed = spec.seed + repetition
        for shop in shops:
            shop.prepare(
                policy={"name": "sq", "parameters": {}},
                profile=spec.page_profile,
                time_scale=spec.time_scale,
                utilisation_interval_s=1.0,
                seed=seed,
            )
        customers = FEW_CUSTOMERS if is_few else shops[0].lab.shop_workers + SPARE_CUSTOMERS
        found.append(_measure_once(shops, spec, seed, customers))
        each = ", ".join(f"{rps:.2f}" for rps in found[-1])
        on_progress(
            f"  {repetition + 1} of {MEASUREMENTS}: {each} requests per paper second"
            + (f" with {FEW_CUSTOMERS} customers" if is_few else "")
        )
    *found, few = found
    every = tuple(rps for once in found for rps in once)
    return Capacity(
        median_rps=statistics.median(every),
        measurements_rps=every,
        page_profile=spec.page_profile,
        time_scale=spec.time_scale,
        machine=fingerprint(shops[0].lab),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        lengths=lengths_words(spec.customers.lengths),
        catalogue_books=spec.catalogue_books,
        database_cpus=spec.database_cpus,
        shops_rps=tuple(map(statistics.median, zip(*found, strict=True))) if len(shops) > 1 else (),
        few_rps=tuple(few),
    )


def _measure_once(shops: Sequence[Appliance], spec: Spec, seed: int, customers: int) -> list[float]:
    plan = LoadPlan(
        load=ClosedLoop(
            model=SessionModel(lengths=spec.customers.as_model().lengths),
            customers=customers,
            duration_s=DURATION_S,
            warm_up_s=WARM_UP_S,
        ),
        time_scale=spec.time_scale,
        seed=seed,
    )
    with tempfile.TemporaryDirectory(prefix="doorbuster-capacity-") as folder:
        files = [Path(folder) / f"attempts-{number}.parquet" for number in range(len(shops))]
        run_loads(
            [
                LoadGenerator(
                    shop.url,
                    plan.with_(attempts_file=file),
                    file.with_suffix(".log"),
                    lambda progress: None,
                    distributed_options(shop.lab),
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
            f"The capacity cannot be measured: {completed} requests completed and {failed} failed, "
            "but at most 1 % may fail. `make logs` shows the logs of the shop and the gateway."
        )
    return float(found["capacity_rps"])
