"""Invalid scenarios are refused, with the name of the wrong value."""

import pytest

from gateway.policies import registry
from loadgen.workload.sessions import Customers, SessionModel
from simulator.scenario import FifoServer, FileClass, Scenario, ScenarioError, SharedCpus


@pytest.mark.parametrize(
    ("make", "field", "value"),
    [
        (SharedCpus, "workers", 0),
        (SharedCpus, "cpus", 0),
        (SharedCpus, "slices", 0),
        (SharedCpus, "busy_ratio", 0.0),
        (SharedCpus, "busy_ratio", 1.1),
        (SharedCpus, "spread_ratio", -0.1),
        (SharedCpus, "mean_execution_s", {"Br-1": 0.2}),
        (SharedCpus, "execution_times", "normal"),
        (FifoServer, "capacity_rps", 0.0),
        (FifoServer, "capacity_rps", float("inf")),
        (FifoServer, "rejection_cost", -1.0),
        (FifoServer, "rejection", "behind"),
        (FifoServer, "service_times", "normal"),
        (FifoServer, "file_classes", (FileClass(0.5, 1.0, 2.0),)),
        (FifoServer, "file_classes", (FileClass(1.0, 0.0, 2.0),)),
    ],
)
def test_servers_that_cannot_be(make, field, value):
    with pytest.raises(ScenarioError) as refused:
        make(**{field: value})
    assert refused.value.field == field
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sessions", None),
        ("sessions", 0),
        ("arrivals_until_s", 0.0),
        ("stop_s", -1.0),
        ("utilisation_interval_s", 0.0),
        ("abandonment", "forget"),
        ("session_known_from", "birth"),
    ],
)
def test_scenarios_that_cannot_be(field, value):
    customers = Customers(SessionModel(), 1, 1.0)
    values = {"sessions": 10, field: value}
    with pytest.raises(ScenarioError) as refused:
        Scenario(customers, registry.create("sq", {}), SharedCpus(), 1, **values)
    assert refused.value.field == field
