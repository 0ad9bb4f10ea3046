"""The customers in the real shop: Django, PostgreSQL, Redis."""

import subprocess
import sys
import urllib.request
from contextlib import closing
from itertools import zip_longest

import pytest

from common.http_json import JsonClient, NoAnswerError
from loadgen.customers.browser import Browser, ShopAddress
from loadgen.customers.shop_pages import Shopper
from loadgen.options import plan_of
from loadgen.records.attempt_log import read_attempts
from runtime.settings import REPOSITORY
from tests.conftest import serving
from tests.loadgen import locust_process

pytestmark = pytest.mark.slow


def _answer(method, port, path, body=None):
    with JsonClient("127.0.0.1", port, timeout_s=60) as shop:
        return dict(shop.call(method, path, body))


@pytest.fixture(scope="module")
def real_shop(appliance_database, tmp_path_factory):
    """Run the seeded shop; pages take the time of their queries."""
    subprocess.run(
        [sys.executable, "-m", "shop", "migrate-and-seed"],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        check=True,
    )

    def refusal():
        try:
            _answer("GET", appliance_database.shop_controller_port, "/status")
            with urllib.request.urlopen(f"http://127.0.0.1:{appliance_database.shop_port}/"):
                return None
        except (OSError, NoAnswerError) as error:
            return str(error)

    log = tmp_path_factory.mktemp("shop") / "shop.log"
    with serving([sys.executable, "-m", "shop", "serve"], refusal, log):
        settings = {"profile": "real", "time_scale": 10, "seed": 1}
        _answer("PUT", appliance_database.shop_controller_port, "/settings", settings)
        yield appliance_database


def test_every_session_completes_and_every_confirm_is_an_order(real_shop, tmp_path):
    url = f"http://127.0.0.1:{real_shop.shop_port}"
    # About 24 pages a real second, and nobody leaves: every session has to come through.
    options = ("--sessions", "100", "--file-sessions", "100", "--session-rate", "0.4")
    more = ("--time-scale", "25", "--timeout-s", "inf", "--seed", "2", "--progress", "json")
    before = _sold(real_shop)
    ended = locust_process.run(tmp_path, "--host", url, *options, *more)
    rows = read_attempts(tmp_path / "attempts.parquet").to_pylist()
    trouble = [row for row in rows if row["outcome"] != "completed"]
    assert trouble == []
    counts, sold = ended.summary["counts"], _sold(real_shop)
    assert sold["orders"] - before["orders"] == counts["confirms"] > 0
    assert round(100 * (sold["revenue"] - before["revenue"])) == counts["revenue_cents"]


@pytest.mark.long
def test_clients_find_everything_they_ask_for_in_the_real_shop(real_shop, tmp_path):
    url = f"http://127.0.0.1:{real_shop.shop_port}"
    # Six clients, all kinds equally often, about 12 requests a real second; nobody leaves.
    clients = ("--clients-per-set", "3", "--patience-max-s", "1e6", "--seed", "2")
    mix = ("--client-mix", "home:1,browse:1,search:1,select:1,file:1")
    more = ("--arrivals-until-s", "60", "--time-scale", "10", "--progress", "json")
    think = ("--client-think-time-mean-s", "5")
    ended = locust_process.run(tmp_path, "--host", url, *clients, *mix, *more, *think)
    assert ended.status == 0, ended.errors
    rows = read_attempts(tmp_path / "attempts.parquet").to_pylist()
    assert [row for row in rows if row["outcome"] != "completed"] == []
    assert {row["page"] for row in rows} == {"Br-1", "Br-2", "Br-3", "Br-4", "file"}
    assert {row["session"] for row in rows} == set(range(6))


@pytest.mark.long
def test_partly_open_sessions_buy_again_and_find_a_cover_on_every_page(real_shop, tmp_path):
    url = f"http://127.0.0.1:{real_shop.shop_port}"
    # Ten sessions or so with two purchases each, about 25 replies a real second; nobody leaves.
    sessions = ("--partly-open", "--sessions-schedule", "0:0.1,100:0", "--seed", "2")
    lengths = ("--interactions-mean", "15", "--interactions-most", "15")
    buying = ("--transactions-ratio", "0.5714", "--interaction-think-time-mean-s", "5")
    more = ("--interaction-timeout-s", "inf", "--time-scale", "15", "--progress", "json")
    before = _orders(real_shop)
    ended = locust_process.run(tmp_path, "--host", url, *sessions, *lengths, *buying, *more)
    assert ended.status == 0, ended.errors
    rows = read_attempts(tmp_path / "attempts.parquet").to_pylist()
    assert [row for row in rows if row["outcome"] != "completed"] == []
    assert {(row["session"], row["step"]) for row in rows if row["page"] == "image"} == {
        (row["session"], row["step"]) for row in rows
    }
    counts = ended.summary["counts"]
    assert counts["confirms"] == _orders(real_shop) - before > counts["planned"] > 0


@pytest.mark.parametrize("lost", ["Br-4", "Tr-1", "Tr-2", "Tr-3", "Tr-4"])
def test_a_retry_after_an_answer_that_was_lost_goes_on_to_one_order(real_shop, lost):
    # The shop executes what an impatient customer abandoned; the retry comes on a new connection,
    # with the cookies from before.
    before = _orders(real_shop)
    address = ShopAddress.from_url(f"http://127.0.0.1:{real_shop.shop_port}")
    options = plan_of({})
    shopper = Shopper(1, 0, options.account, options.account_password)
    walk = ("Br-1", "Br-2", "Br-4", "Tr-1", "Tr-2", "Tr-3", "Tr-4")
    with closing(Browser(address)) as browser:
        for page, following in zip_longest(walk, walk[1:]):
            request = shopper.request(page)
            if page == lost:
                with closing(Browser(address)) as orphan:
                    orphan.cookies.update(browser.cookies)
                    assert orphan.fetch(*request, 1, 30).status == 200
                browser.close()
            fetched = browser.fetch(*request, 1 + (page == lost), 30)
            assert (page, fetched.status) == (page, 200)
            shopper.read(page, fetched.body, following)
    assert _orders(real_shop) - before == 1


def _orders(shop):
    found = _sold(shop)["orders"]
    assert isinstance(found, int)
    return found


def _sold(shop):
    return _answer("GET", shop.shop_controller_port, "/orders")
