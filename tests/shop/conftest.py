"""A seeded shop in the test session's PostgreSQL, made once; and the shop as a real process.

The shop is imported inside the fixtures: this file is read before Django is set up.
"""

import os
import signal
import sys
from contextlib import ExitStack, contextmanager

import pytest
from django.test import Client

from common import ports, seeded_shop
from tests.conftest import serving


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment, django_db_modify_db_settings, django_db_blocker):
    """Make a test database with full shelves, and the static files.

    They are made here because pytest-django makes a database only for tests that use `db` visibly.
    """
    from django.test.utils import setup_databases, teardown_databases

    from shop.catalogue.books import BOOKS
    from shop.stock import preparation, seeding

    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False)
        seeding.seed(BOOKS, lambda _: None)
        preparation.collect_static_files(lambda _: None)
    yield
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


@pytest.fixture
def page_work_as_before():
    """Restore the settings of page work afterwards."""
    from shop.page_costs import page_work

    before = page_work.work.settings
    yield
    page_work.work.configure(before)


@pytest.fixture
def no_page_work(page_work_as_before):
    """Switch page work off: pages take only their real time."""
    from shop.page_costs import page_work

    page_work.work.configure(page_work.PageWorkSettings(profile="real"))


@pytest.fixture
def visitor(db, no_page_work):
    """Return a browser without cookies; its changes are rolled back."""
    return Client()


@pytest.fixture
def customer(visitor):
    """Return a browser signed in as customer-0001."""
    assert visitor.login(username="customer-0001", password=seeded_shop.PASSWORD)
    return visitor


@pytest.fixture
def committed(django_db_setup, django_db_blocker, no_page_work):
    """Yield the seeded shop with real commits, for threads and processes; reset it afterwards."""
    from django.db import connection

    from shop.models import Book
    from shop.stock import shelf_filling

    with django_db_blocker.unblock():
        stock = dict(Book.objects.values_list("pk", "stock"))
        yield
        shelf_filling.take_back()
        for book in Book.objects.all():
            if book.stock != stock[book.pk]:
                Book.objects.filter(pk=book.pk).update(stock=stock[book.pk])
        connection.close()


class RunningShop:
    """The shop served by Gunicorn in a separate process."""

    def __init__(self, process, host, port, controller_port):
        from shop.page_costs.calibration import controller_at

        self.process = process
        self.controller_port = controller_port
        self.url = f"http://{host}:{port}"
        self.controller_url = f"http://{host}:{controller_port}"
        self.controller = controller_at(self.controller_url)


@pytest.fixture(scope="session")
def shop_environment(django_db_setup, django_db_blocker):
    """Return the environment of a shop process on the seeded test database."""
    from django.db import connection

    with django_db_blocker.unblock():
        database = str(connection.settings_dict["NAME"])
    return {**os.environ, "DOORBUSTER_POSTGRES_DB": database}


@pytest.fixture(scope="session")
def running_shop(shop_environment, tmp_path_factory):
    """Yield one Gunicorn for all tests that need a real one."""
    with shop_served(shop_environment, tmp_path_factory.mktemp("shop") / "shop.log") as shop:
        yield shop


@contextmanager
def shop_served(shop_environment, log):
    """Run a shop process with this environment until the block ends."""
    port, controller_port = ports.free(2)
    names = ("DOORBUSTER_SHOP_PORT", "DOORBUSTER_SHOP_CONTROLLER_PORT")
    environment = shop_environment | dict(
        zip(names, map(str, (port, controller_port)), strict=True)
    )
    host = environment.get("DOORBUSTER_INNER_HOST", "127.0.0.1")
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:  # for this process alone
            for name, value in environment.items():
                patch.setenv(name, value)
            process = running.enter_context(
                serving(
                    [sys.executable, "-m", "shop", "serve"],
                    _refusal(f"http://{host}:{port}"),
                    log,
                    stop=signal.SIGTERM,
                )
            )
        shop = RunningShop(process, host, port, controller_port)
        with shop.controller:
            yield shop


def _refusal(url):
    from shop.page_costs.walker import Walker

    def refusal():
        try:
            with Walker(url) as walker:
                status, _, _ = walker.request("/health/")
        except OSError as error:
            return str(error)
        return None if status == 200 else f"answered {status}"

    return refusal
