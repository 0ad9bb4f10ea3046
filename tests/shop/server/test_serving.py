"""The shop in its real form: Gunicorn, threads, controller, page work."""

import os
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psutil
import pytest

from shop.page_costs.walker import Walker
from tests.programs import python
from tests.shop.conftest import shop_served
from tests.shop.largest_requests import LARGEST, status_of

pytestmark = pytest.mark.slow


ON_SALE = 20


def walk(url, number, book=ON_SALE):
    with Walker(url) as walker:
        return list(walker.walk("crime", "winter", book, f"customer-{number:04d}"))


@pytest.fixture
def real_profile(running_shop):
    running_shop.controller.call("POST", "/reset")
    running_shop.controller.call("PUT", "/settings", {"profile": "real"})
    yield running_shop
    running_shop.controller.call("POST", "/reset")


def test_a_walk_is_eight_pages_and_an_order(real_profile):
    before = real_profile.controller.call("GET", "/status")
    visits = walk(real_profile.url, 11)
    assert [visit.status for visit in visits] == [200] * 8
    assert 'id="order-number"' in visits[-1].html
    after = real_profile.controller.call("GET", "/status")
    assert after["orders"] == before["orders"] + 1
    assert real_profile.controller.call("GET", "/orders")["orders"] == 1
    for page in before["pages"]:
        assert after["pages"][page]["served"] == before["pages"][page]["served"] + 1


@pytest.mark.parametrize("what", LARGEST)
def test_what_the_gateway_lets_through_is_read(running_shop, what):
    assert status_of(LARGEST[what], urlsplit(running_shop.url).port) == 404


def test_thirty_customers_at_once_all_buy(real_profile):
    with ThreadPoolExecutor(30) as pool:
        walks = list(pool.map(lambda i: walk(real_profile.url, 100 + i), range(30)))
    assert all(len(visits) == 8 for visits in walks)
    orders = real_profile.controller.call("GET", "/orders")
    assert orders["orders"] == orders["books_sold"] == 30


def test_page_work_burns_cpu_and_waits(running_shop):
    """The bounds are generous: on a busy machine an execution only gets longer."""
    running_shop.controller.call("PUT", "/settings", {"profile": "paper", "time_scale": 5})
    before = running_shop.controller.call("GET", "/status")["pages"]["Br-1"]
    with Walker(running_shop.url) as walker:
        for _ in range(20):
            walker.request("/")
    after = running_shop.controller.call("GET", "/status")["pages"]["Br-1"]
    spent = {key: after[key] - before[key] for key in after}
    assert spent["served"] == 20
    assert spent["drawn_s"] / 20 == pytest.approx(0.040, rel=0.25)
    assert spent["cpu_s"] == pytest.approx(0.714 * spent["drawn_s"], rel=0.05)
    assert spent["execution_s"] > 0.97 * spent["drawn_s"]


def test_one_worker_process_on_the_shops_cpus(running_shop):
    master = psutil.Process(running_shop.process.pid)
    family = [master, *master.children(recursive=True)]
    workers = [process for process in family if process.num_threads() > 1]
    assert len(workers) == 1
    assert len(workers[0].cpu_affinity()) == 1


def test_a_killed_shop_leaves_its_ports_at_once(shop_environment, tmp_path):
    with shop_served(shop_environment, tmp_path / "shop.log") as shop:
        with Walker(shop.url) as walker:  # a connection that is kept alive
            assert walker.request("/health/")[0] == 200
            (worker,) = psutil.Process(shop.process.pid).children()
            shop.process.kill()
            shop.process.wait(10)
            worker.wait(2)  # it takes no time; who serves on does so for seconds
        for address in (shop.url, shop.controller_url):
            with socket.socket() as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the next does
                listener.bind(("127.0.0.1", int(address.rpartition(":")[2])))


def test_static_files_have_hashed_names_and_stay(running_shop):
    with Walker(running_shop.url) as walker:
        _, html, _ = walker.request("/")
        (style,) = re.findall(r'href="(/static/shop/shop\.[0-9a-f]{12}\.css)"', html)
        assert walker.request(style)[0] == 200


def serve(environment, **changes):
    return python("-m", "shop", "serve", env=environment | changes)


def test_a_taken_controller_port_is_said_clearly(running_shop, shop_environment):
    ended = serve(
        shop_environment,
        DOORBUSTER_SHOP_PORT="0",
        DOORBUSTER_SHOP_CONTROLLER_PORT=str(running_shop.controller_port),
    )
    assert ended.returncode != 0
    assert "DOORBUSTER_SHOP_CONTROLLER_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOORBUSTER_SHOP_CPUS", "99"),
        ("DOORBUSTER_SHOP_CPUS", "all"),
        ("DOORBUSTER_SHOP_PORT", "x"),
        ("DOORBUSTER_SHOP_HOST", "http://shop"),
        ("DOORBUSTER_INNER_HOST", "192.0.2.1"),  # TEST-NET-1 of RFC 5737: nobody has it
    ],
)
def test_bad_settings_are_one_line(name, value):
    ended = serve(dict(os.environ), **{name: value})
    assert ended.returncode == 1
    assert name in ended.stderr
    assert "Traceback" not in ended.stderr
