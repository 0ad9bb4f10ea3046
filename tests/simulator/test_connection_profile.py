"""CTN and CTO from a calibration run."""

import math

import pytest

from loadgen.workload.partly_open import PartlyOpenModel
from simulator.connection_profile import static_profile
from simulator.hosting_scenario import Costs
from simulator.scenario import ScenarioError
from tests.simulator.hosting_scenes import ONE_PAGE, SHORT, SHORT_COSTS, SHORT_CTN_S, SHORT_CTO_S


def test_what_is_asked_over_a_connection_is_part_of_its_cost():
    """Without an end a connection has 1 / q interactions, q the share of long think times."""
    model = PartlyOpenModel(interactions_mean=200, interactions_most=200)
    costs = Costs(session_s=5.0)
    found = static_profile(model, costs, sessions=60)
    interaction_s = costs.page_s(model, 10.0) * (1 + 1.4 * costs.image_ratio)
    content_s = interaction_s / math.exp(-10 / 7)
    assert found.ctn_s == pytest.approx(0.175 + content_s, rel=0.1)
    assert found.cto_s == pytest.approx(0.002 + content_s, rel=0.03)


def test_connections_of_a_session_add_up_to_what_it_costs():
    found = static_profile(PartlyOpenModel(), sessions=1000)
    resumed = 49 * math.exp(-10 / 7)
    assert found.ctn_s + resumed * found.cto_s == pytest.approx(1.33, rel=0.06)


def test_it_is_repeatable_and_agrees_with_what_other_tests_use():
    found = static_profile(SHORT, SHORT_COSTS)
    assert found == static_profile(SHORT, SHORT_COSTS)
    assert found == pytest.approx((SHORT_CTN_S, SHORT_CTO_S), rel=0.01)


def test_where_nothing_is_resumed_there_is_no_cto():
    with pytest.raises(ScenarioError, match="model: no connection is resumed"):
        static_profile(ONE_PAGE, Costs())
