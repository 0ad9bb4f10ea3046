"""Every address of the console belongs to one page of the navigation, or to none."""

import os
import re
import subprocess
import sys

import pytest

from lab.console import pages
from runtime.settings import REPOSITORY

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

ROUTES = """
import django
django.setup()
from django.urls import get_resolver
def walk(resolver, before):
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            walk(pattern, route)
        else:
            print("/" + route)
walk(get_resolver(), "")
"""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """One of every kind, as the console's own Django has them."""
    told = subprocess.run(
        [sys.executable, "-c", ROUTES],
        cwd=REPOSITORY,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "lab.console.site.settings",
            "DOORBUSTER_STATE_DIR": str(tmp_path_factory.mktemp("state")),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return [re.sub(r"<[^>]+>", "1", line) for line in told.stdout.splitlines()]


def test_every_address_is_marked_as_the_page_it_belongs_to(addresses: list[str]) -> None:
    assert {address.split("/")[1] for address in addresses} == set(BELONGS)
    for address in addresses:
        page = "" if OF_ONE_PERSON.fullmatch(address) else BELONGS[address.split("/")[1]]
        assert pages.page_of(address) == page, address
    assert {path for path, _ in pages.navigation(has_people=True)} <= set(addresses)


def test_what_is_nowhere_is_marked_nowhere() -> None:
    assert pages.page_of("/nothing") == ""
