"""The controller over real sockets, in the test's process."""

import http.client
import json
import socket
import threading
import time
import uuid

import pytest
from django.db import connection, transaction
from prometheus_client.parser import text_string_to_metric_families

from shop import activity, banners, sentry
from shop.ad_server import AdServer
from shop.catalogue.books import BOOKS
from shop.checkout import place_order
from shop.control import controller
from shop.models import Book, Customer, Order, SeedState
from shop.page_costs import page_work
from shop.page_costs.walker import ADDRESS

pytestmark = pytest.mark.usefixtures("django_db_setup", "page_work_as_before")


@pytest.fixture(scope="module")
def port():
    return controller.start(0)


@pytest.fixture
def call(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=240)

    def call(method, path, body=None, **headers):
        payload = body if isinstance(body, str) or body is None else json.dumps(body)
        connection.request(method, path, payload, headers)
        response = connection.getresponse()
        text = response.read().decode()
        return response.status, json.loads(text) if text.startswith("{") else text

    yield call
    connection.close()


@pytest.mark.usefixtures("committed")
def test_a_connection_that_the_database_has_ended_is_opened_again(call):
    assert call("GET", "/orders")[0] == 200
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert call("GET", "/orders")[0] == 200


def test_settings_are_taken_and_reported(call):
    assert call("PUT", "/settings", {"profile": "real", "time_scale": 20, "seed": 3}) == (
        200,
        {"profile": "real", "time_scale": 20.0, "seed": 3, "sentry": "watch", "ads": False},
    )
    assert call("PUT", "/settings", {"seed": 4})[1]["time_scale"] == 20
    assert call("PUT", "/settings", {"profile": "cpu"})[1]["profile"] == "cpu"
    assert call("GET", "/status")[1]["settings"]["seed"] == 4


def test_banners_are_switched_and_what_pages_wait_is_learnt_anew(call, monkeypatch):
    of_a_server = banners.Banners(AdServer(1), banners.Patience())
    monkeypatch.setattr(banners, "banners", of_a_server)
    assert call("GET", "/status")[1]["settings"]["ads"] is True
    page_work.work.idle_waits.count("Br-1", 0.5, alone=True, at_most_s=1.0)
    learnt = page_work.work.idle_waits
    assert call("PUT", "/settings", {"ads": True})[1]["ads"] is True
    assert page_work.work.idle_waits is learnt
    assert call("PUT", "/settings", {"ads": False})[1]["ads"] is False
    assert page_work.work.idle_waits.count("Br-1", 0.5, alone=False, at_most_s=1.0) < 0.5
    assert of_a_server.wanted is False


def test_a_refused_profile_names_the_profiles(call):
    answer = call("PUT", "/settings", {"profile": "fast"})[1]
    assert answer["allowed"] == "one of paper, cpu, real"
    assert answer["error"] == "profile: must be one of paper, cpu, real, not 'fast'"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"profile": "fast"}, "profile"),
        ({"time_scale": "10"}, "time_scale"),
        ('{"time_scale": NaN}', "time_scale"),
        ({"seed": -1}, "seed"),
        ({"sentry": "on", "seed": 7}, "sentry"),
        ({"sentry": "cancel", "seed": -1}, "seed"),
        ({"workers": 3}, "workers"),
        ({"ads": True, "seed": 2}, "ads"),  # this shop has no ad server
        ("{", "body"),
        ("[" * 60_000, "body"),
    ],
)
def test_bad_settings_name_the_field_and_change_nothing(call, body, field):
    before = page_work.work.settings
    status, answer = call("PUT", "/settings", body)
    assert status == 400
    assert answer["field"] == field
    assert answer["allowed"]
    assert (page_work.work.settings, sentry.mode()) == (before, "watch")


@pytest.mark.usefixtures("committed")
def test_the_catalogue_grows_and_shrinks_while_others_are_answered(call, port):
    assert call("GET", "/status")[1]["books"] == BOOKS
    held = threading.Event()

    def hold():
        """Hold the catalogue in another session: this call waits, other calls do not."""
        with transaction.atomic():
            SeedState.objects.select_for_update().get()
            held.set()
            assert another.wait(240)
        connection.close()

    another = threading.Event()
    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(240)
    waiting = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
    try:
        waiting.request("PUT", "/catalogue", json.dumps({"books": BOOKS + 10}))
        assert call("GET", "/status")[1]["books"] == BOOKS
        another.set()
        response = waiting.getresponse()
        assert (response.status, json.loads(response.read())) == (200, {"books": BOOKS + 10})
        assert call("GET", "/status")[1]["books"] == BOOKS + 10
    finally:
        another.set()
        holder.join(240)
        waiting.close()
        assert call("PUT", "/catalogue", {"books": BOOKS}) == (200, {"books": BOOKS})
    assert call("PUT", "/catalogue", {"books": BOOKS}) == (200, {"books": BOOKS})
    assert Book.objects.count() == BOOKS


@pytest.mark.parametrize(
    ("body", "field", "allowed"),
    [
        ({"books": 999}, "books", "a whole number from 1000 to 500000"),
        ({"books": 4309.0}, "books", "a whole number from 1000 to 500000"),
        ({}, "books", "a whole number from 1000 to 500000"),
        ({"books": 4309, "seed": 2}, "seed", "books"),
    ],
)
def test_a_refused_catalogue_names_the_field(call, body, field, allowed):
    status, answer = call("PUT", "/catalogue", body)
    assert (status, answer["field"], answer["allowed"]) == (400, field, allowed)
    assert answer["error"].startswith(f"{field}: ")
    assert allowed in answer["error"]


@pytest.mark.usefixtures("committed")
def test_reset_removes_orders_and_puts_stock_back(call):
    stock = Book.objects.get(pk=11).stock
    customer = Customer.objects.get(username="customer-0001")
    committed_before = activity.orders()
    for _ in range(3):
        place_order(customer, uuid.uuid4(), {11: 2}, ADDRESS)
    assert call("GET", "/status")[1]["orders"] == committed_before + 3
    price = Book.objects.get(pk=11).price_cents
    assert call("GET", "/orders")[1] == {
        "orders": 3,
        "books_sold": 6,
        "revenue": pytest.approx(6 * price / 100),
    }
    assert call("POST", "/reset") == (200, {"orders_removed": 3})
    assert Book.objects.get(pk=11).stock == stock
    assert not Order.objects.exists()
    assert call("POST", "/reset") == (200, {"orders_removed": 0})


@pytest.mark.usefixtures("committed")
def test_reset_leaves_peoples_orders(call):
    person = Customer.objects.create_user("grace", "grace@example.org", "quiet-lamp-7", "Grace")
    stock = Book.objects.get(pk=12).stock
    order = place_order(person, uuid.uuid4(), {12: 1}, ADDRESS)
    assert call("POST", "/reset")[1] == {"orders_removed": 0}
    assert Book.objects.get(pk=12).stock == stock - 1
    order.delete()
    person.delete()


def test_metrics_are_prometheus(call):
    status, text = call("GET", "/metrics")
    assert status == 200
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert all(name.startswith(("doorbuster_shop_", "process_")) for name in families)
    assert families["doorbuster_shop_cpu_seconds"].samples[0].value > 0
    pages = families["doorbuster_shop_page_execution_seconds"].samples
    assert {sample.labels["page"] for sample in pages} >= {"Br-1", "Tr-4"}
    (settings,) = families["doorbuster_shop_settings_info"].samples
    assert settings.labels["profile"] == page_work.work.settings.profile


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("POST", "/status", 405), ("GET", "/reset", 405)],
)
def test_what_is_no_call_is_said_so(call, method, path, status):
    answered, answer = call(method, path)
    assert answered == status
    assert answer["error"]


def test_the_names_of_the_settings(call, settings):
    settings.INNER_HOST, settings.SHOP_HOST = "0.0.0.0", "shop"
    for host, status in (("shop:8083", 200), ("Shop", 200), ("0.0.0.0:8083", 403)):
        assert call("GET", "/status", Host=host)[0] == status
    settings.INNER_HOST = "fd00::5"
    assert call("GET", "/status", Host="[fd00::5]:8083")[0] == 200


def test_no_web_page_may_call(call):
    assert call("POST", "/reset", Origin="http://127.0.0.1:8083")[0] == 403


def test_nonsense_is_refused_and_the_connection_closed(port):
    with socket.create_connection(("127.0.0.1", port), timeout=240) as client:
        client.sendall(b"not http at all\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("request_line", "body", "status", "says"),
    [
        ("GET /status", b"", b"200 OK", b'"busy_workers"'),
        ("POST /reset", b"", b"200 OK", b'"orders_removed"'),
        ("PUT /settings", b'{"seed": 3}', b"400 Bad Request", b'"field": "Upgrade"'),
        ("CONNECT localhost:80", b"", b"404 Not Found", b"no such call"),
    ],
)
@pytest.mark.usefixtures("committed")
def test_who_offers_another_protocol_is_answered_in_this_one(
    port, request_line, body, status, says
):
    """`curl --http2` offers another protocol, for example."""
    head = (
        f"{request_line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=240) as client:
        client.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"\r\nConnection: close\r\n" in answer
    assert says in answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_request_in_pieces(port):
    with socket.create_connection(("127.0.0.1", port), timeout=240) as client:
        for piece in (
            b"GET /sta",
            b"tus HTTP/1.1\r\nHo",
            b"st: localhost\r\nConnection: close\r\n\r\n",
        ):
            client.sendall(piece)
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK")


def test_a_taken_port_says_the_mend(port):
    with pytest.raises(controller.PortTaken) as taken:
        controller.start(port)
    assert "DOORBUSTER_SHOP_CONTROLLER_PORT" in str(taken.value)


TOKEN = "a-token-of-the-tests-alone"


@pytest.fixture
def token(settings):
    """Let the controller require a token."""
    settings.INNER_TOKEN_REQUIRED, settings.INNER_TOKEN = True, TOKEN
    return {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    "given", [{}, {"Authorization": "Bearer "}, {"Authorization": f"Basic {TOKEN}"}]
)
@pytest.mark.parametrize("wanted", [("GET", "/status"), ("POST", "/reset"), ("PUT", "/settings")])
def test_where_the_token_is_required_calls_need_it(call, token, wanted, given):
    """A call without the right token is refused in one line, which names the place of the token."""
    status, answer = call(*wanted, None, **given)
    assert status == 401
    assert "make token" in answer["error"]
    assert "secrets.json" in answer["error"]
    assert call("GET", "/status", **token)[0] == 200


@pytest.mark.usefixtures("token")
def test_health_and_metrics_need_no_token(call):
    """Health checks and Prometheus send no token."""
    assert call("GET", "/health") == (200, {"status": "ok"})
    assert call("GET", "/metrics")[0] == 200


def test_a_controller_that_lacks_its_token_answers_nobody(call, settings):
    """An empty token is not a token."""
    settings.INNER_TOKEN_REQUIRED, settings.INNER_TOKEN = True, ""
    assert call("GET", "/status", Authorization="Bearer ")[0] == 401


def test_waiting_connections_keep_no_caller_out(port, call):
    """With all places taken, the oldest connection without a call gives way to a new one."""
    assert call("GET", "/status")[0] == 200
    waiting = []
    try:
        for _ in range(2 * controller.CONNECTIONS):
            waiting.append(socket.create_connection(("127.0.0.1", port)))
            waiting[-1].sendall(b"GET /health HTTP/1.1\r\n")
        other = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        other.request("GET", "/status")
        assert other.getresponse().status == 200
        other.close()
        assert call("GET", "/status")[0] == 200  # on the connection it had
        assert waiting[0].recv(1) == b""
    finally:
        for one in waiting:
            one.close()


def test_bytes_without_a_call_do_not_prolong_the_wait(port, monkeypatch):
    """A connection that sends a little from time to time is closed when its time has passed."""
    monkeypatch.setattr(controller, "IDLE_BEFORE_A_CALL_S", 0.3)
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.settimeout(0.1)
        slow.sendall(b"GET /status HTTP/1.1\r\n")
        began_s = time.monotonic()
        while True:
            try:
                assert slow.recv(100) == b""
                break
            except TimeoutError:
                assert time.monotonic() - began_s < 30
                slow.sendall(b"X-Slow: yes\r\n")
            except ConnectionResetError:
                break


def test_a_known_caller_may_be_silent_for_longer(port, monkeypatch):
    """The short time holds until the first call is accepted only."""
    monkeypatch.setattr(controller, "IDLE_BEFORE_A_CALL_S", 0.2)
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    kept.request("GET", "/status")
    kept.getresponse().read()
    with socket.create_connection(("127.0.0.1", port)) as silent:
        silent.settimeout(30)
        assert silent.recv(1) == b""  # longer than that time has passed
    kept.auto_open = 0
    kept.request("GET", "/status")
    assert kept.getresponse().status == 200
    kept.close()
