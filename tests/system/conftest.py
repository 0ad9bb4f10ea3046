"""The shop of these tests: a real Gunicorn whose log names every request that reaches it."""

import pytest

from tests.shop.conftest import (
    committed,
    django_db_setup,
    no_page_work,
    page_work_as_before,
    running_shop,
    shop_environment,
)
from tests.shop.sentry import project as bare
from tests.shop.sentry.conftest import database
from tests.system.chain import chain

__all__ = [
    "committed",
    "database",
    "django_db_setup",
    "no_page_work",
    "page_work_as_before",
    "running_shop",
    "shop_environment",
]


@pytest.fixture(scope="session")
def shop(appliance_database, tmp_path_factory):
    """The bare project, cancelling, on 30 threads; nothing it does ends by itself."""
    folder = tmp_path_factory.mktemp("system")
    bare.make(folder, appliance_database, SENTRY_CANCEL_TIMEOUT_S=60)
    threads = ("--worker-class", "gthread", "--threads", "30", "--log-level", "debug")
    with bare.served(folder, *threads) as project:
        yield project


@pytest.fixture(scope="session")
def one_worker(shop, database):
    """One request in service at a time, whatever the shop could do."""
    with chain(shop, database, workers=1) as ready:
        yield ready
