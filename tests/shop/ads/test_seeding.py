"""Another inventory is made: people's contracts stay, those that came with the server go."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.shop.ads.conftest import command, rows

pytestmark = pytest.mark.slow


BEFORE, AFTER = 300, 200
FROM_BANNERS = "FROM ads_contract JOIN ads_banner ON ads_banner.id = banner_id"


@pytest.fixture
def environment(ads_environment):
    """Yield the environment of a separate database, without any table."""
    name = "another_inventory"
    address = psycopg.conninfo.make_conninfo(
        host=ads_environment["DOORBUSTER_POSTGRES_HOST"],
        port=ads_environment["DOORBUSTER_POSTGRES_PORT"],
        user=ads_environment["DOORBUSTER_POSTGRES_USER"],
        password=ads_environment["DOORBUSTER_POSTGRES_PASSWORD"],
        dbname=ads_environment["DOORBUSTER_POSTGRES_DB"],
    )
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield ads_environment | {"DOORBUSTER_POSTGRES_DB": name}
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def seed(environment, banners):
    done = command(environment | {"DOORBUSTER_ADS_BANNERS": str(banners)}, "migrate-and-seed")
    assert done.returncode == 0, done.stderr


def contract_of_somebody(environment):
    """Make a contract of a new advertiser with a new concept, never next to banner 1; return its
    banner."""
    now = datetime.now(UTC)
    [(advertiser,)] = rows(
        environment, "INSERT INTO ads_advertiser (name) VALUES ('Own & Sons') RETURNING id"
    )
    [(concept,)] = rows(environment, "INSERT INTO ads_concept (word) VALUES ('own') RETURNING id")
    [(banner,)] = rows(
        environment,
        "INSERT INTO ads_banner (advertiser_id, size, headline, text, target) "
        "VALUES (%s, '468x60', 'Mine', '', '/') RETURNING id",
        advertiser,
    )
    for sql, values in (
        ("INSERT INTO ads_banner_concepts (banner_id, concept_id) VALUES (%s, %s)",
         (banner, concept)),
        ("INSERT INTO ads_banner_not_beside_banners (from_banner_id, to_banner_id) "
         "VALUES (%s, 1), (1, %s)", (banner, banner)),
        ("INSERT INTO ads_contract (banner_id, impressions, starts, ends, accepted, renews, "
         "revision) VALUES (%s, 500, %s, %s, %s, false, 1)",
         (banner, now, now + timedelta(days=9), now + timedelta(microseconds=1))),
        ("INSERT INTO ads_delivery (banner_id, delivered, clicks, revision) VALUES (%s, 77, 5, 1)",
         (banner,)),
        ("INSERT INTO ads_placement (page_id, impressions, clicks) VALUES (1, 40, 4)", ()),
    ):  # fmt: skip
        rows(environment, sql, *values)
    return banner


@pytest.mark.long
def test_another_number_keeps_what_people_made(environment):
    seed(environment, BEFORE)
    banner = contract_of_somebody(environment)
    # One that came with the server is ended by hand: it is no less the server's.
    rows(environment, "UPDATE ads_contract SET renews = false, ends = now() WHERE id = 7")
    [page] = rows(environment, "SELECT name, publisher_id FROM ads_page WHERE id = 1")

    seed(environment, AFTER)
    assert rows(
        environment,
        f"SELECT headline, impressions, delivered, clicks, word {FROM_BANNERS} "
        "JOIN ads_delivery USING (banner_id) JOIN ads_banner_concepts USING (banner_id) "
        "JOIN ads_concept ON ads_concept.id = concept_id WHERE banner_id = %s",
        banner,
    ) == [("Mine", 500, 77, 5, "own")]
    assert rows(environment, "SELECT count(*) FROM ads_contract") == [(AFTER + 1,)]
    assert rows(environment, "SELECT count(*) FROM ads_banner") == [(AFTER + 1,)]
    assert rows(environment, "SELECT count(*) FROM ads_delivery") == [(AFTER + 1,)]
    assert rows(environment, f"SELECT count(*) {FROM_BANNERS} WHERE renews") == [(AFTER,)]
    assert rows(environment, "SELECT name, publisher_id FROM ads_page WHERE id = 1") == [page]
    assert rows(environment, "SELECT impressions, clicks FROM ads_placement") == [(40, 4)]
    # Nothing refuses a banner that is gone.
    assert rows(
        environment,
        "SELECT count(*) FROM ads_banner_not_beside_banners WHERE %s IN "
        "(from_banner_id, to_banner_id)",
        banner,
    ) == [(0,)]

    seed(environment, BEFORE)  # and once more, beside contracts with higher numbers
    assert rows(environment, "SELECT count(*) FROM ads_contract") == [(BEFORE + 1,)]
    assert rows(environment, "SELECT headline FROM ads_banner WHERE id = %s", banner) == [("Mine",)]
    [(highest, following)] = rows(
        environment, "SELECT max(id), nextval('ads_banner_id_seq') FROM ads_banner"
    )
    assert following == highest + 1


def test_without_people_it_is_as_if_seeded_for_the_first_time(environment):
    seed(environment, BEFORE)
    forecasts = "SELECT id, name, views_per_day FROM ads_page ORDER BY id"
    banners = f"SELECT banner_id, headline, impressions {FROM_BANNERS} ORDER BY banner_id"
    links = "SELECT slot_id, concept_id FROM ads_slot_concepts ORDER BY 1, 2"
    first = [rows(environment, sql) for sql in (forecasts, banners, links)]
    seed(environment, AFTER)
    assert rows(environment, forecasts) != first[0]
    seed(environment, BEFORE)
    assert [rows(environment, sql) for sql in (forecasts, banners, links)] == first
