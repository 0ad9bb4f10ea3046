import dataclasses

import pytest

from lab.experiments.capacity import Capacity, from_json, keep, kept
from lab.experiments.errors import ExperimentError
from lab.experiments.machine import fingerprint
from runtime.settings import load


@pytest.fixture
def lab(tmp_path):
    return dataclasses.replace(load(), state_dir=tmp_path)


def measured(lab):
    return Capacity(5.5, (5.4, 5.5, 5.6), "paper", 10.0, fingerprint(lab), "2026-11-21T05:00:00")


def test_a_kept_capacity_comes_back(lab):
    keep(measured(lab), lab)
    again = kept(lab, page_profile="paper", time_scale=10.0)
    assert again.median_rps == 5.5
    assert tuple(again.measurements_rps) == (5.4, 5.5, 5.6)


def test_each_profile_and_scale_has_its_own(lab):
    keep(measured(lab), lab)
    with pytest.raises(ExperimentError, match="make capacity"):
        kept(lab, page_profile="real", time_scale=10.0)
    with pytest.raises(ExperimentError, match="make capacity"):
        kept(lab, page_profile="paper", time_scale=20.0)


def test_another_machine_is_refused_with_the_date(lab):
    keep(measured(lab), lab)
    changed = dataclasses.replace(lab, shop_workers=lab.shop_workers + 1)
    with pytest.raises(ExperimentError, match="2026-11-21"):
        kept(changed, page_profile="paper", time_scale=10.0)


def test_a_foreign_file_is_refused():
    with pytest.raises(ExperimentError, match="capacity file"):
        from_json({"median_rps": 5.0})
