"""The picture under a result's verdict, made from the table *Who sells*."""

from lab.console.results.sales_bars import MOST, picture


def who_sells(*rows, header=("ρ", "Policy", "Confirms", "Estimated")):
    return {"title": "Who sells", "header": list(header), "rows": [list(row) for row in rows]}


def test_the_highest_load_is_drawn_the_best_policy_first():
    found = picture(
        [
            who_sells(
                ("0.85", "SQ", "90", "0.99"),
                ("0.85", "DOOR-LIFO", "90", "0.98"),
                ("1.4", "SQ", "8", "0.25 ± 0.05"),
                ("1.4", "DOOR-LIFO", "21", "0.80 ± 0.10"),
            )
        ]
    )
    assert found.rho == "1.4"
    assert found.policies == 2
    assert found.bound_ratio == 1
    assert [(bar.policy, bar.words, bar.length_ratio) for bar in found.bars] == [
        ("DOOR-LIFO", "0.80 ± 0.10", 0.8),
        ("SQ", "0.25 ± 0.05", 0.25),
    ]
    assert [round(bar.interval_ratio, 9) for bar in found.bars] == [0.7, 0.2]
    assert [round(bar.interval_width_ratio, 9) for bar in found.bars] == [0.2, 0.1]


def test_a_share_beyond_the_bound_moves_the_line_of_the_bound():
    found = picture([who_sells(("2", "SQ", "8", "0.5"), ("2", "DOOR-LIFO", "21", "1.25"))])
    assert found.bound_ratio == 0.8
    assert [bar.length_ratio for bar in found.bars] == [1, 0.4]


def test_an_interval_does_not_leave_the_picture_on_the_left():
    found = picture([who_sells(("2", "SQ", "1", "0.1 ± 0.3"), ("2", "8Q-AF", "1", "0.5"))])
    assert (found.bars[1].interval_ratio, found.bars[1].interval_width_ratio) == (0, 0.4)


def test_a_wide_interval_leaves_room_for_the_bars():
    """Two repetitions can give ± 3; the interval is cut off, and the bound stays on the right."""
    found = picture([who_sells(("2", "SQ", "1", "0.25 ± 3"), ("2", "8Q-AF", "1", "0.5 ± 1.5"))])
    assert found.bound_ratio == 0.8
    assert [bar.length_ratio for bar in found.bars] == [0.4, 0.2]
    assert [(bar.interval_ratio, bar.interval_width_ratio) for bar in found.bars] == [(0, 1)] * 2


def test_many_policies_are_cut_to_the_best():
    rows = [("2", f"policy {number}", "1", f"0.{number:02}") for number in range(25)]
    found = picture([who_sells(*rows)])
    assert len(found.bars) == MOST
    assert found.policies == 25
    assert found.bars[0].policy == "policy 24"


def test_nothing_is_drawn_without_shares_to_compare():
    assert picture([]) is None
    assert picture([{"title": "Sessions", "header": ["ρ", "Policy"], "rows": []}]) is None
    assert picture([who_sells(("2", "SQ", "8", "0.5"))]) is None
    assert picture([who_sells(("2", "SQ", "8", "–"), ("2", "8Q-AF", "8", "0.5"))]) is None
    assert picture([who_sells(("2", "SQ"), ("2", "8Q-AF"), header=("ρ", "Policy"))]) is None
