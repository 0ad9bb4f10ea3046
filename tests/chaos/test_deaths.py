"""One part is killed under load and comes back by itself.

No order is lost or doubled, and the experiment that was under way reports what happened.
"""

import time

import pytest

from tests.chaos import experiment, ledger
from tests.chaos.buyers import Buyers
from tests.chaos.experiment import Experiment
from tests.chaos.runtimes import Runtime, wait_for
from tests.chaos.served import Look
from tests.chaos.table import PARTS, Row

pytestmark = pytest.mark.timeout(1800)

BUYERS = 8
BACK_WITHIN_S = 120.0
"""Seconds until pages come again; a busy machine needs far more than an idle one."""

SAID = {
    "postgres": "PostgreSQL was unavailable",
    "redis": "Redis was unavailable",
    "gateway": "The gateway died in mid-run",
    "shop": "The shop died in mid-run",
    "lab-worker": "The process that ran the launch has died",
}
STATES = {"gateway": "failed", "shop": "failed", "lab-worker": "interrupted"}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_dies_under_load(part: str, runtime: Runtime, rows: list[Row]) -> None:
    buyers, look, killed_s, balance = _under_buyers(runtime, part)
    under_way = _under_an_experiment(runtime, part)
    rows.append(
        Row(
            part=part,
            served_again_s=look.served_again_s(killed_s),
            looks=look.failures(killed_s),
            requests=buyers.requests,
            failures=buyers.failures,
            balance=balance,
            lost_in_run=under_way.orders_lost,
            doubled_in_run=under_way.orders_doubled,
            state=under_way.state,
            said=_said(under_way),
        )
    )
    assert look.served_again_s(killed_s) < BACK_WITHIN_S
    assert (balance.lost, balance.doubled) == (0, 0)
    assert balance.confirmed == balance.purchases, balance.given_up
    assert balance.copies_add_up
    assert balance.money_adds_up
    assert under_way.state == STATES.get(part, "done"), under_way.output()
    assert "Traceback" not in under_way.output()
    assert not under_way.orders_lost
    assert not under_way.orders_doubled
    assert SAID.get(part, "") in _said(under_way)
    if under_way.state == "done":
        assert not [line for line in under_way.honesty if "DO NOT RECONCILE" in line]


def _under_buyers(runtime: Runtime, part: str) -> tuple[Buyers, Look, float, ledger.Balance]:
    before = ledger.Books.of(runtime)
    buyers, look = Buyers(runtime.shop_url, BUYERS), Look(runtime.shop_url)
    look.start()
    buyers.start()
    try:
        killed_s = _killed_under(runtime, part, buyers, look)
    finally:
        buyers.leave()
        look.stop()
    return buyers, look, killed_s, ledger.balance(before, runtime, buyers.purchases)


def _killed_under(runtime: Runtime, part: str, buyers: Buyers, look: Look) -> float:
    """Kill the part; return the time (monotonic) when all buyers buy again."""
    wait_for(lambda: buyers.confirmed >= BUYERS, "orders")
    killed_s = time.monotonic()
    runtime.kill(part)
    try:
        wait_for(lambda: runtime.began_again(part), f"{part} again", within_s=BACK_WITHIN_S)
    except AssertionError:
        pytest.fail(f"{part} did not come back:\n{runtime.last_words(part)}")
    bought = buyers.confirmed
    wait_for(lambda: buyers.confirmed >= bought + 2 * BUYERS, "orders after it")
    quiet_s = time.monotonic()
    wait_for(lambda: len(look.since(quiet_s)) >= 10 and not any(look.since(quiet_s)[-10:]), "peace")
    return killed_s


def _under_an_experiment(runtime: Runtime, part: str) -> Experiment:
    under_way = experiment.launched(runtime)
    under_way.wait_until_customers_come()
    runtime.kill(part)
    wait_for(lambda: runtime.began_again(part), f"{part} again", within_s=BACK_WITHIN_S)
    wait_for(lambda: _answers(runtime), "the console")
    under_way.ended()
    wait_for(lambda: runtime.load_generators() == 0, "the end of the load")
    if under_way.state != "done":
        following = experiment.launched(runtime, experiment.SIMULATED)
        following.ended()
        assert following.state == "done", following.output()
    return under_way


def _answers(runtime: Runtime) -> bool:
    try:
        return bool(runtime.console.get("/health").ok)
    except OSError:  # what requests raises is one
        return False


def _said(under_way: Experiment) -> str:
    """Return the launch's reason, and the report's lines about parts that were away."""
    lines = [line for line in under_way.honesty if "AWAY" in line or "DO NOT RECONCILE" in line]
    return " ".join(filter(None, (under_way.reason, *lines)))


def test_who_launches_while_redis_is_away_is_told_so(runtime: Runtime) -> None:
    console = runtime.console
    with runtime.without("broker"):
        answer = console.upload("spec", "/upload/", "my.toml", experiment.SIMULATED.encode())
        assert "Redis does not answer. The launch cannot begin until Redis answers." in answer.text
        launch = answer.url.rstrip("/").rsplit("/", 1)[-1]
        assert console.state_of(launch) == "queued"
    console.wait_until(launch, "done")


def test_what_a_customer_sees_while_parts_are_away(runtime: Runtime) -> None:
    import requests

    def seen(path: str) -> tuple[int, str, bool]:
        answer = requests.get(runtime.shop_url + path, timeout=60)
        assert "Traceback" not in answer.text
        return answer.status_code, answer.text, "Retry-After" in answer.headers

    with runtime.without("shop"):
        status, page, says_when = seen("/")
        assert (status, says_when) == (502, True)
        assert "The shop did not give a usable answer. Please try again in a moment." in page
    wait_for(lambda: seen("/")[0] == 200, "pages")
    with runtime.without("postgres"):
        status, page, says_when = seen("/")
        assert (status, says_when) == (503, True)
        assert "Closed for a moment" in page
    wait_for(lambda: seen("/")[0] == 200, "pages")
    with runtime.without("redis"):
        assert seen("/")[0] == seen("/cart/")[0] == 200
