"""Every address of the console belongs to one page of the navigation, or to none."""

import re

import pytest

from lab.console import pages
from tests.lab.console.programs import told
from tests.lab.console.site.test_permissions import WALK

BELONGS = {
    "": "/",
    "launch": "/",
    "upload": "/",
    "lessons": "/lessons/",
    "watch": "/watch/",
    "launches": "/launches/",
    "limits": "/launches/",
    "results": "/results/",
    "race": "/race/",
    "playground": "/playground/",
    "leaderboard": "/leaderboard/",
    "scoreboard": "/scoreboard/",
    "docs": "/docs/",
    "people": "/people/",
    "api": "",
    "tokens": "/tokens/",
    "health": "",
    "metrics": "",
}
"""The first part of an address and the page it belongs to."""
OF_ONE_PERSON = re.compile("/people/(login|logout|password|sign-in.*)")
"""Addresses that belong to no page of the navigation."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """One of every kind, as the console's own Django has them."""
    routes = told(tmp_path_factory.mktemp("console"), f"{WALK}print(json.dumps(list(found)))")
    return [re.sub(r"<[^>]+>", "1", f"/{route}") for route in routes]


def test_every_address_is_marked_as_the_page_it_belongs_to(addresses: list[str]) -> None:
    assert {address.split("/")[1] for address in addresses} == set(BELONGS)
    for address in addresses:
        page = "" if OF_ONE_PERSON.fullmatch(address) else BELONGS[address.split("/")[1]]
        assert pages.page_of(address) == page, address
    assert {path for path, _ in pages.navigation(has_people=True)} <= set(addresses)


def test_what_is_nowhere_is_marked_nowhere() -> None:
    assert pages.page_of("/nothing") == ""
