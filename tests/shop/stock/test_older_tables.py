"""Tables that earlier versions made: this one uses them or refuses them in one line."""

import os

import psycopg
import pytest

from tests.programs import python

SCHEMA = "older_shop"


@pytest.fixture(scope="module")
def database(appliance_database):
    """Yield a connection to the database, in which the schema has the tables of this version."""
    with psycopg.connect(
        host="127.0.0.1",
        port=appliance_database.postgres_port,
        user=appliance_database.postgres_user,
        password=appliance_database.postgres_password,
        dbname=appliance_database.postgres_db,
        autocommit=True,
    ) as connection:
        made = prepare()
        assert made.returncode == 0, made.stderr
        yield connection
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def prepare():
    environment = {
        name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"
    }
    return python(
        "-m",
        "shop",
        "migrate-and-seed",
        env={
            **environment,
            "DOORBUSTER_SHOP_SCHEMA": SCHEMA,
            "DOORBUSTER_CATALOGUE_BOOKS": "1000",
        },
    )


def test_the_last_tables_before_the_first_release_go_on(database):
    database.execute(
        f"INSERT INTO {SCHEMA}.django_migrations (app, name, applied) VALUES "
        "('shop', '0002_order_country_choices', now()), ('shop', '0003_catalogue_size', now())"
    )
    again = prepare()
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.splitlines() == ["The catalogue is complete"]


def test_older_tables_are_refused_in_one_line(database):
    database.execute(f"ALTER TABLE {SCHEMA}.shop_seedstate DROP COLUMN books")
    refused = prepare()
    assert refused.returncode == 1
    assert refused.stderr == (
        f"Error: an earlier version of Doorbuster created the tables of the schema {SCHEMA}: "
        "shop_seedstate has no column books; fix: `make reset`, which empties the database and "
        "keeps the results\n"
    )
