"""A slow database, felt by pages of the real shop in PostgreSQL."""

import time

import pytest
from django.db import connection

from shop.page_costs import page_work
from shop.page_costs.slow_database import LONGER_S, MOST_REAL_S, SlowDatabase

pytestmark = pytest.mark.usefixtures("page_work_as_before")


class Clock:
    """A clock that only the test moves."""

    def __init__(self):
        self.now_s = 50.0

    def __call__(self):
        return self.now_s


def scaled(time_scale):
    page_work.work.configure(page_work.PageWorkSettings(profile="real", time_scale=time_scale))


def test_it_ends_by_itself():
    """The paper seconds pass with the time scale, and never more than 300 real seconds."""
    clock = Clock()
    slow = SlowDatabase(clock)
    scaled(10)
    slow.begin(100)
    assert (slow.left_s, slow.times) == (100, 1)
    clock.now_s += 10.1
    assert slow.left_s == 0
    scaled(0.5)
    slow.begin(600)
    clock.now_s += MOST_REAL_S + 0.1
    assert (slow.left_s, slow.times) == (0, 2)


def test_it_can_be_ended():
    clock = Clock()
    slow = SlowDatabase(clock)
    slow.begin(100)
    slow.begin(0)
    assert (slow.left_s, slow.times) == (0, 1)


@pytest.mark.django_db
def test_each_query_waits_in_postgresql():
    """The query's own result stays; without the fault nothing waits."""
    scaled(5)
    slow = SlowDatabase()
    took_s = []
    for for_s in (0, 60):
        slow.begin(for_s)
        began_s = time.monotonic()
        with slow.felt() as is_slow, connection.cursor() as cursor:
            cursor.execute("SELECT 42")
            assert cursor.fetchone() == (42,)
            cursor.execute("SELECT 43")
            assert cursor.fetchone() == (43,)
        assert is_slow is (for_s > 0)
        took_s.append(time.monotonic() - began_s)
    assert took_s[1] - took_s[0] > 1.8 * LONGER_S / 5


@pytest.mark.usefixtures("no_page_work")
def test_a_page_is_slow_while_it_lasts(client, db):
    """The whole page waits, and afterwards it is as before."""
    from shop.page_costs.slow_database import slow_database

    scaled(10)
    assert client.get("/").status_code == 200
    slow_database.begin(60)
    began_s = time.monotonic()
    assert client.get("/").status_code == 200
    assert time.monotonic() - began_s > LONGER_S / 10
    slow_database.begin(0)
    assert slow_database.left_s == 0
