"""A customer's browser against a real server: every way an attempt can end."""

import math
import select
import socket
import threading

import pytest

from loadgen.customers.browser import Browser, HostError, ShopAddress
from loadgen.records.attempts import AttemptOutcome
from tests.fake_shop.pages import small_shop
from tests.waiting import until


def _fetch(shop, path="/", patience_s=5.0):
    browser = Browser(ShopAddress.from_url(shop.url))
    try:
        return browser.fetch("GET", path, None, 1, patience_s)
    finally:
        browser.close()


@pytest.mark.parametrize(
    ("manner", "outcome", "status"),
    [
        ("page", AttemptOutcome.COMPLETED, 200),
        ("drop", AttemptOutcome.DROPPED, 503),
        ("reject", AttemptOutcome.REJECTED, 503),
        ("error", AttemptOutcome.FAILED, 500),
        ("cut", AttemptOutcome.FAILED, 200),
        ("close", AttemptOutcome.FAILED, 0),
        ("reset", AttemptOutcome.REFUSED, 0),
        ("interim", AttemptOutcome.COMPLETED, 200),
        ("interim then close", AttemptOutcome.FAILED, 103),
        ("until close", AttemptOutcome.COMPLETED, 200),
    ],
)
def test_what_the_server_does_is_an_outcome(manner, outcome, status):
    with small_shop(lambda seen: manner) as shop:
        fetched = _fetch(shop)
    assert (fetched.outcome, fetched.status) == (outcome, status)
    assert bool(fetched.reason) == (outcome in (AttemptOutcome.FAILED, AttemptOutcome.REFUSED))
    if status >= 200:
        assert fetched.request_id == "request-1"
    assert bool(fetched.body) == (outcome is AttemptOutcome.COMPLETED)


def test_nobody_listening_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        fetched = Browser(ShopAddress.from_url(url)).fetch("GET", "/", None, 1, 5)
    assert fetched.outcome is AttemptOutcome.REFUSED
    assert "refused" in fetched.reason


def test_patience_ends_in_a_real_close_at_once():
    with small_shop(lambda seen: "hang") as shop:
        browser = Browser(ShopAddress.from_url(shop.url))
        fetched = browser.fetch("GET", "/", None, 1, 1.0)
        # The browser is still there: only the close of its connection can tell the server.
        left = until(lambda: shop.requests[0].left)
        assert fetched.outcome is AttemptOutcome.TIMED_OUT
        assert left is not None
        waited = left - shop.requests[0].came
        assert 0.5 < waited < 5


def test_pages_share_one_connection_and_retries_say_their_number():
    with small_shop() as shop:
        browser = Browser(ShopAddress.from_url(shop.url))
        for attempt in (1, 2, 3):
            assert browser.fetch("GET", "/", None, attempt, 5).status == 200
        browser.close()
        assert [seen.connection for seen in shop.requests] == [1, 1, 1]
        assert [seen.headers["x-doorbuster-attempt"] for seen in shop.requests] == ["1", "2", "3"]
        assert shop.requests[0].headers["host"] == f"127.0.0.1:{shop.port}"


def test_an_idle_connection_that_the_server_closed_is_replaced_before_the_next_request():
    with small_shop(lambda seen: "page then close") as shop:
        browser = Browser(ShopAddress.from_url(shop.url))
        outcomes = []
        for _ in range(3):
            outcomes.append(browser.fetch("GET", "/", None, 1, 5).outcome)
            readable, _, _ = select.select([browser.connection.fileno()], [], [], 20)
            assert readable  # the server's FIN is here
        browser.close()
        assert outcomes == [AttemptOutcome.COMPLETED] * 3
        assert [seen.connection for seen in shop.requests] == [1, 2, 3]


def test_a_connection_lost_in_the_middle_is_a_failure_and_never_sent_twice():
    manners = iter(["page", "reset", "page"])
    with small_shop(lambda seen: next(manners)) as shop:
        browser = Browser(ShopAddress.from_url(shop.url))
        ends = [browser.fetch("GET", "/", None, 1, 5).outcome for _ in range(3)]
        browser.close()
        assert ends == [AttemptOutcome.COMPLETED, AttemptOutcome.FAILED, AttemptOutcome.COMPLETED]
        assert len(shop.requests) == 3


def test_cookies_are_kept_and_sent_back():
    with small_shop() as shop:
        browser = Browser(ShopAddress.from_url(shop.url))
        browser.fetch("GET", "/", None, 1, 5)
        browser.fetch("GET", "/", None, 1, math.inf)
        browser.close()
        assert "cookie" not in shop.requests[0].headers
        assert shop.requests[1].headers["cookie"] == "csrftoken=secret-1"


def test_every_set_cookie_of_a_response_is_kept():
    """The cookies of the shop and of the gateway come as fields of the same answer."""
    answers = [
        b"Set-Cookie: sessionid=s1; HttpOnly; Path=/\r\nset-cookie: csrftoken=c1; Path=/\r\n"
        b"Set-Cookie: doorbuster_session=1.a.2.b; Max-Age=203; Path=/; HttpOnly\r\n",
        b"Set-Cookie: doorbuster_session=1.a.3.c; Max-Age=203; Path=/; HttpOnly\r\n",
        b"Set-Cookie: csrftoken=; Max-Age=0\r\nSet-Cookie: sessionid=s2; Path=/\r\n",
        b"",
    ]
    sent: list[str] = []

    def serve(server):
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as stream:
            for fields in answers:
                head = b"".join(iter(stream.readline, b"\r\n")).decode()
                sent.append(next((x for x in head.splitlines() if x.startswith("Cookie: ")), ""))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + fields + b"\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        browser = Browser(ShopAddress.from_url(f"http://127.0.0.1:{server.getsockname()[1]}"))
        for _ in answers:
            assert browser.fetch("GET", "/", None, 1, 5).outcome is AttemptOutcome.COMPLETED
        browser.close()
        thread.join()
    assert sent == [
        "",
        "Cookie: sessionid=s1; csrftoken=c1; doorbuster_session=1.a.2.b",
        "Cookie: sessionid=s1; csrftoken=c1; doorbuster_session=1.a.3.c",
        "Cookie: sessionid=s2; doorbuster_session=1.a.3.c",
    ]


def test_a_form_is_posted_with_its_length_and_type():
    with small_shop() as shop:
        browser = Browser(ShopAddress.from_url(shop.url))
        browser.fetch("GET", "/", None, 1, 5)
        form = "csrfmiddlewaretoken=secret-1&book=17"
        fetched = browser.fetch("POST", "/checkout/login/", form, 1, 5)
        browser.close()
        assert fetched.outcome is AttemptOutcome.COMPLETED
        assert shop.requests[1].form == {"csrfmiddlewaretoken": "secret-1", "book": "17"}
        assert shop.requests[1].headers["content-type"] == "application/x-www-form-urlencoded"
        assert shop.requests[1].headers["origin"] == shop.url


@pytest.mark.parametrize(
    "url",
    ["ftp://127.0.0.1", "127.0.0.1:8080", "http://", "http://h:port", "http://127.0.0.1/shop"],
)
def test_an_address_customers_cannot_use_is_refused(url):
    with pytest.raises(HostError) as refusal:
        ShopAddress.from_url(url)
    assert str(refusal.value).startswith(f"--host {url}: ")
    assert "http://127.0.0.1:8080" in str(refusal.value)
