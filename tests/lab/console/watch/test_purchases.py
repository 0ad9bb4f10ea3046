"""The purchases on the watch page: their run, and the moment from which they count."""

from lab.console.watch.purchases import Sold

MEASURING = {"title": "A rush", "words": "measuring the shop's capacity, about 40 s left"}
BETWEEN = {"title": "A rush", "words": "between two runs", "between": True}


def run(number, **customers):
    return {"run": number, "words": f"run {number}/2: SQ, ρ = 2", "customers": customers}


def test_nothing_counts_before_the_first_run():
    """While the capacity is measured there are neither confirms nor revenue."""
    sold = Sold()
    assert sold.look(None, 1.0) is None
    assert sold.look(MEASURING, 2.0) is None


def test_both_figures_begin_at_zero_with_each_run():
    """Confirms and revenue are of the same run and the same moment."""
    sold = Sold()
    assert sold.look(run(1), 1.0) == {
        "confirms": 0, "revenue_cents": 0, "words": "run 1/2: SQ, ρ = 2", "ended_at": None,
        "before": None,
    }  # fmt: skip
    found = sold.look(run(1, confirms=3, revenue_cents=4500), 2.0)
    assert (found["confirms"], found["revenue_cents"]) == (3, 4500)
    found = sold.look(run(2), 3.0)
    assert (found["confirms"], found["revenue_cents"]) == (0, 0)
    assert found["before"] == {"confirms": 3, "words": "run 1/2: SQ, ρ = 2"}


def test_the_last_run_stays_with_its_end():
    """After a run its purchases stay, with the time when it ended."""
    sold = Sold()
    sold.look(run(1, confirms=3, revenue_cents=4500), 2.0)
    for now in (5.0, 6.0):
        found = sold.look(BETWEEN, now)
        assert (found["confirms"], found["words"]) == (3, "run 1/2: SQ, ρ = 2")
        assert found["ended_at"] == 5.0
    assert sold.look(None, 9.0)["ended_at"] == 5.0
    assert sold.look(MEASURING, 10.0) is None  # another experiment begins


def test_several_shops_at_once_have_no_common_figure():
    """Shops side by side each have their own count, so the one above them has none."""
    assert Sold().look({"run": 1, "words": "runs 1 to 2", "customers": None}, 1.0) is None
