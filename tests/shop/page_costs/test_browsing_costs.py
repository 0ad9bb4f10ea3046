"""The command that prints the costs of a large catalogue's pages."""

import pytest

from tests.programs import python

pytestmark = pytest.mark.slow


def say(environment):
    return python("-m", "shop", "costs", "--rounds", "1", env=environment)


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
