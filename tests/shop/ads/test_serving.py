"""The ad server as it is really served."""

from urllib.parse import urlsplit

import pytest

from tests.shop.largest_requests import LARGEST, status_of


@pytest.mark.parametrize("what", LARGEST)
def test_what_the_gateway_lets_through_is_read(ads, what):
    assert status_of(LARGEST[what], urlsplit(ads.url).port) == 404
