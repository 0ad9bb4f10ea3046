"""Contracts that come with the server go on, at their rate, without a second delivery."""

from datetime import UTC, datetime, timedelta

import pytest

from shop.ads.inventory import due
from tests.shop.ads.conftest import rows, served, under_its_settings
from tests.shop.ads.management.test_contracts import CONTRACT, changed, time

pytestmark = pytest.mark.slow


NOW = datetime.now(UTC)
HOURS = timedelta(hours=1)
DAYS = timedelta(days=1)
TERM = 90 * DAYS
# Not from shop.ads.models: under the shop's settings its tables would be taken for the shop's.
MOST_IMPRESSIONS = 1_000_000_000
_RENEW = """
import sys, django
from datetime import datetime
django.setup()
from shop.ads.delivery import renewing
print(renewing.renew(datetime.fromisoformat(sys.argv[1])))
"""


def renew(environment, now=NOW):
    """Return how many contracts are renewed at that time."""
    return int(under_its_settings(environment, _RENEW, now.isoformat()))


def contract(environment, id):
    """Return (starts, ends, impressions, delivered) of the contract."""
    [found] = rows(
        environment,
        "SELECT starts, ends, impressions, delivered FROM ads_contract "
        "JOIN ads_delivery USING (banner_id) WHERE ads_contract.id = %s",
        id,
    )
    return found


@pytest.fixture
def of_time(ads_environment):
    """Yield a function that changes the time of a self-renewing contract; end the contract
    afterwards."""
    used = []

    def change(id, starts, ends, renews=True):
        used.append(id)
        rows(
            ads_environment,
            "UPDATE ads_contract SET starts = %s, ends = %s, impressions = 1000, renews = %s "
            "WHERE id = %s",
            starts, ends, renews, id,
        )  # fmt: skip
        rows(ads_environment, "UPDATE ads_delivery SET delivered = 900 WHERE banner_id = %s", id)

    yield change
    for id in tuple(used):
        change(id, NOW - 2 * DAYS, NOW - DAYS, renews=False)


def test_a_contract_that_is_about_to_end_goes_on_where_it_is(ads_environment, of_time):
    starts, ends = NOW - 10 * DAYS, NOW + 12 * HOURS
    of_time(21, starts, ends)
    owed = due(1000, starts, ends, NOW)
    assert renew(ads_environment) >= 1
    renewed = contract(ads_environment, 21)
    assert renewed[:2] == (starts, ends + TERM)
    assert renewed[2] == round(1000 * (1 + TERM / (ends - starts)))
    assert renewed[3] == 900
    assert due(renewed[2], *renewed[:2], NOW) == pytest.approx(owed, abs=1)
    assert renew(ads_environment) == 0
    assert contract(ads_environment, 21) == renewed


def test_time_in_which_nobody_served_is_not_made_up_for(ads_environment, of_time):
    starts, ends = NOW - 240 * DAYS, NOW - 200 * DAYS
    of_time(22, starts, ends)
    assert renew(ads_environment) >= 1
    renewed = contract(ads_environment, 22)
    assert renewed[:2] == (starts + 200 * DAYS, NOW + TERM)
    assert renewed[2:] == (round(1000 * (1 + 90 / 40)), 900)
    assert due(renewed[2], *renewed[:2], NOW) == pytest.approx(1000, abs=1)


def test_no_rate_is_too_large_to_be_renewed(ads_environment, of_time):
    """A person has moved the start of such a contract to just before its end."""
    of_time(27, NOW - 10 * DAYS - timedelta(seconds=1), NOW - 10 * DAYS)
    assert renew(ads_environment) >= 1
    assert contract(ads_environment, 27)[1:3] == (NOW + TERM, MOST_IMPRESSIONS)


def test_who_has_time_or_does_not_renew_is_left_alone(ads_environment, of_time):
    of_time(23, NOW - 10 * DAYS, NOW + 5 * DAYS)
    of_time(24, NOW - 10 * DAYS, NOW + 1 * HOURS, renews=False)
    before = contract(ads_environment, 23), contract(ads_environment, 24)
    renew(ads_environment)
    assert (contract(ads_environment, 23), contract(ads_environment, 24)) == before


def test_a_contract_that_somebody_ended_stays_ended(ads, token, of_time):
    of_time(25, NOW - 10 * DAYS, NOW + 5 * DAYS)
    assert ads.call("POST", "/ads/contracts/25/end", token=token).status == 200
    ended = contract(ads.environment, 25)
    assert ended[1] < NOW + DAYS
    renew(ads.environment, NOW + DAYS)
    assert contract(ads.environment, 25) == ended


def test_a_contract_by_the_api_is_for_the_time_that_was_agreed(ads, token):
    [id] = [ads.call("POST", "/ads/contracts", CONTRACT, token=token).json["id"]]
    assert ads.rows("SELECT renews FROM ads_contract WHERE id = %s", id) == [(False,)]
    ads.call("POST", f"/ads/contracts/{id}/end", token=token)


def test_what_renews_itself_holds_its_capacity_for_good(ads, token):
    body = changed("impressions", 10**9) | {"starts": time(400), "ends": time(401)}
    refusal = ads.call("POST", "/ads/contracts", body, token=token).json
    body |= {"starts": time(2), "ends": time(3)}
    soon = ads.call("POST", "/ads/contracts", body, token=token).json
    assert refusal["held"] == pytest.approx(soon["held"], rel=0.5)
    assert 0 < refusal["held"] < refusal["forecast"]


def test_a_server_that_starts_renews_what_has_ended(ads_environment, of_time, tmp_path):
    of_time(26, NOW - 50 * DAYS, NOW - 40 * DAYS)
    with served(ads_environment, tmp_path / "ads.log"):
        assert contract(ads_environment, 26)[1] > NOW + 89 * DAYS
