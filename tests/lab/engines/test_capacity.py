import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from lab.engines.capacity import Capacity, keep, kept
from lab.errors import ExperimentError
from lab.machine.description import fingerprint
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec
from runtime.settings import load


@pytest.fixture
def lab(tmp_path):
    return load().changed(state_dir=tmp_path)


NOW = datetime(2026, 11, 21, 5, tzinfo=UTC)


def measured(lab, **other):
    given = {"page_profile": "paper", "time_scale": 10.0, "measured_at": NOW.isoformat()}
    facts = {"median_rps": 5.5, "measurements_rps": (5.4, 5.5, 5.6), "machine": fingerprint(lab)}
    return Capacity(**given | facts | other)


def spec(**other):
    return Spec.model_validate(other)


def test_a_kept_capacity_comes_back(lab):
    keep(measured(lab), lab)
    again = kept(lab, spec(), now=NOW + timedelta(hours=23))
    assert again.median_rps == 5.5
    assert tuple(again.measurements_rps) == (5.4, 5.5, 5.6)


@pytest.mark.parametrize(
    ("measured_for", "asked_for"),
    [
        ({"page_profile": "real"}, {"page_profile": "real"}),
        ({"time_scale": 20.0}, {"time_scale": 20}),
        ({"catalogue_books": 2000}, {"catalogue_books": 2000}),
        ({"database_cpus": "shop"}, {"database_cpus": "shop"}),
    ],
)
def test_what_decides_the_capacity_has_its_own(lab, measured_for, asked_for):
    keep(measured(lab, **measured_for), lab)
    assert kept(lab, spec(**asked_for), now=NOW).median_rps == 5.5
    assert kept(lab, spec(), now=NOW) is None


def test_a_capacity_of_another_machine_is_invalid(lab):
    keep(measured(lab), lab)
    changed = lab.changed(shop_workers=lab.shop_workers + 1)
    assert kept(changed, spec(), now=NOW) is None


def test_a_capacity_of_other_code_is_invalid(lab):
    keep(measured(lab, machine="0123456789ab"), lab)
    assert kept(lab, spec(), now=NOW) is None


@pytest.mark.parametrize(
    "measured_at",
    [(NOW - timedelta(hours=25)).isoformat(), "yesterday", "2026-11-21T05:00:00"],
)
def test_a_capacity_that_is_old_or_has_no_time_is_invalid(lab, measured_at):
    keep(measured(lab, measured_at=measured_at), lab)
    assert kept(lab, spec(), now=NOW) is None


def test_a_damaged_file_is_no_capacity(lab):
    keep(measured(lab), lab).write_text("{")
    assert kept(lab, spec(), now=NOW) is None


@pytest.mark.parametrize(
    ("content", "fault"), [({"median_rps": 5.0}, "required"), ({"median_rps": "x"}, "number")]
)
def test_a_foreign_file_is_refused(tmp_path, lab, content, fault):
    """A value of another type is refused when the file is read, not in a later calculation."""
    whole = {} if fault == "required" else dataclasses.asdict(measured(lab))
    facts = {"machine": {}, "versions": {}, "capacity": {**whole, **content}}
    with pytest.raises(ExperimentError, match=f"capacity.json does not have the form .*{fault}"):
        ComparisonResult.create(tmp_path, spec(), facts, []).capacity()


@pytest.mark.parametrize(
    ("few", "best"), [((), 5.5), ((5.8,), 5.8), ((5.2,), 5.5), ((5.2, 5.9, 5.7), 5.7)]
)
def test_the_bound_rests_on_the_best_that_was_measured(lab, few, best):
    """A shop may serve more with few requests in service; ρ goes by all workers busy."""
    found = dataclasses.replace(measured(lab), few_rps=few)
    assert (found.best_rps, found.median_rps) == (best, 5.5)
