"""Run several live shops at the same time with the same customers, one shop for each policy."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from hosting.confinement import confined
from hosting.plain import PlainShops
from hosting.starting import HostingError
from lab.analysis.reconciliation import summarise
from lab.engines.live.appliance import Appliance
from lab.engines.live.run import LiveRun, record_runs
from lab.engines.live.shop_file import LiveShop
from lab.engines.load_generators import Progress
from lab.errors import ExperimentError
from lab.files.run_summary import RunSummary
from lab.report.terminal import console
from lab.spec.experiment import Spec
from lab.spec.shop_cpus import ShopCpus
from loadgen.records.attempt_log import read_metadata
from runtime.settings import Settings

NAME = "race"
"""The prefix of the names of the shops and of their schemas in the database."""


@contextmanager
def shops(lab: Settings, spec: Spec, cpus: ShopCpus) -> Iterator[list[Appliance]]:
    """Run a shop for each policy of `spec`, until the block ends; all shops are ready when the
    block begins.

    The appliance's processes give up CPUs for these shops during the block. The caller holds the
    machine's lock. Raises ExperimentError if a shop does not start, or if the block fails because a
    shop has died.
    """
    with ExitStack() as stack:
        stack.enter_context(confined(lab, cpus.rest))
        started = PlainShops(
            lab,
            NAME,
            shop_cpus=cpus.shops,
            other_cpus=cpus.rest,
            books=spec.catalogue_books or lab.catalogue_books,
            say=console.print,
        )
        try:
            stack.enter_context(started)
        except HostingError as fault:
            raise ExperimentError(str(fault)) from None
        # The load generators run on this machine, because a remote load generator can serve only
        # one run at a time.
        found = [Appliance(each.changed(loadgen_workers=0)) for each in started.settings]
        for appliance in found:
            stack.callback(appliance.close)
        try:
            yield found
        except ExperimentError:
            try:
                started.check()
            except HostingError as fault:
                raise ExperimentError(str(fault)) from None
            raise


def make_runs(
    live: Sequence[LiveRun],
    on_progress: Sequence[Progress],
    cpus: ShopCpus,
    shops_rps: Sequence[float],
) -> list[RunSummary]:
    """Carry out several runs at the same time, each on a separate shop, and return the contents of
    their run.json. `shops_rps` is the capacity of each shop for run.json.

    The customers of all runs start at the same moment. `on_progress` has one function for each run.
    Raises ExperimentError if a run fails.
    """
    with ExitStack() as stack:

        def begun() -> None:
            came_at = time.time()
            for run in live:
                stack.callback(run.folder.live_shop_file.unlink, missing_ok=True)
                lab, counts, scale = run.appliance.lab, run.before, run.server.time_scale
                LiveShop.of(lab, counts, came_at=came_at, time_scale=scale).write(run.folder)

        records = record_runs(live, on_progress, cpus.rest, on_begin=begun)
    came_at = [read_metadata(run.folder.attempts_file)["started_at"] for run in live]
    facts = {
        "of": len(live),
        "apart_s": max(came_at) - min(came_at),
        "shops_rps": list(shops_rps),
        **cpus.facts(),
    }
    summaries = []
    for number, (run, record) in enumerate(zip(live, records, strict=True), start=1):
        at_once = {"shop": number, **facts}
        record = replace(record, facts={**record.facts, "at_once": at_once})
        summaries.append(summarise(run.run, run.seed, run.folder, record))
    return summaries
