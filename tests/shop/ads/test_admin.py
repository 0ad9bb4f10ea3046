"""The admin accepts contracts as the API does, and shows their progress."""

import html
import http.cookiejar
import re
import urllib.parse
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest

from tests.shop.ads.conftest import CLIENT_TIMEOUT_S, command

pytestmark = pytest.mark.slow


NAME, PASSWORD = "olive", "a long password for tests"


class Person:
    """A person at a browser."""

    def __init__(self, url, address=""):
        """Make the person a client of the gateway with this address, if one is given."""
        self._url = url
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()),
        )
        if address:
            self._opener.addheaders.append(("X-Forwarded-For", address))

    def get(self, path):
        with self._opener.open(self._url + path, timeout=CLIENT_TIMEOUT_S) as response:
            return response.read().decode()

    def post(self, path, **fields):
        """Send the form at `path`; return the page it leads to."""
        [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(path)))
        pairs = [("csrfmiddlewaretoken", token)]
        for name, value in fields.items():
            pairs += [(name, one) for one in (value if isinstance(value, list) else [value])]
        data = urllib.parse.urlencode(pairs).encode()
        request = urllib.request.Request(
            self._url + path, data, {"Referer": self._url + path, "Origin": self._url}
        )
        with self._opener.open(request, timeout=CLIENT_TIMEOUT_S) as response:
            return html.unescape(response.read().decode())


@pytest.fixture(scope="module")
def operator(ads):
    made = command(ads.environment, "operator", NAME, "--password", PASSWORD)
    assert made.returncode == 0, made.stderr
    person = Person(ads.url)
    assert "Contracts" in person.post(
        "/ads/admin/login/?next=/ads/admin/", username=NAME, password=PASSWORD
    )
    return person


def test_a_weak_password_is_refused(ads):
    refused = command(ads.environment, "operator", "weak", "--password", "1234")
    assert refused.returncode == 1
    assert "too short" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_nobody_else_gets_in(ads):
    person = Person(ads.url)
    assert 'name="password"' in person.get("/ads/admin/ads/contract/")
    page = person.post("/ads/admin/login/", username=NAME, password="something else entirely")
    assert "Please enter the correct" in page


def test_the_eleventh_wrong_password_is_not_checked(ads, operator):
    """An address that has reached the limit gets a message with the time of the next attempt."""
    person = Person(ads.url, address="192.0.2.7")
    login = "/ads/admin/login/?next=/ads/admin/"
    for _ in range(10):
        assert "Please enter the correct" in person.post(login, username=NAME, password="wrong")
    refused = person.post(login, username=NAME, password=PASSWORD)
    assert re.search(r"Too many wrong passwords\. Try again in \d+ s\.", refused)
    other = Person(ads.url, address="192.0.2.8")
    assert "Contracts" in other.post(login, username=NAME, password=PASSWORD)


@pytest.mark.parametrize(
    "table",
    [
        "advertiser", "banner", "concept", "contract", "delivery", "page", "publisher", "server",
    ],
)  # fmt: skip
def test_every_table_is_there_and_can_be_searched(operator, table):
    assert "Doorbuster ad server" in operator.get(f"/ads/admin/ads/{table}/")
    if table not in ("delivery", "server"):
        assert "Doorbuster ad server" in operator.get(f"/ads/admin/ads/{table}/?q=a")
        assert "Doorbuster ad server" in operator.get(f"/ads/admin/ads/{table}/add/")


def test_its_styles_are_served(ads, operator):
    page = operator.get("/ads/admin/")
    [style] = re.findall(r'href="(/ads/static/admin/css/base[^"]*)"', page)
    assert ads.get(style).headers["Content-Type"].startswith("text/css")


def test_a_contract_is_accepted_refused_and_ended(ads, operator):
    [(concept,)] = ads.rows("SELECT id FROM ads_concept WHERE word = 'travel'")
    page = operator.post(
        "/ads/admin/ads/banner/add/",
        advertiser=1, size="125x125", headline="By hand", text="", target="/", concepts=concept,
    )  # fmt: skip
    assert "was added successfully" in page
    [(banner,)] = ads.rows("SELECT id FROM ads_banner WHERE headline = 'By hand'")
    now = datetime.now(UTC)
    fields = {
        "banner": banner,
        "starts_0": now.date(), "starts_1": "00:00",
        "ends_0": (now + timedelta(days=9)).date(), "ends_1": "00:00",
    }  # fmt: skip

    def contracts():
        return ads.rows("SELECT count(*) FROM ads_contract WHERE banner_id = %s", banner)[0][0]

    path = "/ads/admin/ads/contract/add/"
    assert "impressions are wanted" in operator.post(path, impressions=999_999_999, **fields)
    assert "must be after the start" in operator.post(
        path, impressions=5, **{**fields, "ends_0": "2020-01-01"}
    )
    assert "greater than or equal to" in operator.post(path, impressions=-5, **fields)
    assert contracts() == 0
    assert "was added successfully" in operator.post(path, impressions=50, **fields)
    assert contracts() == 1
    assert "By hand" in operator.get("/ads/admin/ads/contract/?q=By+hand")
    [(id,)] = ads.rows("SELECT id FROM ads_contract WHERE banner_id = %s", banner)
    # What its capacity was verified for cannot be changed any more.
    form = operator.get(f"/ads/admin/ads/banner/{banner}/change/")
    assert 'name="headline"' in form
    assert 'name="concepts"' not in form
    page = operator.post("/ads/admin/ads/contract/", action="end", _selected_action=id)
    assert "no longer shown" in page
    [(ends,)] = ads.rows("SELECT ends FROM ads_contract WHERE id = %s", id)
    assert ends <= datetime.now(UTC) + timedelta(seconds=2)


def test_a_banner_has_not_too_many_concepts(ads, operator):
    many = [id for (id,) in ads.rows("SELECT id FROM ads_concept ORDER BY id LIMIT 7")]
    page = operator.post(
        "/ads/admin/ads/banner/add/",
        advertiser=1, size="125x125", headline="Too much", text="", target="/", concepts=many,
    )  # fmt: skip
    assert "1 to 6 concepts" in page
    assert ads.rows("SELECT count(*) FROM ads_banner WHERE headline = 'Too much'") == [(0,)]
