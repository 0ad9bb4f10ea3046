import json

import pytest

from gateway.policies.sheet import PolicyError
from lab.experiments.reproduction.cases import Case
from loadgen.sessions import SessionModelError
from simulator.scenario import FileClass
from tests.lab.reproduction.small import small_case

DAY = ((10.0, 1.0), (20.0, 2.0))


@pytest.mark.parametrize(
    "case",
    [
        small_case(),
        small_case(schedule=DAY, duration_s=None),
        small_case(server={"kind": "fifo", "file_classes": ((1.0, 100.0, 200.0),)}),
        small_case(lengths=None, server={"kind": "shared-cpus"}, sessions=5, duration_s=None),
    ],
)
def test_a_case_survives_json_and_keeps_its_identity(case):
    again = Case.from_json(json.loads(json.dumps(case.as_json())))
    assert again.id == case.id
    assert again.scenario(1).server == case.scenario(1).server
    assert again.expected_requests() == case.expected_requests()


def test_whatever_differs_makes_another_case():
    case = small_case()
    others = [
        case.with_(rho=2.5),
        case.with_(admission="sbac-stable"),
        case.with_(parameters={"capacity": 21}),
        case.with_(lengths={"kind": "exponential", "mean": 3}),
        case.with_(stop_s=None),
    ]
    assert len({one.id for one in (case, *others)}) == 1 + len(others)


def test_the_scenario_is_what_the_case_says():
    case = small_case(
        1.5,
        server={"kind": "fifo", "capacity_rps": 20.0, "file_classes": ((1.0, 100.0, 200.0),)},
        admission="sbac-responsive",
        admission_parameters={"ac_interval_s": 5.0},
    )
    scenario = case.scenario(7)
    assert scenario.customers.session_rate == pytest.approx(1.5 * 20 / 3)
    assert scenario.policy.name == "sq+sbac-responsive"
    assert scenario.server.file_classes == (FileClass(1.0, 100.0, 200.0),)
    assert (scenario.arrivals_until_s, scenario.stop_s, scenario.seed) == (30.0, 30.0, 7)


def test_a_schedule_brings_its_own_loads():
    case = small_case(schedule=DAY, duration_s=None)
    assert case.arrivals_s == 30
    assert case.scenario(1).customers.session_rate == pytest.approx(20 / 3)
    # A server at capacity for 30 s, and one request of each session too many in the last 20.
    assert case.expected_requests() == pytest.approx(30 * 20 + 20 * 20 / 3)


def test_a_mixture_has_the_mean_of_its_classes():
    mixture = [{"name": "a", "share": 0.25, "mean": 10}, {"name": "b", "share": 0.75, "mean": 2}]
    assert small_case(lengths={"kind": "geometric", "mixture": mixture}).mean_length == 4


@pytest.mark.parametrize(
    ("changes", "error", "field"),
    [
        ({"admission": "nobody"}, PolicyError, "admission"),
        ({"lengths": {"kind": "round", "mean": 3}}, SessionModelError, "kind"),
    ],
)
def test_what_cannot_be_is_refused(changes, error, field):
    with pytest.raises(error, match=field):
        small_case(**changes).scenario(1)
