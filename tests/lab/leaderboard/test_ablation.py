"""The effect of each rule of DOOR, and the condition under which a step fails."""

import pytest

from lab.leaderboard.ablation import STEPS, steps_of, table, words
from tests.lab.leaderboard.made_up import cell


def cells(*efficiencies):
    """Per step the repetitions at ρ = 1.4; at ρ = 2 a hundredth less of each."""
    found = []
    for (policy, _), values in zip(STEPS, efficiencies, strict=True):
        found.append(cell(policy, 1.4, *values))
        found.append(cell(policy, 2.0, *(value - 0.01 for value in values)))
    return found


RISING = cells((0.70, 0.72, 0.71), (0.78, 0.79, 0.80), (0.98, 0.99, 0.97), (0.97, 0.99, 0.98),
               (0.98, 0.98, 0.99))  # fmt: skip


def test_steps_that_carry_and_steps_within_their_intervals():
    later, hands, door, gone = steps_of(RISING)
    assert later.gain.mean == pytest.approx(0.08)
    assert later.carries
    assert hands.gain.mean == pytest.approx(0.19)
    assert hands.by_rho[2.0].mean == pytest.approx(0.19)
    assert hands.carries
    assert not any(step.carries or step.falls for step in (door, gone))
    assert words(steps_of(RISING)) == (
        "DOOR's gain over 8Q-LIFO-Pri is 0.27. These rules cause it (share of the gain): few "
        "hands (70 %), later page first (29 %). Chance can explain the effects of: fresh door, "
        "orphan requests removed. No step lowers the efficiency by more than its interval."
    )


def test_a_step_that_falls_is_named():
    falling = cells((0.70, 0.72, 0.71), (0.78, 0.79, 0.80), (0.98, 0.99, 0.97), (0.60, 0.61, 0.60),
                    (0.98, 0.98, 0.99))  # fmt: skip
    door = steps_of(falling)[2]
    assert door.falls
    assert door.falls_at == (1.4, 2.0)
    assert "The efficiency falls by more than the interval with: fresh door." in words(
        steps_of(falling)
    )
    assert table(steps_of(falling)).rows[2][-1] == "falls at ρ = 1.4, 2"


def test_the_sentences_deny_a_gain_only_if_no_step_carries():
    """Here, one step carries, although all steps together lose."""
    high, low = (0.78, 0.79, 0.80), (0.60, 0.61, 0.60)
    losing = words(steps_of(cells((0.70, 0.72, 0.71), high, low, low, low)))
    assert losing.startswith("All steps together gain -0.11 over 8Q-LIFO-Pri.")
    level = words(steps_of(cells(low, low, low, low, low)))
    assert level.startswith("No step's interval is above 0. All steps together gain 0.00 over")


def test_without_all_steps_there_is_no_ablation():
    assert steps_of([one for one in RISING if one.policy != "Few hands"]) == []


def test_a_step_falls_by_its_pairs_where_the_customers_differ_more_than_the_policies():
    """Every seed loses a point; what the seeds differ among themselves hides it from two means."""
    before = cell("8q-lifo-pri", 1.4, 0.60, 0.70, 0.80)
    after = cell("static-stages", 1.4, 0.59, 0.691, 0.789)
    others = [cell(policy, 1.4, 0.9, 0.9, 0.9) for policy, _ in STEPS[2:]]
    later, *_ = steps_of([before, after, *others])
    assert later.falls_at == (1.4,)


def hands_from(*efficiencies, seeds=(1, 2, 3)):
    """RISING, in which the step of few hands has these repetitions at both loads."""
    others = [one for one in RISING if one.policy != "Few hands"]
    hands = [cell("Few hands", rho, *efficiencies, seeds=seeds) for rho in (1.4, 2.0)]
    return steps_of([*others, *hands])


def test_pairs_are_those_of_a_seed_and_what_has_none_is_left_out():
    """A missing run, or one in which no session planned to buy, differs from a run without
    confirms."""
    hands = hands_from(0.99, 0.97, seeds=(2, 3))[1]
    assert hands.by_rho[1.4].mean == pytest.approx((0.99 - 0.79 + 0.97 - 0.80) / 2)
    assert hands_from(None, 0.99, 0.97)[1].gain.mean == pytest.approx(hands.gain.mean)
    assert hands_from(0.9, seeds=(9,)) == []


def test_one_repetition_decides_nothing():
    once = steps_of(cells((0.7,), (0.5,), (0.9,), (0.9,), (0.9,)))
    assert not any(step.carries or step.falls for step in once)
