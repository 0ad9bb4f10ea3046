"""The partly-open model: lengths, pages, pauses and images, exactly and as drawn."""

import math
import statistics
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest

from loadgen.workload.chain import LIFO_PRI_TRANSITIONS, PAGES
from loadgen.workload.load_schedule import RateStep, Schedule
from loadgen.workload.partly_open import Partly, PartlyOpenModel
from loadgen.workload.refusals import SessionModelError

MODEL = PartlyOpenModel()
SESSIONS = 4000


def _mean_length(end, most):
    """Return the mean of the capped geometric length, added up from its definition."""
    survives = [(1 - end) ** n for n in range(most)]
    return math.fsum(survives)


@pytest.mark.parametrize(
    ("mean", "most"), [(50, 100), (1, 100), (1.5, 100), (99.9, 100), (2, 3), (1, 1), (4000, 4096)]
)
def test_the_mean_of_the_capped_length_is_what_was_asked_for(mean, most):
    model = PartlyOpenModel(interactions_mean=mean, interactions_most=most)
    assert _mean_length(model.end_probability(), most) == pytest.approx(mean, rel=1e-9)


def test_lengths_are_drawn_from_that_distribution():
    sessions = Partly(MODEL, 1)
    lengths = [sessions.length(session) for session in range(SESSIONS)]
    # The standard error of the mean is 35.6 / sqrt(4000) = 0.56; the seed is fixed.
    assert statistics.mean(lengths) == pytest.approx(50, abs=2)
    assert min(lengths) == 1
    assert max(lengths) == 100
    stays = 1 - MODEL.end_probability()
    assert lengths.count(100) / SESSIONS == pytest.approx(stays**99, abs=0.02)


@pytest.mark.parametrize(("mean", "length"), [(1, 1), (7, 7)])
def test_sessions_of_one_length(mean, length):
    most = 100 if mean == 1 else length
    sessions = Partly(PartlyOpenModel(interactions_mean=mean, interactions_most=most), 1)
    assert {len(sessions.pages(session)) for session in range(50)} == {length}


def test_transitions_are_lifo_pris_on_condition_of_going_on():
    found = MODEL.transitions()
    assert list(found) == list(PAGES)
    assert all(sum(row.values()) == 1 for row in found.values()), "nobody exits"
    assert found["Br-1"] == {"Br-2": Fraction(4, 9), "Br-3": Fraction(5, 9)}
    for page in ("Br-2", "Br-3", "Tr-1", "Tr-2", "Tr-3"):
        assert found[page] == dict.fromkeys(LIFO_PRI_TRANSITIONS[page], 1)
    assert found["Tr-4"] == {"Br-1": 1}


@pytest.mark.parametrize(
    ("ratio", "buying"), [(0.15, Fraction(9, 68)), (0, 0), (4 / 7, 1), (0.5, Fraction(3, 4))]
)
def test_from_a_book_as_many_buy_as_the_ratio_says(ratio, buying):
    row = PartlyOpenModel(transactions_ratio=ratio).transitions()["Br-4"]
    assert row == {"Tr-1": pytest.approx(buying), "Br-1": pytest.approx(1 - buying)}
    # A round: three browsing pages, and four transaction pages for those who buy.
    assert float(4 * buying / (3 + 4 * buying)) == pytest.approx(ratio)


def test_visits_are_the_means_of_what_is_drawn():
    visits = MODEL.visits()
    assert math.fsum(visits.values()) == pytest.approx(50)
    sessions = Partly(MODEL, 3)
    drawn = Counter(page for session in range(SESSIONS) for page in sessions.pages(session))
    for page in PAGES:
        assert drawn[page] / SESSIONS == pytest.approx(visits[page], rel=0.06)


def test_every_walk_is_one_a_shopper_can_make():
    sessions = Partly(MODEL, 4)
    possible = MODEL.transitions()
    for session in range(300):
        pages = sessions.pages(session)
        assert pages[0] == "Br-1"
        for page, following in pairwise(pages):
            assert possible[page][following] > 0


def test_pauses_are_exponential_and_the_first_interaction_has_none():
    sessions = Partly(MODEL, 5)
    assert {sessions.think_time_s(session, 0) for session in range(20)} == {0.0}
    pauses = [sessions.think_time_s(session, 3) for session in range(SESSIONS)]
    # The standard error is 7 / sqrt(4000) = 0.11 s.
    assert statistics.mean(pauses) == pytest.approx(7, abs=0.4)
    assert statistics.stdev(pauses) == pytest.approx(7, abs=0.5)
    assert Partly(PartlyOpenModel(think_time_mean_s=0), 5).think_time_s(1, 1) == 0


@pytest.mark.parametrize(("mean", "numbers"), [(1.4, {1, 2}), (0, {0}), (3, {3}), (0.25, {0, 1})])
def test_images_are_the_whole_numbers_around_their_mean(mean, numbers):
    sessions = Partly(PartlyOpenModel(images_mean=mean), 6)
    drawn = [sessions.images(session, 2) for session in range(SESSIONS)]
    assert set(drawn) == numbers
    assert statistics.mean(drawn) == pytest.approx(mean, abs=0.03)


def test_draws_are_addressed_by_session_and_interaction():
    one, other = Partly(MODEL, 7), Partly(MODEL, 7)

    def all_of(sessions, session):
        steps = range(len(sessions.pages(session)))
        return [
            sessions.pages(session),
            [sessions.think_time_s(session, i) for i in steps],
            [sessions.images(session, i) for i in steps],
        ]

    backwards = {session: all_of(one, session) for session in reversed(range(20))}
    assert {session: all_of(other, session) for session in range(20)} == backwards
    assert len({str(drawn) for drawn in backwards.values()}) == 20
    assert Partly(MODEL, 8).pages(0) != one.pages(0)


def test_a_longer_session_begins_as_the_shorter_one():
    shorter, longer = Partly(MODEL, 9), Partly(PartlyOpenModel(interactions_mean=80), 9)
    for session in range(50):
        short, long = shorter.pages(session), longer.pages(session)
        assert len(short) <= len(long)
        assert long[: len(short)] == short


def test_arrivals_follow_the_schedule_and_are_the_same_for_all():
    schedule = Schedule.of_rates([RateStep(0, 3.5), RateStep(600, 0), RateStep(700, 0.75)], 1300)
    times = list(Partly(MODEL, 10).arrivals(schedule))
    assert times == list(Partly(PartlyOpenModel(images_mean=0), 10).arrivals(schedule))
    assert times == sorted(times)
    first = [time_s for time_s in times if time_s < 600]
    last = [time_s for time_s in times if time_s >= 700]
    assert len(first) + len(last) == len(times), "nobody at a rate of 0, nobody after the end"
    # Poisson: 2100 ± 46 and 450 ± 21.
    assert len(first) == pytest.approx(2100, abs=150)
    assert len(last) == pytest.approx(450, abs=70)
    gaps = [after - before for before, after in pairwise(first)]
    assert statistics.stdev(gaps) == pytest.approx(1 / 3.5, rel=0.1)


def test_parameters_are_the_model():
    model = PartlyOpenModel(5, 10, 1, math.inf, 0, 2.5, 0.3)
    given = model.parameters()
    assert given["timeout_s"] == "inf"
    assert PartlyOpenModel(**given | {"timeout_s": math.inf}) == model  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("interactions_most", 0),
        ("interactions_most", 4097),
        ("interactions_mean", 0.5),
        ("interactions_mean", 101),
        ("interactions_mean", math.nan),
        ("think_time_mean_s", -1),
        ("think_time_mean_s", math.inf),
        ("timeout_s", 0),
        ("timeout_s", math.nan),
        ("reconnects", -1),
        ("reconnects", 201),
        ("images_mean", -0.1),
        ("images_mean", math.nan),
        ("images_mean", 101),
        ("transactions_ratio", 0.6),
        ("transactions_ratio", -0.1),
        ("transactions_ratio", math.nan),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(field, value):
    with pytest.raises(SessionModelError) as refusal:
        PartlyOpenModel(**{field: value})  # type: ignore[arg-type]
    assert refusal.value.field == field
    assert "give " in str(refusal.value)
    assert "\n" not in str(refusal.value)
