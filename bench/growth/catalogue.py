"""The CPU time of the shop's browsing pages in catalogues of several sizes.

This process builds the pages one after the other, without page work (profile `real`).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean

from bench.growth.axes import Axis, Costs, Measure
from bench.servers import database, redis, temporary_folder
from common import ports
from common.shared_settings import BOOKS

ROUNDS, QUICK_ROUNDS = 3, 1


@contextmanager
def catalogue(is_quick: bool) -> Iterator[Measure]:
    """Start a temporary PostgreSQL and Redis for a shop, and yield a function that measures the CPU
    time per page, in ms of shop and PostgreSQL together, with a given number of books.
    """
    with temporary_folder() as folder:
        [redis_port] = ports.free(1)
        with database(folder) as cluster, redis(folder / "redis", redis_port):
            before = dict(os.environ)
            os.environ |= {
                **cluster.variables(),
                "DOORBUSTER_STATE_DIR": str(folder),
                "DOORBUSTER_REDIS_PORT": str(redis_port),
                "DOORBUSTER_ADS_PORT": "",
                "DJANGO_SETTINGS_MODULE": "shop.settings",
            }
            import django

            django.setup()
            from django.db import connection

            from shop.page_costs import browsing_costs
            from shop.stock import preparation, shelf_filling

            preparation.prepare(lambda _: None)

            def measure(books: int) -> Costs:
                shelf_filling.resize(books, lambda _: None)
                return {
                    page: 1000 * fmean(cost.database_s + cost.shop_s for cost in costs)
                    for page, costs in browsing_costs.measured(QUICK_ROUNDS if is_quick else ROUNDS)
                }

            try:
                yield measure
            finally:
                connection.close()
                os.environ.clear()
                os.environ.update(before)


AXES = (
    Axis(
        "catalogue",
        "The shop's pages and the catalogue",
        "books in the catalogue",
        "CPU ms per page",
        BOOKS,
        catalogue,
        (12.0, 3.0, 75.0),
    ),
)
