"""The ac-function by hand, the borders of ac-intervals, and the sessions that are turned away."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.policies import ADMISSIONS, PolicyError
from gateway.policies.interface import LoadSample, Page, Reject, Request
from gateway.policies.registry import admission_sheet, create
from gateway.policies.sbac import AcInterval, AcIntervals, UtilisationAdmission, sbac
from gateway.policies.sbac_hybrid import WEIGHT_STEP

SBAC = tuple(name for name in ADMISSIONS if name.startswith("sbac"))
FIELDS = ("predicted_utilisation_ratio", "measured_utilisation_ratio", "weight", "admits", "quota")


def door(weight: float, **changes: float) -> UtilisationAdmission:
    values = {"ac_threshold": 0.95, "ac_interval_s": 1.0, "retry_after_s": 300.0, **changes}
    return sbac(ac_weight=weight, **values)


def new(id: int = 1) -> Request:
    return Request(id, Page.HOME, 0.0)


def under_way(id: int = 1) -> Request:
    return Request(id, Page.BROWSE, 0.0, session="a", session_is_new=False)


@pytest.mark.parametrize(
    ("weight", "measured", "predicted", "admits"),
    [
        (1.0, (0.2, 0.96, 0.95, 1.0), (0.2, 0.96, 0.95, 1.0), (True, False, True, False)),
        # 0.9 × 0.95 + 0.1 × 1 = 0.955; 0.9 × 0.955 + 0.1 × 1 = 0.9595; 0.86355 + 0.05 = 0.91355
        (0.1, (1.0, 1.0, 0.5, 1.0), (0.955, 0.9595, 0.91355, 0.922195), (False, False, True, True)),
        # 0.65 × 0.95 + 0.35 × 1 = 0.9675; 0.628875 + 0.315 = 0.943875; 0.61351875 + 0.35
        (0.35, (1.0, 0.9, 1.0), (0.9675, 0.943875, 0.96351875), (False, True, False)),
    ],
)
def test_the_ac_function_by_hand(weight, measured, predicted, admits):
    policy = door(weight)
    assert policy.snapshot()["predicted_utilisation_ratio"] == 0.95
    assert policy.arrival(0.0, new()) is None
    for number, (utilisation, expected, admitted) in enumerate(
        zip(measured, predicted, admits, strict=True)
    ):
        policy.load_sample(number + 1.0, LoadSample(utilisation, 1, 1.0))
        assert policy.snapshot()["predicted_utilisation_ratio"] == pytest.approx(expected)
        assert (policy.arrival(number + 1.5, new()) is None) is admitted


def test_a_rejection_says_when_to_come_back_and_sessions_under_way_pass():
    policy = door(1.0, retry_after_s=120.0)
    policy.load_sample(1.0, LoadSample(1.0, 1, 1.0))
    rejection = policy.arrival(1.1, new(7))
    assert rejection == Reject(
        7, "no new sessions for now (predicted utilisation 1.000 > 0.95)", 120.0
    )
    assert policy.arrival(1.2, under_way(8)) is None
    assert policy.arrival(1.3, Request(9, Page.HOME, 1.3, "a", session_is_new=True)) is not None
    counted = policy.snapshot()
    assert (counted["admitted"], counted["rejected"], counted["aborted"]) == (0, 2, 0)
    policy.dropped(1.4, 8)
    policy.abandonment(1.5, 9)
    assert policy.snapshot()["aborted"] == 2


def ends(ac_interval_s, samples):
    """Return the intervals that end with `samples` ((utilisation, seconds), …)."""
    intervals = AcIntervals(ac_interval_s)
    return [intervals.sample(LoadSample(ratio, 1, seconds)) for ratio, seconds in samples]


@pytest.mark.parametrize(
    ("ac_interval_s", "samples", "expected"),
    [
        # exactly filled, with sums of tenths that are not exact
        (0.3, [(0.5, 0.1)] * 3, [None, None, AcInterval(0.5, 0.3)]),
        # jitter: 2.97 s of 3 s are enough; waiting for the next sample would make it 4 s
        (3.0, [(1.0, 0.99), (0.4, 0.99), (0.4, 0.99)], [None, None, AcInterval(0.6, 2.97)]),
        # not yet: more than half a sample is missing
        (2.0, [(1.0, 0.9), (1.0, 0.4), (0.0, 0.7)], [None, None, AcInterval(0.65, 2.0)]),
        # one long sample of a slow shop weighs as long as it is, and ends an interval at once
        (2.0, [(0.0, 1.0), (1.0, 4.0)], [None, AcInterval(0.8, 5.0)]),
        # a sample longer than the interval is an interval
        (1.0, [(0.9, 2.0), (0.3, 2.0)], [AcInterval(0.9, 2.0), AcInterval(0.3, 2.0)]),
    ],
)
def test_where_an_ac_interval_ends(ac_interval_s, samples, expected):
    for interval, wanted in zip(ends(ac_interval_s, samples), expected, strict=True):
        if wanted is None:
            assert interval is None
        else:
            assert interval is not None
            assert interval.covered_s == pytest.approx(wanted.covered_s)
            assert interval.measured_utilisation_ratio == pytest.approx(
                wanted.measured_utilisation_ratio
            )


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.01, 5.0)), max_size=200))
def test_no_time_and_no_work_is_lost_between_intervals(samples):
    intervals = AcIntervals(1.0)
    over, open_s, open_busy_s = [], 0.0, 0.0
    for ratio, seconds in samples:
        ended = intervals.sample(LoadSample(ratio, 1, seconds))
        open_s, open_busy_s = open_s + seconds, open_busy_s + ratio * seconds
        if ended is not None:
            over.append(ended)
            assert ended.covered_s == pytest.approx(open_s)
            assert ended.measured_utilisation_ratio * ended.covered_s == pytest.approx(open_busy_s)
            assert ended.covered_s >= 1.0 - seconds / 2 - 1e-6
            open_s = open_busy_s = 0.0
        else:
            assert open_s < 1.0


@pytest.mark.parametrize("name", SBAC)
def test_every_snapshot_is_json_and_says_the_same_things(name):
    snapshot = create("sq", {}, name).snapshot()
    assert set(FIELDS) <= set(json.loads(json.dumps(snapshot))["admission"])


def test_a_queue_alone_has_no_admission_in_its_snapshot():
    assert "admission" not in create("sq", {}, "none").snapshot()


@pytest.mark.parametrize("name", ADMISSIONS)
def test_every_sheet_is_complete(name):
    sheet = admission_sheet(name)
    assert sheet.name == name
    assert all((sheet.idea, sheet.rule, sheet.source, sheet.deviations))
    for parameter in sheet.parameters:
        assert all((parameter.unit, parameter.meaning, parameter.source))
        assert parameter.name in sheet.rule


@pytest.mark.parametrize(
    ("name", "parameters", "field", "hint"),
    [
        ("sbak", {}, "admission", "sbac-responsive"),
        ("none", {"ac_threshold": 0.9}, "admission_parameters.ac_threshold", "none"),
        ("sbac", {"ac_weight": 1.5}, "admission_parameters.ac_weight", "from 0 to 1"),
        ("sbac", {"ac_weight": "1"}, "admission_parameters.ac_weight", "number"),
        ("sbac-stable", {"ac_weight": 0.2}, "admission_parameters.ac_weight", "ac_threshold"),
        ("sbac", {"ac_threshold": 95}, "admission_parameters.ac_threshold", "from 0 to 1"),
        ("sbac", {"ac_interval_s": 0}, "admission_parameters.ac_interval_s", "from 0.1"),
        ("sbac", {"retry_after_s": float("nan")}, "admission_parameters.retry_after_s", "from 1"),
    ],
)
def test_refusals(name, parameters, field, hint):
    with pytest.raises(PolicyError) as refusal:
        create("sq", {}, name, parameters)
    assert refusal.value.field == field
    assert hint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_defaults_are_the_published_ones():
    published_file = Path(__file__).parents[3] / "lab/analysis/published.toml"
    paper = tomllib.loads(published_file.read_text())["sbac"]
    for name in SBAC:
        values = admission_sheet(name).read({})
        assert values["ac_threshold"] == paper["ac_threshold"]
        assert values["ac_interval_s"] == paper["ac_interval_s"]
    weights = paper["ac_weight"]
    assert (
        create("sq", {}, "sbac-responsive").snapshot()["admission"]["weight"]
        == (weights["responsive"])
    )
    assert create("sq", {}, "sbac-stable").snapshot()["admission"]["weight"] == weights["stable"]
    assert pytest.approx(paper["hybrid_weight_step"]) == WEIGHT_STEP
