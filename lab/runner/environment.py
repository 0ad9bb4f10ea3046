"""The preparation of the shop's catalogue and of the database's CPUs for a comparison."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hosting import confinement
from lab.engines.live.appliance import Appliance
from lab.errors import ExperimentError
from lab.report.terminal import console
from lab.spec.experiment import Spec
from runtime.native import postgres_cpus


@contextmanager
def surroundings(appliance: Appliance, spec: Spec) -> Iterator[None]:
    """Prepare catalogue and database for `spec` until the block ends; the caller holds the
    machine's lock. After the block, the database has its CPUs again, but the catalogue keeps its
    size, because changing it takes a minute. Raises ExperimentError if the preparation fails.
    """
    _stock(appliance, spec.catalogue_books or appliance.lab.catalogue_books)
    beside_shop = spec.database_cpus == "shop"
    try:
        # Always restore them: a killed runner could not.
        confinement.bind(appliance.lab, appliance.lab.other_cpus)
        if not postgres_cpus.move(appliance.lab, spec.database_cpus) and beside_shop:
            raise ExperimentError(
                f"database_cpus: the PostgreSQL on {appliance.lab.postgres_host} cannot be moved "
                "to the shop's CPUs: it must be this appliance's, run natively on this machine, "
                "and belong to your user; otherwise set database_cpus to 'other'."
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
