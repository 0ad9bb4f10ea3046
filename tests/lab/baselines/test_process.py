"""The baseline proxies themselves, before a shop that answers when the test lets it.

Skipped where a program is not installed; no run here takes longer than its customers need.
"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from lab.baselines import sheets
from lab.baselines.process import (
    DIALECTS,
    SYSTEM_PATH,
    ProxyProcess,
    folder_for_sockets,
    page_rules,
    program,
)
from lab.baselines.requests import Place
from lab.errors import ExperimentError
from runtime.settings import REPOSITORY
from tests.fake_shop.server import HoldingServer, Reply
from tests.skips import skip_without
from tests.waiting import until

PAGE = Reply(b"<p>here you are</p>" * 100, headers={"X-Doorbuster-Verdict": "forged"})
CPUS = tuple(sorted(os.sched_getaffinity(0)))


def needs(name: str) -> None:
    skip_without(name, os.pathsep.join((os.environ["PATH"], SYSTEM_PATH)))


def place_of(files, sockets, shop_port=9, abandonment="cancel", port=0):
    """A proxy's place on this machine; nobody answers at port 9."""
    return Place(
        files, Path(sockets), "127.0.0.1", port, "127.0.0.1", shop_port, 10.0, abandonment, 5.6
    )


@contextmanager
def serving(name, tmp_path, *, abandonment="cancel", **parameters):
    """A shop that answers when the test lets it, `/quick/` at once, and a proxy in front of it."""
    needs(name)
    (tmp_path / f"{name}.log").unlink(missing_ok=True)
    with folder_for_sockets() as sockets, HoldingServer(PAGE).serving() as shop:
        place = place_of(tmp_path, sockets, shop.port, abandonment)
        with ProxyProcess(name, sheets.read(name, parameters), place, CPUS) as proxy:
            yield shop, proxy


def comes(proxy, shop, *request):
    """A customer whose request has come to the shop."""
    before = len(shop.requests)
    customer = Customer(proxy, *request)
    assert until(lambda: len(shop.requests) == before + 1, 60)
    return customer


def waits(proxy, *request):
    """A customer whose request waits in HAProxy's queue."""
    before = proxy.look().waiting
    customer = Customer(proxy, *request)
    assert until(lambda: proxy.look().waiting == before + 1, 60)
    return customer


def is_turned_away(answer):
    found = (answer.status, answer.getheader("X-Doorbuster-Verdict"))
    return found == (503, "dropped") and bool(answer.getheader("X-Request-Id"))


class Customer:
    """One connection to the baseline proxy, without waiting for the answer."""

    def __init__(self, proxy, path="/", method="GET", **headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", proxy.place.port, timeout=60)
        self.connection.request(method, path, headers=headers)

    def answer(self):
        try:
            response = self.connection.getresponse()
            response.read()
            return response
        finally:
            self.connection.close()

    def leave(self):
        self.connection.close()


def fates(proxy, pages="Br-1"):
    return Counter(one.fate for one in proxy.log().read() if one.page in pages)


@pytest.mark.parametrize("name", sheets.PROXIES)
def test_the_shop_hears_of_the_customer_what_the_gateway_tells_it(name, tmp_path):
    names = ("X-Real-IP", "Forwarded", "Proxy", "traceparent", "tracestate", "X_Forwarded_For")
    ends = ("For", "Proto", "Host", "Port", "Protocol", "Ssl")
    names += tuple(f"X-Forwarded-{end}" for end in ends)
    forged = dict.fromkeys(names, "for=9.9.9.9") | {"X-Request-Id": "forged"}
    with serving(name, tmp_path) as (shop, proxy):
        response = Customer(proxy, "/quick/", **forged).answer()
        (request,) = shop.requests
        heard = request.headers
        assert request.path == "/quick/"
        assert heard["x-forwarded-for"] == "127.0.0.1"
        assert heard["x-forwarded-proto"] == "http"
        assert heard["host"] == heard["x-forwarded-host"] == f"127.0.0.1:{proxy.place.port}"
        assert heard["via"] == f"1.1 {name}"
        assert "9.9.9.9" not in str(heard)
        assert response.status == 200
        assert response.headers.get_all("X-Request-Id") == [heard["x-request-id"]]
        assert heard["x-request-id"] != "forged"
        assert response.getheader("X-Doorbuster-Verdict") is None  # never the shop's


@pytest.mark.parametrize("name", sheets.PROXIES)
def test_pages_are_told_apart_as_the_gateway_does(name, tmp_path):
    asked = {
        ("GET", "/"): "Br-1",
        ("HEAD", "/?utm=quick"): "Br-1",
        ("GET", "/browse/quick-reads/?page=2"): "Br-2",
        ("GET", "/%73earch/?q=quick"): "Br-3",  # decoded once, as the shop does
        ("GET", "/books/17/?quick"): "Br-4",
        ("POST", "/checkout/login/"): "Tr-1",
        ("POST", "/checkout/shipping/"): "Tr-2",
        ("GET", "/checkout/payment/"): "Tr-3",
        ("POST", "/checkout/confirm/"): "Tr-4",
        ("POST", "/books/17/"): "other",
        ("GET", "/books/x/"): "other",
        ("GET", "/searchy/"): "other",
        ("GET", "/%2573earch/"): "other",
    }
    with serving(name, tmp_path) as (shop, proxy):
        shop.let_go()
        log = proxy.log()
        for number, (method, path) in enumerate(asked, start=1):
            Customer(proxy, path, method).answer()
            # A line is written after the answer, and HAProxy's threads write in no one's order.
            assert until(lambda n=number: log.read() == [] and len(log.ended) == n, 60)
        assert [one.page for one in log.ended] == list(asked.values())
        assert {one.fate for one in log.ended} == {"answered"}


def test_haproxy_queues_by_class_and_turns_away_who_waited_too_long(tmp_path):
    # 600 paper s: nobody is turned away while this test is slow.
    with serving("haproxy", tmp_path, maxconn=1, queue_s=600) as (shop, proxy):
        first = comes(proxy, shop)
        browsing = waits(proxy, "/books/1/")
        buying = waits(proxy, "/checkout/confirm/", "POST")
        assert proxy.look().in_service == 1
        shop.let_go()
        assert {one.answer().status for one in (first, browsing, buying)} == {200}
        paths = [request.path for request in shop.requests]
        assert paths == ["/", "/checkout/confirm/", "/books/1/"]
    with serving("haproxy", tmp_path, maxconn=1, queue_s=0.5) as (shop, proxy):
        first = comes(proxy, shop)
        assert is_turned_away(Customer(proxy).answer())
        shop.let_go()
        assert first.answer().status == 200
        assert len(shop.requests) == 1
        assert until(lambda: fates(proxy)["dropped"] == 1, 60)


def test_haproxy_turns_away_whom_the_queue_has_no_place_for(tmp_path):
    with serving("haproxy", tmp_path, maxconn=1, maxqueue=1, queue_s=600) as (shop, proxy):
        first, second = comes(proxy, shop), waits(proxy)
        assert is_turned_away(Customer(proxy).answer())
        shop.let_go()
        assert first.answer().status == second.answer().status == 200
        assert until(lambda: fates(proxy) == {"answered": 2, "dropped": 1}, 60)


def test_haproxy_lets_go_of_who_has_left_or_serves_them(tmp_path):
    with serving("haproxy", tmp_path, maxconn=1, queue_s=600) as (shop, proxy):
        in_service, queued = comes(proxy, shop), waits(proxy)
        queued.leave()
        assert until(lambda: proxy.look().waiting == 0, 60)
        in_service.leave()
        assert until(lambda: fates(proxy) == {"withdrawn": 1, "cancelled": 1}, 60)
        assert len(shop.requests) == 1
    ignoring = serving("haproxy", tmp_path, maxconn=1, queue_s=600, abandonment="ignore")
    with ignoring as (shop, proxy):
        in_service, queued = comes(proxy, shop), waits(proxy)
        queued.leave()
        in_service.leave()
        shop.let_go()
        assert until(lambda: sum(fates(proxy).values()) == 2, 60)
        assert len(shop.requests) == 2
        assert set(fates(proxy)) <= {"answered", "orphaned"}


def test_nginx_limits_the_rate_and_the_number_but_not_of_buyers(tmp_path):
    rate = {"rate_rps": 0.01, "burst": 2}
    with serving("nginx", tmp_path, connections=2, **rate) as (shop, proxy):
        first, second = comes(proxy, shop), comes(proxy, shop)
        assert proxy.look().in_service == 2
        # The next is within the burst, but two are at the shop; the last is above the rate.
        assert is_turned_away(Customer(proxy).answer())
        assert is_turned_away(Customer(proxy).answer())
        buyer = comes(proxy, shop, "/checkout/confirm/", "POST")
        shop.let_go()
        assert {one.answer().status for one in (first, second, buyer)} == {200}
        assert until(lambda: fates(proxy, ("Br-1", "Tr-4")) == {"answered": 3, "dropped": 2}, 60)
        said = (tmp_path / "nginx.log").read_text(encoding="utf-8")
        assert "PASSED REJECTED" in said
        assert "REJECTED -" in said


def test_nginx_lets_go_of_who_has_left_or_serves_them(tmp_path):
    with serving("nginx", tmp_path) as (shop, proxy):
        comes(proxy, shop).leave()
        assert until(lambda: fates(proxy) == {"cancelled": 1}, 60)
    with serving("nginx", tmp_path, abandonment="ignore") as (shop, proxy):
        comes(proxy, shop).leave()
        shop.let_go()
        assert until(lambda: sum(fates(proxy).values()) == 1, 60)
        assert set(fates(proxy)) <= {"answered", "orphaned"}


@pytest.mark.parametrize("abandonment", ["cancel", "drop-queued"])
def test_nginx_withdraws_a_delayed_request_whose_customer_leaves(abandonment, tmp_path):
    slow = {"rate_rps": 0.01, "nodelay": 0, "abandonment": abandonment}
    with serving("nginx", tmp_path, **slow) as (shop, proxy):
        served, delayed = comes(proxy, shop), Customer(proxy)
        assert until(lambda: proxy.look().in_service == 2, 60)
        delayed.leave()
        assert until(lambda: fates(proxy)["withdrawn"] == 1, 60)
        shop.let_go()
        assert served.answer().status == 200
        assert len(shop.requests) == 1


@pytest.mark.parametrize("name", sheets.PROXIES)
def test_it_serves_within_its_block_and_leaves_its_files(name, tmp_path):
    with serving(name, tmp_path) as (_, proxy):
        port = proxy.place.port
        assert proxy.url == f"http://127.0.0.1:{port}"
        assert re.match(r"\d+\.\d+", proxy.version())
        process = psutil.Process(proxy.process.pid)
        assert set(process.cpu_affinity()) == set(CPUS)
    assert not process.is_running()
    with socket.socket() as sock:
        assert sock.connect_ex(("127.0.0.1", port)) != 0
    dialect = DIALECTS[name]
    files = {dialect.CONFIGURATION, dialect.LOG, dialect.ERRORS}
    assert {file.name for file in tmp_path.iterdir()} == files


@pytest.mark.parametrize("name", sheets.PROXIES)
def test_one_that_dies_says_so(name, tmp_path):
    with serving(name, tmp_path) as (_, proxy):
        proxy.check_lives()
        os.kill(proxy.process.pid, signal.SIGKILL)
        proxy.process.wait(60)
        with pytest.raises(ExperimentError, match="ended in mid-run with status -9"):
            proxy.check_lives()
        with pytest.raises(ExperimentError, match="does not answer"):
            proxy.look()


HOLDER = """
import json, sys
from pathlib import Path
from lab.baselines import sheets
from lab.baselines.requests import Place
from lab.baselines.process import ProxyProcess
name, files, sockets, *cpus = json.loads(sys.argv[1])
place = Place(Path(files), Path(sockets), "127.0.0.1", 0, "127.0.0.1", 9, 10.0, "cancel", 5.6)
with ProxyProcess(name, sheets.read(name, {}), place, tuple(cpus)) as proxy:
    print(proxy.process.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("name", sheets.PROXIES)
def test_it_ends_with_its_runner_however_that_ends(name, tmp_path):
    needs(name)
    with folder_for_sockets() as sockets:
        words = json.dumps([name, str(tmp_path), sockets, *CPUS])
        runner = subprocess.Popen(
            [sys.executable, "-c", HOLDER, words],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with runner:
            proxy = psutil.Process(int(runner.stdout.readline()))
            runner.kill()
            runner.wait(60)
            assert until(lambda: not proxy.is_running() or proxy.status() == "zombie", 60)


def test_a_program_that_is_missing_names_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("lab.baselines.process.SYSTEM_PATH", "/nowhere")
    with pytest.raises(ExperimentError, match="apt-get install nginx-light"):
        program(sheets.PROXIES["nginx"])
    with pytest.raises(ExperimentError, match="apt-get install haproxy"):
        program(sheets.PROXIES["haproxy"])


def test_one_that_refuses_its_configuration_says_why(tmp_path):
    needs("haproxy")
    wrong = sheets.read("haproxy", {}) | {"maxconn": "30 sometimes"}
    with folder_for_sockets() as sockets:
        proxy = ProxyProcess("haproxy", wrong, place_of(tmp_path, sockets), CPUS)
        with pytest.raises(ExperimentError, match=r"HAProxy does not start: (?s:.*)sometimes"):
            proxy.__enter__()


CHECKS = {"haproxy": ("-c", "-q", "-f"), "nginx": ("-t", "-q", "-c")}


@pytest.mark.parametrize("name", sheets.PROXIES)
@pytest.mark.parametrize("abandonment", ["ignore", "cancel"])
def test_the_program_accepts_what_is_generated_and_warns_of_nothing(name, abandonment, tmp_path):
    """Also in the folder of a row whose label has a comma and a space."""
    needs(name)
    files = tmp_path / "005-HAProxy, tuned-rho1.4-seed1"
    files.mkdir()
    given = {"haproxy": {"maxqueue": 50}, "nginx": {"nodelay": int(abandonment == "ignore")}}
    with folder_for_sockets() as sockets:
        place = place_of(files, sockets, abandonment=abandonment, port=9181)
        dialect = DIALECTS[name]
        file = files / dialect.CONFIGURATION
        values = sheets.read(name, given[name])
        file.write_text(dialect.configuration(values, page_rules(), place), encoding="utf-8")
        done = subprocess.run(
            [program(sheets.PROXIES[name]), *CHECKS[name], str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
