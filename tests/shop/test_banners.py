"""Banners of pages: the requests to the ad server, whose faults never become a page's."""

import json
import re
import socket
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from common.http_api import CallError
from shop import ad_server
from shop import banners as module
from shop.ad_server import AdServer, Failed
from shop.banners import Banner, Banners, Patience
from tests.fake_shop.server import CLOSE, FakeServer, Raw
from tests.shop.page_checks import check
from tests.shop.test_pages import steps

PATIENCE_S = 120.0  # of tests that want the answer, on a busy machine
PLACED = {
    "id": 7,
    "image": "/ads/banner/7.svg",
    "click": "/ads/click/7",
    "width": 728,
    "height": 90,
    "alt": "Lamps & more",
}


def http(body, status="200 OK", more=""):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


GOOD = http({"banners": [PLACED]})


class FakeAds(FakeServer):
    """A server that sends `reply` to each request; None closes the connection, a list
    comes slowly."""

    def __init__(self):
        super().__init__(self._answer)
        self.reply = GOOD

    def _answer(self, request):
        if self.reply is None:
            return CLOSE
        if isinstance(self.reply, bytes):
            return Raw((self.reply,))
        return Raw(tuple(self.reply), pause_s=0.005)

    @property
    def targets(self):
        """Return the targets of the requests."""
        return [request.path for request in self.requests]


@pytest.fixture
def fake():
    with FakeAds().serving() as server:
        yield server


@pytest.fixture
def asking(fake):
    """Yield a client that waits long enough for a busy machine."""
    client = AdServer(fake.port, PATIENCE_S)
    yield client
    client.close()


class Clock:
    """A clock that stands still."""

    now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def shown(asking, clock, monkeypatch):
    """Return the banners of a shop that uses the fake ad server."""
    found = Banners(asking, Patience(clock))
    monkeypatch.setattr(module, "banners", found)
    return found


def test_an_answer_is_a_banner_and_the_connection_is_kept(fake, asking, clock):
    found = Banners(asking, Patience(clock))
    for _ in range(3):
        banner = found.choose("728x90", ["crime"], 0)
        assert banner == Banner("/ads/banner/7.svg", "/ads/click/7", 728, 90, "Lamps & more")
    assert fake.connections == 1
    assert fake.targets == ["/ads/select?slots=1&size=728x90&concepts=crime&priority=0"] * 3


def test_a_kept_connection_that_was_closed_meanwhile_is_no_failure(fake, asking):
    asking.get("/ads/select")
    fake.hang_up()
    assert json.loads(asking.get("/ads/select"))["banners"]
    assert fake.connections == 2


def test_no_banner_and_a_refusal_are_answers(fake, asking, clock):
    found = Banners(asking, Patience(clock))
    for reply in (http({"banners": []}), http({"error": "concepts: …"}, "400 Bad Request")):
        fake.reply = reply
        for _ in range(module.FAILURES_IN_A_ROW + 1):
            assert found.choose("728x90", ["crime"], 0) is None
    assert len(fake.targets) == 2 * (module.FAILURES_IN_A_ROW + 1)
    fake.reply = GOOD
    assert found.choose("728x90", ["crime"], 0) is not None


@pytest.mark.parametrize(
    "reply",
    [
        None,
        b"nonsense\r\n\r\n",
        http({"banners": [PLACED]}, "500 Internal Server Error"),
        http({"banners": [PLACED]}, "302 Found", "Location: /\r\n"),
        http(b""),
        http(b"<html>"),
        http([PLACED]),
        http({"banners": None}),
        http({"banners": [PLACED, PLACED]}),
        http({"banners": [{**PLACED, "image": "//elsewhere.example/7.svg"}]}),
        http({"banners": [{**PLACED, "image": 7}]}),
        http({"banners": [{**PLACED, "click": "javascript:alert(1)"}]}),
        http({"banners": [{**PLACED, "click": "/ads/click/7/../../account/sign-out/"}]}),
        http({"banners": [{**PLACED, "width": "100%"}]}),
        http({"banners": [{**PLACED, "alt": ""}]}),
        http({"banners": [{name: PLACED[name] for name in ("image", "click", "alt")}]}),
        http(b"[" * 60_000),
        http(b"x" * (ad_server.ANSWER_BYTES + 1)),
    ],
)
def test_anything_else_leaves_the_slot_empty(fake, asking, clock, reply):
    found = Banners(asking, Patience(clock))
    fake.reply = reply
    assert found.choose("728x90", ["crime"], 0) is None
    fake.reply = GOOD
    assert found.choose("728x90", ["crime"], 0) is not None


@pytest.mark.parametrize(
    "reply", [b"", GOOD[:-1], [b"HTTP/1.1 200 OK\r\n", *[b"X-More: 1\r\n"] * 100_000]]
)
def test_who_is_slow_is_not_waited_for_however_it_is_slow(fake, reply):
    fake.reply = reply
    client = AdServer(fake.port, 0.05)
    before_s = time.monotonic()
    with pytest.raises(Failed):
        client.get("/ads/select")
    assert time.monotonic() - before_s < 240  # 100,000 drops would take 500
    client.close()


def test_a_late_answer_is_not_taken_for_the_next_one(fake, asking):
    fake.reply = GOOD[:-1]
    hasty = AdServer(fake.port, 0.05)
    with pytest.raises(Failed):
        hasty.get("/ads/select")
    fake.reply = http({"banners": []})
    hasty.deadline_s = PATIENCE_S
    assert json.loads(hasty.get("/ads/select")) == {"banners": []}
    assert fake.connections == 2
    hasty.close()


def test_nobody_listens(clock):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening
        with pytest.raises(Failed):
            AdServer(taken.getsockname()[1], PATIENCE_S).get("/ads/select")


def test_after_failures_in_a_row_it_is_left_alone_for_a_while(fake, asking, clock):
    found = Banners(asking, Patience(clock))
    fake.reply = http(b"", "500 Internal Server Error")
    for _ in range(10):
        assert found.choose("728x90", ["crime"], 0) is None
    assert len(fake.targets) == module.FAILURES_IN_A_ROW
    clock.now_s += module.PAUSE_S
    for _ in range(10):  # one page asks
        assert found.choose("728x90", ["crime"], 0) is None
    assert len(fake.targets) == module.FAILURES_IN_A_ROW + 1
    clock.now_s += module.PAUSE_S
    fake.reply = GOOD
    for _ in range(10):
        assert found.choose("728x90", ["crime"], 0) is not None
    assert len(fake.targets) == module.FAILURES_IN_A_ROW + 11


def test_only_failures_in_a_row_count(clock):
    patience = Patience(clock)
    for _ in range(5):
        for _ in range(module.FAILURES_IN_A_ROW - 1):
            assert patience.failed() is False
        assert patience.answered() is False
        assert patience.may_ask()
    told = [patience.failed() for _ in range(module.FAILURES_IN_A_ROW + 2)]
    assert told.count(True) == 1
    assert not patience.may_ask()
    assert patience.answered() is True
    assert patience.may_ask()


def test_a_shop_without_an_ad_server_has_no_slots():
    found = Banners(None, Patience())
    assert found.wanted is False
    assert found.choose("728x90", ["crime"], 0) is None
    found.want(False)
    with pytest.raises(CallError, match="DOORBUSTER_ADS_PORT"):
        found.want(True)


def slots_of(html):
    return [
        element
        for element in check(html).all("aside")
        if "slot" in (element.get("class") or "").split()
    ]


def questions(fake):
    return [
        {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        for target in fake.targets
    ]


def test_each_of_the_eight_pages_has_one_banner(fake, shown, visitor):
    pages = [
        visitor.get(path).content.decode()
        for path in ("/", "/browse/crime/", "/search/?q=winter", "/books/5/")
    ]
    fake.requests.clear()
    pages += [html for _, _, html in steps(visitor)]
    for html in pages:
        [slot] = slots_of(html)
        assert slot["aria-label"] == "Advertisement"
        [link] = [a for a in check(html).all("a") if a["href"] == "/ads/click/7"]
        assert "sponsored" in link["rel"]
        [image] = [img for img in check(html).all("img") if img["src"] == "/ads/banner/7.svg"]
        assert (image["width"], image["height"], image["alt"]) == ("728", "90", "Lamps & more")


def test_what_is_asked_follows_from_the_page(fake, shown, visitor):
    from shop.models import Book

    shelf = Book.objects.get(pk=5).category.slug
    visitor.get("/")
    [main] = questions(fake)
    assert len(set(main["concepts"].split(","))) == module.MOST_CONCEPTS
    fake.requests.clear()
    visitor.get("/browse/crime/")
    html = visitor.get("/search/?q=winter").content.decode()
    browse, search = questions(fake)
    assert browse["concepts"] == "crime"
    found = re.findall(r'<ul class="chips">.*?</ul>', html)[0]
    assert search["concepts"].split(",") == re.findall(r"/browse/([a-z-]+)/", found)
    assert {ask["priority"] for ask in (main, browse, search)} == {"0"}
    fake.requests.clear()
    list(steps(visitor))
    book, *buying = questions(fake)
    assert (book["concepts"], book["priority"]) == (shelf, "0")
    assert [(ask["concepts"], ask["priority"]) for ask in buying] == [(shelf, "1")] * 4


def test_customers_who_are_signed_in_have_priority(fake, shown, customer):
    customer.get("/browse/crime/")
    assert [ask["priority"] for ask in questions(fake)] == ["1"]


def test_a_phone_gets_a_banner_that_it_can_show(fake, shown, visitor):
    fake.reply = http({"banners": [{**PLACED, "width": 234, "height": 60}]})
    phone = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/141.0 Mobile Safari/537.36"
    html = visitor.get("/", headers={"user-agent": phone}).content.decode()
    assert [ask["size"] for ask in questions(fake)] == ["234x60"]
    assert [slot["class"] for slot in slots_of(html)] == ["wrap slot phone"]


def test_pages_without_an_answer_have_an_empty_slot(fake, shown, visitor):
    fake.reply = None
    pages = [visitor.get(path).content.decode() for path in ("/", "/books/5/")]
    pages += [html for _, status, html in steps(visitor) if status == 200]
    assert len(pages) == 6
    for html in pages:
        [slot] = slots_of(html)
        assert "aria-label" not in slot
        assert "/ads/" not in html


def test_other_pages_have_no_slot(fake, shown, customer):
    for path in ("/cart/", "/account/", "/nowhere/"):
        assert slots_of(customer.get(path).content.decode()) == []
    assert fake.targets == []


def test_switched_off_a_page_is_as_without_an_ad_server(fake, shown, visitor):
    with_banners = [len(slots_of(html)) for _, _, html in steps(visitor)]
    shown.want(False)
    fake.requests.clear()
    pages = [visitor.get(path).content.decode() for path in ("/", "/browse/crime/", "/books/5/")]
    pages += [html for _, _, html in steps(visitor)]
    assert [len(slots_of(html)) for html in pages] == [0] * 7
    assert with_banners == [1] * 4
    assert fake.targets == []
