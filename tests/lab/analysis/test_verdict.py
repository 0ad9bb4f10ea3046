import dataclasses

import pytest

from lab.analysis.verdict import verdict
from lab.files.conclusion import Conclusion
from lab.spec.experiment import Spec, changed
from tests.lab.leaderboard.made_up import cell, outcomes


def sold(policy, rho, *confirms, planned=100):
    """A cell whose repetitions sold this many of `planned`; the estimate follows the sales."""
    runs = tuple(
        dataclasses.replace(
            outcomes(1.0, rho, confirms=one),
            planned={"Br-1": 4000, "Tr-4": planned},
            expected_confirm_ratio=one / planned,
        )
        for one in confirms
    )
    return dataclasses.replace(cell(policy, rho, *(1.0 for _ in confirms)), runs=runs)


LOADS_WITH_WINNERS = [
    *(sold("sq", rho, 80, 80, 80) for rho in (1.0, 2.0)),
    sold("8q-af", 1.0, 90, 91, 89),
    sold("8q-af", 2.0, 10, 11, 12),
]
ALIKE = "At ρ = 1, chance can explain the differences between "
UNSURE = "The runs share too few seeds to tell this from chance: give at least two repetitions."


@pytest.mark.parametrize(
    ("cells", "sentence", "short"),
    [
        pytest.param(
            [sold("sq", 2.0, 4, 5, 3), sold("door-lifo", 2.0, 48, 50, 47)],
            "At ρ = 2, DOOR-LIFO sold the most: 145 confirms of at most 150, 12.1 times as much as "
            "SQ (12). The lead is more than chance.",
            "DOOR-LIFO",
            id="beyond-chance",
        ),
        pytest.param(
            [sold("sq", 1.0, 80, 80, 80), sold("8q-af", 1.0, 90, 91, 89)],
            "At ρ = 1, 8Q-AF sold the most: 270 confirms of at most 300, ahead of SQ with 240. The "
            "lead is more than chance.",
            "8Q-AF",
            id="close",
        ),
        pytest.param(
            [sold("sq", 1.0, 80, 90, 70), sold("8q-af", 1.0, 81, 88, 73)],
            f"{ALIKE}8Q-AF and SQ: they sold 240 to 242 confirms of at most 300.",
            "8Q-AF and SQ (alike)",
            id="alike",
        ),
        pytest.param(
            [sold("sq", 1.0, 80, 90), sold("8q-af", 1.0, 90, 80)],
            "At ρ = 1, SQ and 8Q-AF sold the same: 170 confirms of at most 200.",
            "SQ and 8Q-AF (alike)",
            id="equal",
        ),
        pytest.param(
            [
                sold("sq", 1.0, 10, 11, 12),
                sold("8q-af", 1.0, 81, 88, 73),
                sold("8q-lifo-pri", 1.0, 80, 90, 70),
            ],
            f"{ALIKE}8Q-AF and 8Q-LIFO-Pri: they sold 240 to 242 confirms of at most 300. 8Q-AF "
            "did better than SQ (33), by more than chance.",
            "8Q-AF and 8Q-LIFO-Pri (alike)",
            id="two-alike",
        ),
        pytest.param(
            [sold("sq", 1.0, 100, 101, 102), sold("8q-af", 1.0, 101, 101, 101)],
            "At ρ = 1, SQ and 8Q-AF sold nearly all that is possible: 303 confirms, about as many "
            "as the bound of 300 allows.",
            "SQ and 8Q-AF (alike)",
            id="sold-out",
        ),
        pytest.param(
            [sold("sq", 2.0, 4), sold("door-lifo", 2.0, 48)],
            "At ρ = 2, DOOR-LIFO sold the most: 48 confirms of at most 50, 12.0 times as much as "
            f"SQ (4). {UNSURE}",
            "DOOR-LIFO (may be chance)",
            id="one-seed",
        ),
        pytest.param(
            [sold("sq", 2.0, 4), sold("8q-af", 2.0, 4), sold("door-lifo", 2.0, 3)],
            "At ρ = 2, SQ and 8Q-AF sold the same: 4 confirms of at most 50, ahead of DOOR-LIFO "
            f"with 3. {UNSURE}",
            "SQ and 8Q-AF (alike)",
            id="one-seed-two-best",
        ),
        pytest.param(
            [sold("sq", 2.0, 0, 0), sold("8q-af", 2.0, 0, 0)],
            "At ρ = 2, no policy sold anything.",
            "none",
            id="no-sales",
        ),
    ],
)
def test_each_load_gets_a_conclusion_with_its_certainty(cells, sentence, short):
    """The verdict names the best policy, the next one, and whether chance explains the lead."""
    found = Conclusion(verdict=verdict(Spec(), cells))
    assert found.sentences == [sentence]
    assert found.winner == short
    assert found.is_unsure is (UNSURE in sentence)


def test_every_load_has_a_sentence_and_lists_show_each_winner():
    """Loads follow each other in the order of the spec; one policy alone has no verdict."""
    found = Conclusion(verdict=verdict(Spec(), LOADS_WITH_WINNERS))
    assert [one.split(",")[0] for one in found.sentences] == ["At ρ = 1", "At ρ = 2"]
    assert found.winner == "ρ = 1: 8Q-AF; ρ = 2: SQ"
    assert verdict(Spec(), [sold("sq", 2.0, 4, 5)]) == []


def wasting(known, *ratios):
    """The same cell, whose runs spent these shares of the CPU time on customers who had left."""
    waste = [{"server_cpu_s": 200.0, "wasted_cpu_s": 200.0 * ratio} for ratio in ratios]
    summaries = [
        summary.model_copy(update={"waste": one})
        for summary, one in zip(known.summaries, waste, strict=True)
    ]
    return dataclasses.replace(known, summaries=tuple(summaries))


@pytest.mark.parametrize(
    ("ratios", "reason"),
    [
        (
            (0.1, 0.08),
            " SQ spent 49 % of its CPU time on customers who had left; DOOR-LIFO spent 9 %.",
        ),
        ((0.42, 0.42), ""),
    ],
)
def test_a_large_difference_in_wasted_work_is_given_as_the_reason(ratios, reason):
    """A lead without a difference in wasted work has another reason, which is not guessed."""
    cells = [
        wasting(sold("sq", 2.0, 4, 5), 0.48, 0.5),
        wasting(sold("door-lifo", 2.0, 48, 50), *ratios),
    ]
    (found,) = verdict(Spec(), cells)
    assert found.sentence.endswith(f"The lead is more than chance.{reason}")
    assert found.winner == "DOOR-LIFO"


def test_the_best_policies_are_titles_even_with_the_words_of_a_sentence():
    """A policy's label can contain any words; lists show it whole, or `several` for long names."""
    odd = "A: no policy sold anything, and B sold the most: C"
    rivals = [sold("sq", 1.0, 80, 90), sold(odd, 1.0, 90, 80)]
    (found,) = verdict(Spec(), rivals)
    assert found.best == ["SQ", odd]
    assert found.winner == "several (alike)"


def test_without_a_verdict_nothing_is_named():
    """An empty conclusion has no winner and is not unsure."""
    assert Conclusion().winner == ""
    assert not Conclusion().is_unsure


def useful(policy, *useful_rps):
    """A cell whose repetitions did this much useful work."""
    runs = tuple(
        dataclasses.replace(outcomes(None, 2.0), useful_in_arrivals=100 * one, arrivals_s=100.0)
        for one in useful_rps
    )
    return dataclasses.replace(cell(policy, 2.0, *useful_rps), runs=runs)


def test_sessions_without_buyers_are_judged_by_useful_work():
    """SBAC's sessions have lengths and do not buy, so completed sessions' requests decide."""
    spec = changed(Spec(), customers__lengths={"mean": 5})
    (found,) = verdict(spec, [useful("sq", 300, 310), useful("sq+sbac", 800, 805)])
    assert found.best == ["SQ + SBAC"]
    assert found.sentence == (
        "At ρ = 2, SQ + SBAC did the most useful work: 802.50 requests of completed sessions per "
        "paper second, 2.6 times as much as SQ (305.00). The lead is more than chance."
    )


def test_clients_of_a_closed_loop_have_no_verdict():
    """The important metric of closed-loop clients depends on the question."""
    spec = Spec(policy=[{"name": "sq"}], clients={"per_set": 1}, load={"duration_s": 60})
    assert verdict(spec, [cell("sq", 1.0, 0.4), cell("8q-af", 1.0, 0.5)]) == []
