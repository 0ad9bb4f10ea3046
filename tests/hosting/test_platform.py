"""A real hosting platform: two shops behind TLS on one PostgreSQL and one Redis."""

import os
import socket
import ssl
import subprocess
import sys
from contextlib import suppress

import psutil
import psycopg
import pytest

from common import private_file
from hosting.ecm import process as ecm_process
from hosting.options import PlatformOptions
from hosting.platform import Platform
from hosting.starting import HostingError
from lab.engines.hosted import connection_profile
from runtime.settings import REPOSITORY
from shop.page_costs.walker import Walker
from tests.waiting import until

pytestmark = pytest.mark.long

PATIENCE_S = 240.0
OPTIONS = {"cto_s": 0.1, "ctn_s": 0.3, "key": "ec-p256", "shop_threads": 4, "profile": "real"}
SHELF, WORDS, BOOK = "crime", "winter", 20


def customer_of(application):
    """Return a walker that comes by HTTPS and trusts the platform's authority."""
    trusted = ssl.create_default_context(cafile=str(application.authority))
    return Walker(application.https_url, trusted)


def buy(customer, username="customer-0001"):
    visits = list(customer.walk(SHELF, WORDS, BOOK, username))
    assert [visit.status for visit in visits] == [200] * 8


def tree(process):
    """Return the process and all its descendants."""
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


def alive(processes):
    """Return the processes that still live; a zombie does not count."""
    found = []
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            if one.is_running() and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found


@pytest.fixture(scope="module")
def lab(appliance_database):
    return appliance_database


@pytest.fixture(scope="module")
def hosted(lab):
    """Yield two applications with an even share of the processors each."""
    with Platform(lab, PlatformOptions(provisioning="static", **OPTIONS)) as platform:
        yield platform


def test_each_application_is_a_shop_of_its_own(lab, hosted):
    one, other = hosted.applications
    for buys, application in ((2, one), (1, other)):
        for _ in range(buys):
            with customer_of(application) as customer:
                buy(customer)
    assert [one.orders(), other.orders()] == [2, 1]
    with psycopg.connect(
        host=lab.postgres_host, port=lab.postgres_port, user=lab.postgres_user,
        password=lab.postgres_password, dbname=lab.postgres_db,
    ) as connection:  # fmt: skip
        orders = {
            schema: connection.execute(f"SELECT count(*) FROM {schema}.shop_order").fetchone()[0]
            for schema in ("application_1", "application_2")
        }
    assert orders == {"application_1": 2, "application_2": 1}
    connections = one.snapshot()["connections"]
    assert connections["new"] >= 2
    assert connections["admission"]["name"] == "eac"
    assert one.cpu_s() > 0


def test_a_session_of_one_application_is_nobody_in_the_other(hosted):
    one, other = hosted.applications
    with customer_of(one) as customer, customer_of(other) as stranger:
        buy(customer, "customer-0002")
        assert {"application_1_sessionid", "application_1_csrftoken"} <= set(customer.cookies)
        status, html, _ = customer.request("/account/")
        assert (status, "customer-0002" in html) == (200, True)
        # A browser shows its cookies to every port of a host.
        stranger.cookies |= customer.cookies
        stranger.cookies |= {
            name.replace("application_1", "application_2"): value
            for name, value in customer.cookies.items()
        }
        status, html, _ = stranger.request("/account/")
        assert (status, "customer-0002" in html) == (302, False)


def test_a_reset_takes_back_the_orders_of_one_application_only(hosted):
    one, other = hosted.applications
    for application in (one, other):
        with customer_of(application) as customer:
            buy(customer, "customer-0003")
    kept = other.orders()
    one.prepare(hosted.options)
    assert (one.orders(), other.orders()) == (0, kept)
    assert kept > 0


def test_static_provisioning_is_an_even_share_that_every_thread_keeps_to(hosted):
    processors = hosted.options.processors
    half = 2 * len(processors) // 2
    for number, application in enumerate(hosted.applications):
        share = {processors[i // 2] for i in range(number * half, (number + 1) * half)}
        for process in tree(application.process):
            for thread in process.threads():
                with suppress(ProcessLookupError):  # it has ended
                    assert os.sched_getaffinity(thread.id) == share, process.cmdline()
        parameters = application.snapshot()["connections"]["admission"]["parameters"]
        assert parameters["processors"] == half / 2


STARTER = """
import sys, time
from hosting.options import PlatformOptions
from hosting.platform import Platform
from runtime.settings import load
with Platform(load(), PlatformOptions(applications=1, priorities=(1.0,), cto_s=0.1, ctn_s=0.3,
              key="ec-p256", shop_threads=4, profile="real")) as platform:
    print("up", flush=True)
    while True:
        platform.check()
        time.sleep(0.05)
"""


def cpu_manager_of(starter):
    for child in alive(psutil.Process(starter.pid).children()):
        with suppress(psutil.NoSuchProcess):
            if {"hosting", "ecm"} <= set(child.cmdline()):
                return child
    return None


def test_a_dead_cpu_manager_is_replaced_and_nothing_outlives_whoever_has_the_platform(
    lab, tmp_path
):
    log = tmp_path / "starter.log"
    with log.open("wb") as errors:
        starter = subprocess.Popen(
            [sys.executable, "-c", STARTER], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=errors
        )
    with starter:
        assert starter.stdout.readline() == b"up\n", log.read_text()
        processes = tree(starter)
        commands = [" ".join(one.cmdline()) for one in processes]
        for part in ("hosting ecm", "hosting application", "-m gateway", "gunicorn"):
            assert any(part in command for command in commands), commands
        manager = cpu_manager_of(starter)
        manager.kill()
        until(lambda: cpu_manager_of(starter) not in (None, manager), "another CPU manager")
        assert alive(processes[1:]) == [one for one in processes[1:] if one != manager]
        processes = [*tree(starter), *processes]
        starter.kill()
    until(lambda: not alive(processes), "all that it had started ended")


def test_what_connections_cost_is_measured_with_real_customers(hosted, monkeypatch):
    application = hosted.applications[0]
    monkeypatch.setattr(connection_profile, "IDLE_REAL_S", 0.5)
    monkeypatch.setattr(connection_profile, "HANDSHAKES_REAL_S", 0.5)
    monkeypatch.setattr(connection_profile, "TIMEOUT_S", 10 * PATIENCE_S)
    application.ask(application.admin_port, "PUT", "/connection-admission", {"name": "none"})
    costs = connection_profile.measure(
        hosted, interactions_mean=5, sessions=8, say=lambda words: None
    )
    assert costs.sessions > 0
    assert costs.resumed_per_session > 0
    assert 0 < costs.reply_s < costs.cto_s
    assert costs.handshake_full_s < costs.ctn_s < costs.session_s
    assert (costs.key, costs.profile, costs.time_scale) == ("ec-p256", "real", 10.0)


# The last of this module: it spoils the platform.
def test_an_application_ends_with_its_reason_when_one_of_its_processes_does(hosted):
    hosted.check()
    application = hosted.applications[1]
    processes = tree(application.process)
    gateway = next(one for one in processes if "gateway" in one.cmdline())
    gateway.kill()
    application.process.wait(PATIENCE_S)
    with pytest.raises(HostingError, match=r"(?s)application-2 has ended: .*gateway ended"):
        hosted.check()
    until(lambda: not alive(processes), "all of the application ended")


def test_a_second_platform_leaves_the_first_ones_cpu_manager_alone(lab, monkeypatch):
    monkeypatch.setattr(ecm_process, "LEFT_OVER_PATIENCE_S", 0.0)
    second = Platform(lab, PlatformOptions(provisioning="ecm", **OPTIONS))
    second.folder.mkdir(parents=True, exist_ok=True)
    where = private_file.make_socket_path(second.folder / "ecm.sock")
    where.unlink(missing_ok=True)
    second.accounts.write_text("the first one's")
    with socket.socket(socket.AF_UNIX) as manager:
        manager.bind(str(where))
        manager.listen()
        try:
            with pytest.raises(HostingError, match="another platform"):
                second.__enter__()
            assert where.exists()
            assert second.accounts.read_text() == "the first one's"
        finally:
            private_file.remove_socket(second.folder / "ecm.sock")
            second.accounts.unlink()
