"""The values that LIFO-Pri's figures plot, read off a simulation that can be checked by hand."""

import pytest

from lab.analysis.outcomes import Outcomes, SessionFates
from lab.studies.lifo_pri import measures
from tests.lab.studies.small import small_case, small_policy
from tests.lab.studies.test_measures import ONE_FILE, simulate


def test_metrics_by_page_can_be_checked_by_hand():
    # One may wait behind the one in service, as long as 0.45 s; who comes then is dropped.
    found = simulate(small_case(1.0, policy=small_policy(1), duration_s=200.0, **ONE_FILE))
    outcomes = measures.outcomes(found)
    assert isinstance(outcomes, Outcomes)
    assert isinstance(outcomes.fates, SessionFates)
    assert outcomes.sessions == found["sessions"] == found["first_page_attempts"]
    answered = sum(found["first_page_response_counts"])
    assert answered == found["completed"]
    # Nobody is answered within the time that a request takes, nor after the timeout.
    assert measures.unanswered_percent(1.0)(found) == 100
    share = 100 * found["completed"] / found["sessions"]
    assert measures.unanswered_percent(2.0)(found) == pytest.approx(100 - share)
    assert measures.answered_between_percent(1.0, 2.0)(found) == pytest.approx(share)
    assert measures.outcome_percent("completed")(found) == pytest.approx(share)
    lost = sum(measures.outcome_percent(fate)(found) for fate in ("timed_out", "dropped"))
    assert lost == pytest.approx(100 - share)
    assert 1.249 <= found["response_mean_s"] <= found["response_max_s"] <= 1.7
    assert measures.mode_s([found]) == 1.5
