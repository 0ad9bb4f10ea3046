"""A class goes on working while one of its students tries every attack that a review found.

`make bench-class ARGS=--hostile` does the same with thirty students for ten minutes.
"""

import threading

import psutil
import pytest

from bench.classroom.attacks import ATTACKS, Attacker
from bench.classroom.browser import Person, Records
from runtime.settings import load
from tests.lab.console.conftest import run

pytestmark = pytest.mark.long

MOST_GROWTH_BYTES = 400 * 2**20
"""The attack with a large table once made the console grow by 5 GiB."""
PAGES = ("/", "/launches/", "/results/", "/leaderboard/", "/scoreboard/", "/metrics", "/race/")


@pytest.fixture(scope="module")
def lab(classroom):
    return load(classroom.environment)


@pytest.fixture(scope="module")
def attempts():
    return Records()


@pytest.fixture(scope="module")
def attacker(classroom, lab, attempts, tmp_path_factory):
    file = tmp_path_factory.mktemp("people") / "class.csv"
    file.write_text("mal\nbea\n")
    accounts = dict(
        line.split(",") for line in run(classroom, "students", str(file)).stdout.split()
    )
    mal = Person(lab, "mal", accounts["mal"], attempts)
    mal.log_in()
    return Attacker(mal, seed=1), accounts["bea"]


@pytest.mark.parametrize("attack", [one for one in ATTACKS if one != "inner_host"])
def test_pages_of_others_survive(attack, attacker, lab, attempts):
    """An attack gets no answer 500, and every page of another student stays whole.

    There is no gateway here; `tests/gateway/admin/test_api.py` has calls without a token.
    """
    attacker, password = attacker
    before = len(attempts.answers)
    attacker.attack(attack)
    tried = attempts.answers[before:]
    assert tried
    assert [one for one in tried if one.status == 0 or one.status >= 500] == []

    seen = Records()
    bea = Person(lab, "bea", password, seen)
    bea.log_in()
    for path in PAGES:
        bea.get(path, path)
    assert seen.errors() == []


def test_console_stays_small(attacker, lab):
    attacker, _ = attacker
    server = next(
        psutil.Process(one.pid)
        for one in psutil.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN and one.laddr.port == lab.lab_port and one.pid
    )
    before = server.memory_info().rss
    most, over = [before], threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            most.append(server.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    attacker.attack("large_parquet")
    over.set()
    watcher.join()
    assert max(most) - before < MOST_GROWTH_BYTES
