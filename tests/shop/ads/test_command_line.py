"""`python -m shop.ads`: it is quick without work to do, and prints one line for a wrong setting."""

import pytest

from shop.ads.configuration import Configuration, SettingsError, read
from tests.shop.ads.conftest import command, rows


def test_migrating_and_seeding_twice_changes_nothing(ads_environment):
    tables = ("banner", "contract", "delivery", "concept", "slot", "seed")
    counts = [rows(ads_environment, f"SELECT count(*) FROM ads_{table}") for table in tables]
    again = command(ads_environment, "migrate-and-seed")
    assert (again.returncode, again.stdout) == (0, "The inventory is complete\n")
    assert counts == [
        rows(ads_environment, f"SELECT count(*) FROM ads_{table}") for table in tables
    ]


def test_seeded_slots_have_room_for_what_is_contracted(ads_environment):
    [(worst,)] = rows(
        ads_environment,
        """
        WITH held AS (
            SELECT concept_id, size, sum(impressions / extract(epoch FROM ends - starts)) AS rate
            FROM ads_contract JOIN ads_banner ON ads_banner.id = banner_id
            JOIN ads_banner_concepts ON ads_banner_concepts.banner_id = ads_banner.id
            JOIN ads_concept ON ads_concept.id = concept_id
            WHERE word IN ('crime', 'travel', 'poetry') AND ads_banner.id <= 2000
              AND size = '728x90'
            GROUP BY 1, 2
        ), shown AS (
            SELECT concept_id, size, sum(views_per_day) / 86400.0 AS rate
            FROM ads_slot JOIN ads_page ON ads_page.id = page_id
            JOIN ads_slot_concepts ON slot_id = ads_slot.id GROUP BY 1, 2
        )
        SELECT max(held.rate / shown.rate) FROM held JOIN shown USING (concept_id, size)
        """,
    )
    assert worst < 1


@pytest.mark.parametrize("name", ["serve", "migrate-and-seed"])
def test_a_wrong_setting_is_named_in_one_line(ads_environment, name):
    wrong = ads_environment | {"DOORBUSTER_ADS_PRIORITY_LEVELS": "0=1,1=99"}
    refused = command(wrong, name)
    assert refused.returncode == 1
    assert "DOORBUSTER_ADS_PRIORITY_LEVELS=0=1,1=99" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PORT", "http"), ("PORT", "0"), ("PROCESSES", "0"), ("FLUSH_S", "-1"), ("FLUSH_S", "nan"),
        ("BLOCK", "0"), ("BANNERS", "-1"), ("THREADS", "1000"), ("PRIORITY_LEVELS", "1=2"),
        ("PRIORITY_LEVELS", "high"), ("PRIORITY_LEVELS", "0=0"), ("PRIORITY_LEVELS", "0=1;1=2"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used(name, text):
    with pytest.raises(SettingsError, match=f"DOORBUSTER_ADS_{name}={text}"):
        read({f"DOORBUSTER_ADS_{name}": text})


def test_more_than_two_levels():
    levels = read({"DOORBUSTER_ADS_PRIORITY_LEVELS": "0=1,1=2,2=8"}).priority_levels
    assert levels == {0: 1, 1: 2, 2: 8}
    assert read({}) == Configuration()
