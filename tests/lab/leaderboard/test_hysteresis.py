"""Response times second by second, and when they are normal again."""

import math

import numpy as np
import pytest

from lab.analysis import hysteresis
from lab.analysis.hysteresis import (
    BEFORE_S,
    CONDUCTS,
    RUSH_S,
    as_numbers,
    course_of,
    normal_p95_s,
    recovered_s,
    rolling,
)
from lab.leaderboard import hysteresis_study
from lab.leaderboard.hysteresis_study import recoveries
from lab.leaderboard.recovery import NOT_NORMAL, case_of
from lab.results.metrics import Results
from lab.spec.experiment import changed, load_spec
from tests.lab.attempt_tables import table

RUSH_ENDS_S = int(BEFORE_S + RUSH_S)


def course(*after):
    """A percentile per second: 1 s until the rush, endless in it, then as given."""
    return [1.0] * int(BEFORE_S) + [math.inf] * int(RUSH_S) + list(after)


@pytest.mark.parametrize(
    ("after", "found_s"),
    [
        ([*[9.0] * 19, *[2.0] * 20], 20.0),
        ([*[9.0] * 19, *[2.01] * 20], None),
        ([*[9.0] * 4, *[1.0] * 9, 9.0, *[1.0] * 30], 15.0),  # a moment of calm is not the end
        ([*[9.0] * 4, *[None] * 5, *[1.0] * 11], 10.0),  # what is not known is passed over
        ([*[9.0] * 4, *[1.0] * 9], None),  # what is not watched does not count
        # Who turns all sessions away at once has no response times, and has not recovered.
        ([1.0, None] * 20, 1.0),
        ([1.0, None, None] * 20, None),
        ([*[1.0] * 4, *[None] * 40], None),
    ],
)
def test_it_is_over_when_the_percentile_is_normal_for_ten_seconds(after, found_s):
    assert recovered_s(course(*after), 1.0) == found_s


def test_without_a_calm_nothing_is_normal():
    assert recovered_s(course(*[0.1] * 40), normal_p95_s([])) is None
    assert normal_p95_s([None, 3.0, 1.0, 2.0]) == 2.0
    assert normal_p95_s([None]) is None
    assert normal_p95_s([1.0, math.inf, 2.0]) == 2.0  # most of them are well
    assert normal_p95_s([1.0, math.inf, math.inf]) is None


def run(*after, calm=1.0, drain=()):
    """The metrics of a repetition, as `course_of` writes them."""
    watched = course(*after)
    p95_s = [*watched, *drain]
    return {
        "arrivals_until_s": float(len(watched)),
        "calm_p95_s": "inf" if calm == math.inf else calm,
        "response_p95_s": ["inf" if value == math.inf else value for value in p95_s],
        "answered_ratio": [0.5] * len(p95_s),
        "waiting": [7] * len(p95_s),
    }


def test_a_collapse_that_ends_with_its_customers_stays():
    """After 960 s of the rush and its end, a queue without newcomers is not a recovery."""
    after = [math.inf] * 900
    assert recoveries([run(*after, drain=[1.0] * 30)]) == [None]
    assert recoveries([run(*after[:-30], *[1.0] * 30)]) == [871.0]


def told(policy, *runs):
    """(row of the table, verdicts of the claims) of a policy with the given runs."""
    board = changed(load_spec("leaderboard"), policy=[{"name": policy}])
    study = hysteresis_study.study(board, quick=True)
    (stubborn,) = [one for one in CONDUCTS if one.key == "stubborn"]
    case = case_of(board, stubborn, policy, quick=True)
    results = Results({case.id: runs})
    table = study.figures[1].tables[0].table(results)
    verdicts = [one.decide(results) for one in study.claims if one.needs == [case]]
    return table.rows[0], verdicts


def test_who_was_not_normal_before_is_said_to_be():
    endless = run(*[1.0] * 40, calm=math.inf)
    row, verdicts = told("pass-through", endless, endless)
    assert row[1:3] == ("not normal before", "customers leave")
    assert verdicts == [("not normal before", False)]  # no collapse by the rush
    row, verdicts = told("door-lifo", run(*[1.0] * 40, calm=None))
    assert row[1:3] == ("not normal before", "not known")
    assert verdicts == [("not normal before", False)]


def test_one_endless_calm_of_several_takes_nothing_away():
    good, odd = run(*[1.0] * 40), run(*[1.0] * 40, calm=math.inf)
    row, verdicts = told("door-lifo", good, odd, good)
    assert row[1:3] == ("1 ± 0", "customers leave")
    assert verdicts == [("1 ± 0 s", True)]
    drawn = hysteresis_study.course("door-lifo", [good, odd, good])
    assert (drawn.recovered_s, drawn.ending) == (1.0, "1 s")
    drawn = hysteresis_study.course("door-lifo", [odd])
    assert (drawn.recovered_s, drawn.ending) == (None, NOT_NORMAL)


def test_the_window_has_what_ended_in_the_last_ten_seconds():
    ended_s = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 12.0])
    times_s = np.array([0.1, 0.2, 0.3, 0.4, 0.5, math.inf])
    found = rolling(ended_s, times_s, np.array([4.0, 5.0, 11.0, 12.0]))
    assert math.isnan(found[0])  # four are too few
    assert found[1] == 0.5
    assert math.isnan(found[2])  # (1, 11]: the first is out
    assert math.isnan(found[3])


def test_of_twenty_the_nineteenth_is_the_95th_percentile():
    ended_s = np.full(20, 5.0)
    times_s = np.arange(1.0, 21.0)
    assert rolling(ended_s, times_s, np.array([5.0]))[0] == 19.0


def test_who_leaves_waits_endlessly_and_who_is_turned_away_does_not_count():
    attempts = table(
        *((i, 0, "Br-1", 1, 61.0 + i, 1.0, "completed") for i in range(6)),
        (6, 0, "Br-1", 1, 60.5, 9.0, "timed_out"),
        (7, 0, "Br-1", 1, 67.0, 0.0, "dropped"),
        (7, 1, "Br-2"),
    )
    found = course_of(attempts, {"time_s": [10.0, 60.0, 80.0], "waiting": [1, 5, 2]}, 80.0)
    p95_s = as_numbers(found["response_p95_s"])
    assert p95_s[66] == 1.0  # at 67 s: six answered, nobody has left
    assert p95_s[69] == math.inf
    assert found["answered_ratio"][66] == pytest.approx(6 / 7, abs=1e-3)
    assert found["answered_ratio"][0] is None
    assert found["waiting"][8:10] + found["waiting"][58:61] + found["waiting"][79:] == [
        0, 1, 1, 5, 5, 2,
    ]  # fmt: skip
    assert as_numbers([found["calm_p95_s"]]) == [math.inf]


def test_the_stubborn_ask_for_more_than_they_planned():
    """The collapse stays because sessions without answers offer more load than answered ones."""
    first_page_s, whole_session_s = 0.2, 0.6  # Table 2; 2.397 requests of 0.25 s
    for conduct in hysteresis.CONDUCTS:
        again = conduct.changes.get("retry_probability", 0.4)
        most = conduct.changes.get("max_retries", 5)
        asked = sum(again**i for i in range(most + 1))
        offered = hysteresis.CALM_RHO * asked * first_page_s / whole_session_s
        assert (offered > 1) is (conduct.key == "stubborn")
