import json

import pytest

from lab.spec.cases import Case
from lab.spec.experiment import Spec, load_spec
from lab.spec.runs import AdServerRun, ApplianceServer, Host, PlatformRun, ShopRun, run_of
from lab.spec.sections import PolicyChoice
from loadgen.workload.clients import ClientModel
from loadgen.workload.sessions import LengthClass, Schedule, Segment, SessionLengths, SessionModel
from simulator.scenario import FifoServer, FileClass, SharedCpus
from tests.lab.studies.small import small_case, small_policy

DAY = Schedule((Segment(10.0, 1.0), Segment(20.0, 2.0)))
LIVE = ShopRun(
    PolicyChoice(gateway="haproxy", parameters={"maxconn": 8}),
    ApplianceServer("real", 300_000, "shop", shadows=("sq",)),
    ClientModel(per_set=4, mix={"search": 0.125, "file": 3}),
    rho=None,
    duration_s=60.0,
)
PLATFORM = PlatformRun(
    loads=(((0.0, 1.0), (100.0, 3.0)), ((0.0, 2.0),)),
    duration_s=200.0,
    processors=4,
    capacity_ps=3.0,
    priorities=(2.0, 1.0),
    host=Host(5.0, "rsa-7680", "real", 10.0, 20),
)


@pytest.mark.parametrize(
    "run",
    [
        small_case().run,
        small_case(schedule=DAY, duration_s=None).run,
        small_case(server=FifoServer(file_classes=(FileClass(1.0, 100.0, 200.0),))).run,
        small_case(server=SharedCpus(), customers=SessionModel(), sessions=5).run,
        small_case(customers=SessionModel(timeout_s=float("inf"))).run,
        LIVE,
        PLATFORM,
        AdServerRun(10, 4, 2, 300_000),
    ],
    ids=repr,
)
def test_a_run_survives_json(run):
    again = run_of(json.loads(json.dumps(run.as_json())))
    assert again == run
    assert again.id == run.id
    assert again.expected_requests() == run.expected_requests()


def test_whatever_differs_makes_another_case():
    case = small_case()
    others = [
        case.with_(rho=2.5),
        case.with_(policy=small_policy(admission="sbac-stable")),
        case.with_(policy=small_policy(21)),
        case.with_(customers=SessionModel()),
        case.with_(stop_s=None),
        Case(case.run, "studies:pages"),
        Case(case.run, case.measure, ("import math",)),
    ]
    assert len({one.id for one in (case, *others)}) == 1 + len(others)
    assert Case.of_json(json.loads(json.dumps(case.as_json()))) == case


def test_a_schedule_brings_its_own_loads():
    """The rate is that of ρ = 1, and the loads follow one another."""
    run = small_case(schedule=DAY, duration_s=None).run
    assert run.arrivals_s == 30
    assert run.session_rate == pytest.approx(20 / 3)
    assert run.offered_rho == pytest.approx(5 / 3)
    # A server at capacity for 30 s, and one request of each session too many in the last 20.
    assert run.expected_requests() == pytest.approx(30 * 20 + 20 * 20 / 3)


def test_a_mixture_has_the_mean_of_its_classes():
    mixture = (LengthClass("a", 0.25, 10), LengthClass("b", 0.75, 2))
    lengths = SessionLengths("geometric", mixture=mixture)
    assert small_case(customers=SessionModel(lengths=lengths)).run.mean_length == 4


def test_half_a_run_has_half_the_requests():
    for run in (small_case().run, small_case(schedule=DAY).run, PLATFORM):
        half = run.shortened(0.5)
        assert half.expected_requests() == pytest.approx(run.expected_requests() / 2)


def test_a_live_run_has_no_capacity_until_it_is_measured():
    spec = load_spec("lifo-pri")
    assert ShopRun.of_spec(spec, "sq", 2.0).capacity_rps is None
    assert ShopRun.of_spec(spec, "sq", 2.0, 5.05).capacity_rps == 5.05


def test_a_simulated_run_has_its_servers_capacity():
    spec = Spec(engine="simulated")
    assert ShopRun.of_spec(spec, "sq", 1.4).capacity_rps == pytest.approx(5.6, 1e-3)
