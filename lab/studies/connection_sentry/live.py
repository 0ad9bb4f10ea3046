"""Connection Sentry's live runs on the appliance: the comparisons, and the runs' metrics."""

from functools import partial

from lab.files.run_folder import RunFolder
from lab.results.metrics import Metrics
from lab.spec.experiment import Spec
from lab.spec.runs import ApplianceServer, ShopRun
from lab.studies.connection_sentry.cases import MODES, Cases, Cell
from lab.studies.connection_sentry.measures import client_metrics, shop_tasks
from lab.studies.connection_sentry.study import STUDY
from lab.studies.live import ApplianceStudy, LivePart


def parts(cases: Cases, seed: int, repetitions: int) -> list[LivePart]:
    """Return a comparison for each cell."""

    def part(cell: Cell) -> LivePart:
        return LivePart(
            spec(cases, cell, seed=seed, repetitions=repetitions),
            lambda planned: cases.run(cell, planned.policy),
            lambda folder, run, capacity_rps: metrics(folder, run),
        )

    # The cell that needs no large catalogue comes first, so a new catalogue grows only once.
    return [part(cell) for cell in reversed(cases.cells())]


live_study = partial(ApplianceStudy, STUDY, parts)


def spec(cases: Cases, cell: Cell, *, seed: int, repetitions: int) -> Spec:
    """Return the comparison of a cell without the sentry (X) and with it (S)."""
    run = cases.run(cell, "X").run
    shop = run.server
    assert isinstance(shop, ApplianceServer)
    return Spec.model_validate(
        {
            "title": f"Connection Sentry, {cell.title}",
            "policy": [
                {"name": run.policy.name, "abandonment": abandonment, "label": mode}
                for mode, abandonment in MODES.items()
            ],
            "load": {"duration_s": run.duration_s},
            "clients": run.client_model.parameters(),
            "warm_up_s": run.warm_up_s,
            "time_scale": shop.time_scale,
            "seed": seed,
            "repetitions": repetitions,
            "page_profile": shop.page_profile,
            "catalogue_books": shop.catalogue_books,
            "database_cpus": shop.database_cpus,
        }
    )


def metrics(folder: RunFolder, run: ShopRun) -> Metrics:
    """Return the metrics of a run's clients, and the time that the shop took for each task."""
    summary = folder.summary()
    counts = summary.counts
    assert counts is not None  # the appliance counts and meters every run
    assert summary.waste is not None
    found = client_metrics(folder.attempts(), folder.samples().to_pydict(), summary.waste, run)
    tasks = shop_tasks(counts.before["shop"], counts.after["shop"], run)
    return {**found, "tasks": tasks}
