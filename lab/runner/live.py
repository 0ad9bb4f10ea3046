"""Comparisons on the running appliance."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from hosting import confinement
from lab.analysis.reconciliation import summarise
from lab.baselines import process as proxies
from lab.database.publishing import publishing
from lab.engines import capacity as capacities
from lab.engines.capacity import Capacity
from lab.engines.live import announcement as live_runs
from lab.engines.live import capacity as measuring
from lab.engines.live.appliance import Appliance
from lab.engines.live.run import LiveRun, record_runs
from lab.engines.load_generators import Progress
from lab.errors import ExperimentError
from lab.files.run_summary import RunSummary
from lab.machine import speeds
from lab.machine.description import describe_machine
from lab.machine.lock import live_run_lock
from lab.machine.progress_file import progress_file
from lab.report.terminal import RunProgress, console, verdict
from lab.results.comparison import ComparisonResult
from lab.runner import estimates, side_by_side
from lab.runner.comparison import Comparison, missing_groups
from lab.runner.estimates import Estimate
from lab.runner.expectation import Expectation
from lab.runner.stopwatch import stopwatch
from lab.spec import shop_cpus
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.spec.shop_cpus import ShopCpus
from lab.wording import duration
from runtime import settings
from runtime.native import postgres_cpus


class LiveComparison(Comparison):
    """A live comparison, with consecutive runs on one shop or simultaneous runs on several
    shops.
    """

    same_machine = True

    def __init__(self, spec: Spec, **options: Any) -> None:
        super().__init__(spec, **options)
        self._shops: Sequence[Appliance] = ()
        self._shop_cpus: ShopCpus | None = None
        self._estimate: Estimate | None = None

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Hold the machine's lock and prepare the shops for the spec, until the block ends."""
        spec, lab = self.spec, self.lab
        proxies.check(lab, (policy.gateway for policy in spec.policy))
        if spec.at_once:
            self._shop_cpus = shop_cpus.plan(lab, len(spec.policy), spec.at_once)
        appliance = running_appliance(lab)
        with ExitStack() as stack:
            asked_s = time.monotonic()
            stack.enter_context(live_run_lock())
            stopwatch.waited(time.monotonic() - asked_s)
            if self._shop_cpus is not None:
                shops = side_by_side.shops(lab, spec, self._shop_cpus)
                self._shops = stack.enter_context(shops)
            else:
                appliance.check_knows(spec.policy)
                stack.enter_context(surroundings(appliance, spec))
                self._shops = [appliance]
            stack.enter_context(stopwatch.live())
            # The estimate must precede the capacity measurement, which is a part of it.
            self._estimate = estimates.of_launch(spec, lab, processes=estimates.cpus_here())
            yield

    def machine(self) -> Mapping[str, Any]:
        """Return a description of this machine and, for several shops, of the CPUs of each shop."""
        cpus = self._shop_cpus
        return describe_machine(self.lab) | ({"at_once": cpus.facts()} if cpus else {})

    def capacity(self) -> Capacity:
        """Return the capacity: the stored value if it is valid for the spec and only one shop runs,
        otherwise a newly measured value.
        """
        is_one = len(self._shops) == 1
        kept = capacities.kept(self.lab, self.spec) if is_one else None
        found = kept or measure_capacity(self.spec, self.lab, self._shops)
        console.print(f"{found.words()}; `make capacity` measures it again")
        return found

    def begin(self) -> ComparisonResult:
        """Print the expected duration of the whole experiment, then begin."""
        estimate = self._estimate
        assert estimate is not None
        console.print(
            f"The whole experiment takes {estimate.words}, including the drawing of its figures, "
            f"{estimates.IDLE}."
        )
        progress_file.stage(0.0, estimate.capacity_ratio)
        result = super().begin()
        progress_file.stage(estimate.capacity_ratio, estimate.stages[1])
        return result

    def estimate(self, result: ComparisonResult) -> Estimate | None:
        """Return the expected duration of the whole experiment, including the capacity
        measurement."""
        return self._estimate

    def make(self, result: ComparisonResult, estimate: Estimate | None) -> None:
        """Carry out the missing runs one after the other, or in groups of simultaneous runs."""
        spec = self.spec
        capacity = result.capacity()
        capacity_rps = capacity and capacity.median_rps
        shops_rps = capacity.shops_rps if capacity else ()
        todo = missing_groups(result, spec)
        expectation = Expectation(spec, capacity_rps)
        overhead_s = estimates.live_run_s(speeds.load(self.lab))
        expected = [expectation.real_s(group) + overhead_s for group in todo]
        how = f"at time scale {spec.time_scale:g}, about {duration(sum(expected))}"
        self.announce(result, sum(map(len, todo)), how)
        until_s = spec.load.duration_s if spec.clients else None
        total = len(result.plan())
        with (
            publishing(self.lab, console.print) as published,
            RunProgress(sum(expected)) as progress,
        ):
            published.experiment(result)
            for group, real_s in zip(todo, expected, strict=True):
                titles = [planned.title(total) for planned in group]
                steps = progress.at_once(titles, real_s, until_s)
                tells = [published.of_run(result, planned) for planned in group]
                live = [
                    LiveRun(
                        shop,
                        ShopRun.of_spec(spec, planned.policy, planned.rho, capacity_rps),
                        planned.seed,
                        result.run(planned),
                        tell,
                    )
                    for shop, planned, tell in zip(self._shops, group, tells, strict=True)
                ]
                began_s = time.monotonic()
                made = self._make(live, steps, shops_rps)
                beyond_s = time.monotonic() - began_s - expectation.real_s(group)
                stopwatch.spent("live run", 1, max(beyond_s, 0.1))
                for title, tell, one in zip(titles, tells, made, strict=True):
                    tell()
                    progress.say(f"{title}: {verdict(one)}")

    def _make(
        self, live: Sequence[LiveRun], steps: Sequence[Progress], shops_rps: Sequence[float]
    ) -> list[RunSummary]:
        if self._shop_cpus is not None:
            return side_by_side.make_runs(live, steps, self._shop_cpus, shops_rps)
        return [make_run(run, step) for run, step in zip(live, steps, strict=True)]


def running_appliance(lab: settings.Settings) -> Appliance:
    """Return the running appliance; raises ExperimentError if it does not answer, or if this
    machine may not send load to it.
    """
    appliance = Appliance(lab)
    try:
        appliance.check_may_be_loaded()
        appliance.check()
    finally:
        appliance.close()  # the next call opens the connections again
    return appliance


def make_run(live: LiveRun, on_progress: Progress = lambda line: None) -> RunSummary:
    """Carry out one live run, replace the files in its folder, and return the content of run.json.
    Raises ExperimentError if the run fails.
    """
    (record,) = record_runs([live], [on_progress], live.appliance.lab.other_cpus)
    return summarise(live.run, live.seed, live.folder, record)


def measure_capacity(
    spec: Spec, lab: settings.Settings, shops: Sequence[Appliance]
) -> capacities.Capacity:
    """Measure the capacity for the customers and the page work of `spec`, and print each
    measurement.

    The capacity of a single shop is kept for later runs. Raises ExperimentError if the measurement
    fails.
    """
    real_s = measuring.expected_real_s(spec.time_scale)
    whose = "the shop's capacity" if len(shops) == 1 else "the capacity of all shops at once"
    console.print(f"Measuring {whose}, about {duration(real_s)}")
    words = f"measuring {whose}, about {duration(real_s)}"
    progress_file.tell(now=True, done_ratio=0.0, words=words)
    done = 0

    def say(line: str) -> None:
        nonlocal done
        done += 1
        console.print(line)
        progress_file.tell(done_ratio=done / measuring.MEASUREMENTS, words=words)

    with live_runs.told_measuring(lab.state_dir, spec.title, real_s):
        measured = measuring.measure(shops, spec, on_progress=say)
    if len(shops) == 1:
        capacities.keep(measured, lab)
    return measured


@contextmanager
def surroundings(appliance: Appliance, spec: Spec) -> Iterator[None]:
    """Prepare catalogue and database for `spec` until the block ends; the caller holds the
    machine's lock.

    After the block, the database no longer runs on the shop's CPUs, and the gateway and the shop
    have the settings that `make up` sets. The catalogue keeps its size, because a change can take
    minutes. Raises ExperimentError if the preparation fails.
    """
    _stock(appliance, spec.catalogue_books or appliance.lab.catalogue_books)
    beside_shop = spec.database_cpus == "shop"
    try:
        # A killed runner may have left the processes on other CPUs, so bind them again.
        confinement.bind(appliance.lab, appliance.lab.other_cpus)
        if not postgres_cpus.move(appliance.lab, spec.database_cpus) and beside_shop:
            raise ExperimentError(
                f"database_cpus: 'shop': the PostgreSQL on {appliance.lab.postgres_host} cannot "
                "be moved to the shop's CPUs. It must belong to this appliance and to your user, "
                "and run natively on this machine. Otherwise, set database_cpus to 'other'."
            )
        yield
    finally:
        if beside_shop:
            postgres_cpus.move(appliance.lab, "other")
        with suppress(ExperimentError):  # the appliance may have died
            appliance.give_back()


def _stock(appliance: Appliance, books: int) -> None:
    there = appliance.shop.call("GET", "/status")["books"]
    if there == books:
        return
    console.print(
        f"Changing the catalogue from {there:,} to {books:,} books, which can take minutes"
    )
    appliance.set_catalogue(books)
