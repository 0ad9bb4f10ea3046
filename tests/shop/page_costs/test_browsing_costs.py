"""The command that prints the costs of a large catalogue's pages."""

import subprocess
import sys

from loadgen.customers import shop_pages
from shop.page_costs import browsing_costs


def say(environment):
    return subprocess.run(
        [sys.executable, "-m", "shop", "costs", "--rounds", "1"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
        check=False,
    )


def test_every_browsing_page_has_its_line(shop_environment):
    said = say(shop_environment)
    assert said.returncode == 0, said.stderr
    assert "a shop of 4,309 books" in " ".join(said.stdout.split())
    for page in ("Br-1 home", "Br-2 browse", "Br-3 search", "Br-4 details"):
        assert page in said.stdout


def test_no_database_is_said_in_one_line(shop_environment):
    said = say(shop_environment | {"DOORBUSTER_POSTGRES_PORT": "9"})
    assert said.returncode == 1
    assert "port 9 failed: Connection refused" in said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_the_words_are_the_customers():
    assert browsing_costs.SEARCH_WORDS == shop_pages.SEARCH_WORDS
