"""The shop's catalogue and its database's CPUs, as a comparison needs them."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hosting import confinement
from lab.engines.live.appliance import Appliance
from lab.errors import ExperimentError
from lab.report.terminal import console
from lab.spec.experiment import Spec
from runtime import postgres_cpus


@contextmanager
def surroundings(appliance: Appliance, spec: Spec) -> Iterator[None]:
    """The catalogue and the database as `spec` wants them; the caller holds the machine's lock.

    The catalogue stays: the next comparison asks for its own, and growing it takes a minute. The
    database goes back to its own CPUs and the shop to people, however the block ends. Raises
    ExperimentError.
    """
    _stock(appliance, spec.catalogue_books or appliance.lab.catalogue_books)
    beside_shop = spec.database_cpus == "shop"
    try:
        # Also when all is where it should be: a runner that was killed could not put it back.
        confinement.bind(appliance.lab, appliance.lab.other_cpus)
        if not postgres_cpus.move(appliance.lab, spec.database_cpus) and beside_shop:
            raise ExperimentError(
                f"database_cpus: the PostgreSQL in use, on {appliance.lab.postgres_host}, is not "
                "one that may be moved to the shop's CPUs (in a container or on another host, not "
                "this appliance's, or another user's); leave it at 'other'."
            )
        yield
    finally:
        if beside_shop:
            postgres_cpus.move(appliance.lab, "other")
        with suppress(ExperimentError):  # it may be what has died
            appliance.give_back()


def _stock(appliance: Appliance, books: int) -> None:
    there = appliance.shop.call("GET", "/status")["books"]
    if there == books:
        return
    console.print(f"The catalogue: from {there:,} to {books:,} books; this may take minutes")
    appliance.set_catalogue(books)
