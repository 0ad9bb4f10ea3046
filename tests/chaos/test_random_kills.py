"""Parts are killed and stopped at random, and the whole at once, under buyers who never give up.

PostgreSQL has exactly what the buyers were shown: no order is lost, doubled or half, no refused
order exists, and every copy of every book is in stock or in an order.
"""

import threading
import time
from collections import Counter
from random import Random

import pytest

from tests.chaos import ledger, table
from tests.chaos.buyers import Buyers
from tests.chaos.runtimes import Runtime, wait_for
from tests.chaos.table import PARTS, STORM

pytestmark = pytest.mark.timeout(6 * 3600)

BUYERS = 8
PAUSE_S = (0.5, 3.0)
STOPPED_S = 3.0
CUT_EVERY_S = 75.0
ABANDONMENT_S = 10.0
"""Seconds for which leaving cancels, and then for which it is ignored."""
SEED = 17


def test_random_kills(runtime: Runtime, pytestconfig: pytest.Config) -> None:
    with ledger.few_copies(runtime) as scarce:
        _check_orders_after_a_storm(runtime, pytestconfig.getoption("--storm-minutes"), scarce)


def _check_orders_after_a_storm(runtime: Runtime, minutes: float, scarce: list[int]) -> None:
    before = ledger.Books.of(runtime)
    buyers = Buyers(runtime.shop_url, BUYERS, scarce, is_rough=True)
    over = threading.Event()
    switch = threading.Thread(target=_switch_abandonment, args=(runtime, over), daemon=True)
    switch.start()
    buyers.start()
    try:
        done = _storm(runtime, Random(SEED), minutes * 60)
        bought = buyers.confirmed
        wait_for(lambda: buyers.confirmed >= bought + 2 * BUYERS, "orders after the storm")
    finally:
        buyers.leave()
        over.set()
        switch.join()
        runtime.set_abandonment("ignore")
    balance = ledger.balance(before, runtime, buyers.purchases)
    path = table.written(runtime.name, [], _section(runtime, minutes, buyers, done, balance))
    print(f"\n{path.read_text(encoding='utf-8').partition(STORM)[2]}\nwritten to {path}")
    assert (balance.lost, balance.doubled, balance.shown_two) == (0, 0, 0)
    assert balance.refused_yet_ordered == 0
    assert balance.money_adds_up
    assert balance.copies_add_up
    assert balance.banners_add_up
    assert not balance.given_up
    assert balance.confirmed + sum(one.refused for one in buyers.purchases) == balance.purchases


def _storm(runtime: Runtime, rng: Random, duration_s: float) -> Counter[str]:
    """Kill and stop parts at random; return the number of each action."""
    done: Counter[str] = Counter()
    began_s = cut_s = time.monotonic()
    while time.monotonic() - began_s < duration_s:
        time.sleep(rng.uniform(*PAUSE_S))
        part = rng.choice(PARTS)
        if time.monotonic() - cut_s > CUT_EVERY_S:
            runtime.cut()
            done["everything at once"] += 1
            cut_s = time.monotonic()
        elif rng.random() < 0.2:
            done[f"{part} stopped"] += runtime.stop_for(part, STOPPED_S)
        else:
            done[f"{part} killed"] += runtime.kill_any(part, rng)
    return done


def _switch_abandonment(runtime: Runtime, over: threading.Event) -> None:
    """Switch the effect of leaving again and again: a part that was killed has forgotten it."""
    began_s = time.monotonic()
    while not over.wait(1.0):
        is_cancel = int((time.monotonic() - began_s) / ABANDONMENT_S) % 2 == 0
        runtime.set_abandonment("cancel" if is_cancel else "ignore")


def _section(
    runtime: Runtime,
    minutes: float,
    buyers: Buyers,
    done: Counter[str],
    balance: ledger.Balance,
) -> list[str]:
    """Return the section for docs/results/chaos-<runtime>.md."""
    killed = sum(count for what, count in done.items() if what.endswith("killed"))
    stopped = sum(count for what, count in done.items() if what.endswith("stopped"))
    failures = ", ".join(f"{how} × {count}" for how, count in buyers.failures.most_common())
    figures = (
        ("begun purchases", balance.purchases),
        ("confirmed purchases", balance.confirmed),
        (
            "purchases refused because no copies were left",
            sum(one.refused for one in buyers.purchases),
        ),
        ("different keys of payment forms", balance.keys),
        ("orders in the database", balance.orders),
        ("lost orders", balance.lost),
        ("doubled orders", balance.doubled),
        ("buyers who saw two order numbers", balance.shown_two),
        ('orders although the page said "nothing was ordered"', balance.refused_yet_ordered),
        ("orders that have no lines or a wrong total", "none" if balance.money_adds_up else "SOME"),
        ("copies of each book", "add up" if balance.copies_add_up else "DO NOT ADD UP"),
        (
            "impressions counted for banners and for pages",
            f"{balance.banners:,}{' each' if balance.banners_add_up else ', NOT EQUAL'}",
        ),
        ("buyers who had to sign in again", buyers.signed_in_again),
        ("failed requests", f"{sum(buyers.failures.values())} of {buyers.requests}"),
    )
    return [
        STORM,
        "",
        f'`make test-chaos RUNTIME={runtime.name} ARGS="-k random_kills --storm-minutes '
        f'{minutes:g}"`, {table.measured()}. {BUYERS} buyers go from the home page to the '
        "confirmation page, and send every form again, with the same key, until they receive a "
        "page. In four of five confirmations, they reset, close or half-close the connection, or "
        "send the form twice. For half of the time, the shop cancels the work of buyers who left. "
        f"Meanwhile, the test kills {killed} processes (`kill -9`), stops parts for {STOPPED_S:g} "
        f"real seconds {stopped} times, and kills all parts at once ({done['everything at once']} "
        "times).",
        "",
        "| what was counted | number |",
        "| --- | ---: |",
        *(f"| {what} | {count} |" for what, count in figures),
        "",
        f"Requests failed with: {failures or 'nothing'}.",
    ]
