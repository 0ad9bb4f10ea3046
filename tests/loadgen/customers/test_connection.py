"""A customer's connection over TLS to a real server: sessions, refusals, patience."""

import os
import resource
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from loadgen.customers.browser import Browser, HostError, ShopAddress
from loadgen.records.attempts import AttemptOutcome
from tests import certificate
from tests.fake_shop.pages import small_shop
from tests.resetting import will_reset

pytestmark = certificate.needs_openssl

PATIENCE_S = 120.0
"""Real seconds for events that do come, however slow this machine is."""

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


def _server(made, version=ssl.TLSVersion.TLSv1_3):
    context = made.for_server()
    context.maximum_version = version
    context.num_tickets = 2
    return context


class _Customer:
    """A browser, and the kinds of the connections it opened."""

    def __init__(self, url, authority):
        self.kinds: list[str] = []
        self.took_s: list[float] = []
        self.browser = Browser(ShopAddress.from_url(url, authority), self._connected)

    def ask(self, path="/", patience_s=PATIENCE_S):
        return self.browser.fetch("GET", path, None, 1, patience_s)

    def _connected(self, kind, took_s):
        self.kinds.append(str(kind))
        self.took_s.append(took_s)


@contextmanager
def _customer(url, made):
    customer = _Customer(url, made.chain)
    try:
        yield customer
    finally:
        customer.browser.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_connection_that_the_server_closed_is_replaced_by_a_resumed_one(made, version):
    seen: list[bool | None] = []
    context = _server(made, version)
    context.sni_callback = lambda sock, name, _: seen.append(sock.session_reused)
    with small_shop(lambda seen: "page then close", tls=context) as shop:
        with _customer(shop.url, made) as customer:
            outcomes = []
            for _ in range(3):
                outcomes.append(customer.ask().outcome)
                _wait_for_the_end_of(customer.browser)
        assert shop.connections == 3
    assert outcomes == [AttemptOutcome.COMPLETED] * 3
    assert customer.kinds == ["new", "resumed", "resumed"]
    assert seen == [False, True, True], "what the server says of the same connections"
    assert all(0 < took_s < PATIENCE_S for took_s in customer.took_s)


def test_a_form_comes_from_the_https_page(made):
    with small_shop(tls=_server(made)) as shop, _customer(shop.url, made) as customer:
        customer.ask("/")
        customer.browser.fetch("POST", "/checkout/login/", "book=1", 1, PATIENCE_S)
        assert shop.requests[-1].headers["origin"] == shop.url
        assert shop.requests[-1].headers["host"] == f"127.0.0.1:{shop.port}"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_connection_given_up_is_followed_by_a_resumed_one(made, version):
    manners = iter(["page", "hang", "page"])
    with (
        small_shop(lambda seen: next(manners), tls=_server(made, version)) as shop,
        _customer(shop.url, made) as customer,
    ):
        assert customer.ask().outcome is AttemptOutcome.COMPLETED
        assert customer.ask(patience_s=0.2).outcome is AttemptOutcome.TIMED_OUT
        assert customer.ask().outcome is AttemptOutcome.COMPLETED
    assert customer.kinds == ["new", "resumed"]


def test_a_server_without_tickets_gives_nothing_to_resume(made):
    context = _server(made)
    context.num_tickets = 0
    with (
        small_shop(lambda seen: "page then close", tls=context) as shop,
        _customer(shop.url, made) as customer,
    ):
        for _ in range(2):
            customer.ask()
            _wait_for_the_end_of(customer.browser)
    assert customer.kinds == ["new", "new"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_ticket_that_is_not_taken_makes_a_new_connection(made, version):
    with (
        small_shop(lambda seen: "page then close", tls=_server(made, version)) as shop,
        _customer(shop.url, made) as customer,
    ):
        customer.ask()
        _wait_for_the_end_of(customer.browser)
        shop.tls = _server(made, version)  # other keys, as after a restart
        assert customer.ask().outcome is AttemptOutcome.COMPLETED
    assert customer.kinds == ["new", "new"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "alert",
    [
        ssl.ALERT_DESCRIPTION_ACCESS_DENIED,
        ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE,
        ssl.ALERT_DESCRIPTION_INTERNAL_ERROR,
        ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME,
        ssl.ALERT_DESCRIPTION_USER_CANCELLED,
    ],
)
def test_an_alert_in_the_handshake_is_a_refusal(made, version, alert):
    context = _server(made, version)
    context.sni_callback = lambda sock, name, _: alert
    with small_shop(tls=context) as shop, _customer(shop.url, made) as customer:
        fetched = customer.ask()
    assert (fetched.outcome, fetched.status) == (AttemptOutcome.REFUSED, 0)
    assert fetched.reason
    assert customer.kinds == ["refused"]


def test_a_resumed_connection_is_served_where_new_ones_are_refused(made):
    context = _server(made)
    context.sni_callback = lambda sock, name, _: (
        None
        if shop.connections == 0 or sock.session_reused
        else ssl.ALERT_DESCRIPTION_ACCESS_DENIED
    )
    with (
        small_shop(lambda seen: "page then close", tls=context) as shop,
        _customer(shop.url, made) as first,
        _customer(shop.url, made) as second,
    ):
        first.ask()
        _wait_for_the_end_of(first.browser)
        assert second.ask().outcome is AttemptOutcome.REFUSED
        assert first.ask().outcome is AttemptOutcome.COMPLETED
    assert (first.kinds, second.kinds) == (["new", "resumed"], ["refused"])


@pytest.mark.parametrize(
    ("does", "outcome", "kind"),
    [
        (lambda sock: None, AttemptOutcome.REFUSED, "refused"),
        (will_reset, AttemptOutcome.REFUSED, "refused"),
        (
            lambda sock: sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            AttemptOutcome.FAILED,
            "failed",
        ),
    ],
    ids=["closed", "reset", "no TLS"],
)
def test_what_else_a_server_does_in_the_handshake(made, does, outcome, kind):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            sock, _ = server.accept()
            with sock:
                sock.recv(65536)
                does(sock)

        thread = threading.Thread(target=serve)
        thread.start()
        with _customer(f"https://127.0.0.1:{server.getsockname()[1]}", made) as customer:
            fetched = customer.ask()
        thread.join()
    assert (fetched.outcome, customer.kinds) == (outcome, [kind])
    assert fetched.reason
    assert "\n" not in fetched.reason


def test_patience_covers_a_handshake_that_never_ends(made):
    with (
        socket.create_server(("127.0.0.1", 0)) as server,  # the kernel accepts; nobody says hello
        _customer(f"https://127.0.0.1:{server.getsockname()[1]}", made) as customer,
    ):
        assert customer.ask(patience_s=0.2).outcome is AttemptOutcome.TIMED_OUT
    assert customer.kinds == ["timed_out"]
    assert 0.1 < customer.took_s[0] < PATIENCE_S


def test_a_certificate_that_nobody_vouches_for_is_not_accepted(made, tmp_path):
    other = certificate.make(tmp_path)
    with small_shop(tls=_server(made)) as shop:
        for authority in (other.chain, None):
            customer = _Customer(shop.url, authority)
            fetched = customer.ask()
            assert fetched.outcome is AttemptOutcome.FAILED
            assert "certificate" in fetched.reason
            assert customer.kinds == ["failed"]
        assert shop.requests == []


def test_the_certificate_has_to_be_for_the_host(made):
    with small_shop(tls=_server(made)) as shop:
        with _customer(f"https://localhost:{shop.port}", made) as customer:
            assert customer.ask().outcome is AttemptOutcome.COMPLETED
        asked_for = ShopAddress.from_url(f"https://127.0.0.2:{shop.port}", made.chain)
        elsewhere = Browser(replace(asked_for, peer=("127.0.0.1", shop.port)))
        fetched = elsewhere.fetch("GET", "/", None, 1, PATIENCE_S)
        elsewhere.close()
    assert fetched.outcome is AttemptOutcome.FAILED
    assert "127.0.0.2" in fetched.reason


def test_a_page_lost_on_an_idle_connection_says_so(made):
    manners = iter(["page", "close", "close"])
    with (
        small_shop(lambda seen: next(manners), tls=_server(made)) as shop,
        _customer(shop.url, made) as customer,
    ):
        customer.ask()
        kept = customer.ask()
        fresh = customer.ask()
    assert (kept.outcome, kept.was_idle) == (AttemptOutcome.FAILED, True)
    assert (fresh.outcome, fresh.was_idle) == (AttemptOutcome.FAILED, False)
    assert customer.kinds == ["new", "resumed"]


def test_plain_connections_are_new_or_refused():
    with small_shop(lambda seen: "page then close") as shop:
        customer = _Customer(shop.url, None)
        customer.ask()
    customer.browser.close()
    assert customer.ask().outcome is AttemptOutcome.REFUSED
    assert customer.kinds == ["new", "refused"]


@pytest.mark.parametrize("name", ["absent.pem", "empty.pem", "."])
def test_an_authority_that_vouches_for_nobody_is_refused(tmp_path, name):
    (tmp_path / "empty.pem").touch()
    with pytest.raises(HostError) as refusal:
        ShopAddress.from_url("https://127.0.0.1:8443", tmp_path / name)
    assert str(refusal.value).startswith(f"--authority {tmp_path / name}: ")
    assert "\n" not in str(refusal.value)


def test_an_authority_for_plain_http_is_refused(made):
    with pytest.raises(HostError, match=r"--authority: http://127.0.0.1 uses no certificate"):
        ShopAddress.from_url("http://127.0.0.1", made.chain)


def _wait_for_the_end_of(browser):
    """Wait until the server's close, from a separate thread, has arrived."""
    from gevent import select

    if browser.connection.fileno() >= 0:
        ready, _, _ = select.select([browser.connection], [], [], PATIENCE_S)
        assert ready


def test_running_out_of_files_here_is_no_refusal_there(made):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[socket.socket] = []
    with small_shop(tls=_server(made)) as shop, _customer(shop.url, made) as customer:
        assert customer.ask().outcome is AttemptOutcome.COMPLETED
        customer.browser.close()
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (_open_files() + 8, limits[1]))
            with suppress(OSError):
                while True:
                    held.append(socket.socket())
            lost = customer.ask()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for sock in held:
                sock.close()
        assert (lost.outcome, lost.reason) == (AttemptOutcome.FAILED, "Too many open files")
        assert customer.ask().outcome is AttemptOutcome.COMPLETED
        assert customer.kinds == ["new", "failed", "resumed"]


def _open_files():
    """Return the highest number of an open file, or more."""
    return max(int(name) for name in os.listdir("/proc/self/fd"))
