"""Invalid platforms are refused, with the name of the wrong value."""

import math

import pytest

from loadgen.workload.partly_open import PartlyOpenModel
from simulator.hosting_scenario import Costs, PlatformScenario
from simulator.scenario import ScenarioError
from tests.simulator.hosting_scenes import app


@pytest.mark.parametrize(
    ("make", "field", "value"),
    [
        (Costs, "handshake_full_s", -0.1),
        (Costs, "handshake_resumed_s", math.inf),
        (Costs, "image_ratio", math.nan),
        (Costs, "session_s", 0.0),
        (Costs, "page_spread_ratio", 1.5),
        (lambda **value: app(1.0, 10.0, **value), "priority", 0.0),
        (lambda **value: app(1.0, 10.0, **value), "ctn_s", -1.0),
        (lambda **value: app(1.0, 10.0, **value), "cto_s", math.nan),
    ],
)
def test_parts_that_cannot_be(make, field, value):
    with pytest.raises(ScenarioError) as refused:
        make(**{field: value})
    assert refused.value.field == field
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("applications", ()),
        ("processors", 0),
        ("provisioning", "solaris"),
        ("sharing", "some"),
        ("admission", "sbac"),
        ("threads", 0),
        ("backlog", -1),
        ("persistence_s", 0.0),
        ("interval_s", math.nan),
        ("duration_s", math.inf),
    ],
)
def test_platforms_that_cannot_be(field, value):
    values = {"applications": (app(1.0, 10.0),), "seed": 1, field: value}
    with pytest.raises(ScenarioError) as refused:
        PlatformScenario(**values)
    assert refused.value.field == field
    assert "\n" not in str(refused.value)


def test_admission_needs_to_know_what_connections_cost():
    unknown = app(1.0, 10.0, ctn_s=None)
    with pytest.raises(ScenarioError) as refused:
        PlatformScenario((app(1.0, 10.0), unknown), 1)
    assert refused.value.field == "applications.1"
    PlatformScenario((unknown,), 1, admission="none")


def test_static_provisioning_gives_everyone_half_a_processor_or_refuses():
    three = (app(1.0, 10.0),) * 3
    PlatformScenario(three, 1, processors=2, provisioning="static")
    with pytest.raises(ScenarioError, match="at most two for each processor"):
        PlatformScenario(three, 1, processors=1, provisioning="static")


def test_a_session_costs_more_than_its_handshakes():
    with pytest.raises(ScenarioError) as refused:
        PlatformScenario((app(1.0, 10.0),), 1, costs=Costs(session_s=0.17))
    assert refused.value.field == "session_s"


def test_a_page_costs_what_handshakes_leave_of_a_session():
    """(1.33 − 0.175 − 49 × 0.24 × 0.002) ÷ (50 × 1.14)."""
    assert Costs().page_s(PartlyOpenModel(), 10.0) == pytest.approx(0.01985, rel=1e-3)
