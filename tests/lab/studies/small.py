"""Small real cases: a FIFO server of 20 requests/s, half a minute, a few dozen milliseconds."""

from math import inf

from lab.report.claims import Claim, within
from lab.report.study_figures import CaseCurve, Figure, Panel, Study
from lab.results.metrics import Results
from lab.spec.cases import Case
from lab.spec.runs import ShopRun
from lab.spec.sections import PolicyChoice
from lab.studies import SESSION_METRICS
from loadgen.workload.sessions import SessionLengths, SessionModel
from simulator.scenario import FifoServer


def completed_percent(metrics):
    return 100 * metrics["completed"] / metrics["sessions"]


def aborted_percent(metrics):
    return 100 * metrics["aborted"] / (metrics["sessions"] - metrics["rejected"])


def small_policy(capacity=20, **admission):
    return PolicyChoice(name="sq", parameters={"capacity": capacity}, **admission)


def small_case(load=2.0, measure=SESSION_METRICS, **changes):
    run = ShopRun(
        small_policy(),
        FifoServer(20.0),
        SessionModel(
            timeout_s=1.0,
            think_timeout_mean_s=0.0,
            retry_probability=1.0,
            max_retries=1,
            think_time_mean_s=1.0,
            lengths=SessionLengths("geometric", 3),
        ),
        capacity_rps=20.0,
        rho=load,
        duration_s=30.0,
        stop_s=30.0,
        session_known_from="admission",
    )
    return Case(run.with_(**changes), measure)


def small_study():
    """A figure of two curves that share a case, and a claim that holds."""
    calm, busy = small_case(0.3), small_case(2.0)
    figure = Figure(
        "figure-1",
        "Figure 1: a small server",
        "Sessions under <two> loads.",
        ("Nothing is published of it.",),
        (
            Panel("1a", "completed", "load", "%",
                  [CaseCurve("all", [(load, case, completed_percent)
                                     for load, case in ((30, calm), (200, busy))])],
                  published={("all", 200.0): 44.5}),
            Panel("1b", "aborted", "load", "%",
                  [CaseCurve("all", [(200, busy, aborted_percent)])]),
        ),
    )  # fmt: skip
    claim = within("The calm server completes", calm, completed_percent, -100, inf, "any", 1)
    never = Claim("Of another case", "anything", [small_case(9.0)], lambda results: ("", True))
    return Study("small", "A small study", ("For tests.",), [figure], [claim, never])


def repeated(runs):
    """Results of metrics by case, one for each repetition: seeds 1, 2, …"""
    return Results(
        {
            case: [{"seed": seed, **metrics} for seed, metrics in enumerate(each, 1)]
            for case, each in runs.items()
        }
    )


def claim_named(claims, text):
    (claim,) = [claim for claim in claims if text in claim.text]
    return claim
