"""Data sheets, and errors that name the field and the allowed values."""

import json
import tomllib
from pathlib import Path

import pytest

from gateway.policies import CONNECTION_ADMISSIONS, POLICIES, PolicyError, is_path, stem
from gateway.policies.interface import PAGES, Page
from gateway.policies.registry import (
    connection_admission_sheet,
    create,
    create_connection_admission,
    describe,
    sheet,
)


def test_a_path_is_told_from_a_name():
    assert is_path("own/quiet_door.py")
    assert not is_path("sq")
    assert not is_path(7)
    assert stem("own/quiet_door.py") == "quiet_door"
    assert stem("8q-lifo-pri") == "8q-lifo-pri"


@pytest.mark.parametrize("name", POLICIES)
def test_every_sheet_is_complete(name):
    known = sheet(name)
    assert known.name == name
    assert all((known.idea, known.rule, known.source, known.deviations))
    assert create(name, {}).name == name
    for parameter in known.parameters:
        assert all((parameter.unit, parameter.meaning, parameter.source))
        assert parameter.name in known.rule or parameter.name.endswith("capacity")


@pytest.mark.parametrize(
    ("name", "parameters", "field", "hint"),
    [
        ("8q", {}, "policy", "8q-lifo-pri"),
        ("sq", {"capacty": 3}, "parameters.capacty", "capacity"),
        ("sq", {"capacity": 0}, "parameters.capacity", "from 1 to"),
        ("sq", {"capacity": 2.5}, "parameters.capacity", "whole number"),
        ("sq", {"capacity": True}, "parameters.capacity", "whole number"),
        ("sq", {"capacity": "100"}, "parameters.capacity", "whole number"),
        ("lifo-at-overload", {"cpu_upper_threshold": 99}, "parameters.cpu_upper_threshold", "to 1"),
        (
            "8q-lifo-pri",
            {"cpu_upper_threshold": 0.9},
            "parameters.cpu_lower_threshold",
            "at most 0.9",
        ),
        ("8q-af", {"utility": {"Br-9": 1}}, "parameters.utility", "Br-1"),
        ("8q-af", {"utility": 7}, "parameters.utility", "table"),
        ("8q-af", {"utility": {"Br-1": -1}}, "parameters.utility.Br-1", "from 0"),
        ("8q-af", {"utility": {"Br-1": float("nan")}}, "parameters.utility.Br-1", "from 0"),
    ],
)
def test_refusals(name, parameters, field, hint):
    with pytest.raises(PolicyError) as refusal:
        create(name, parameters)
    assert refusal.value.field == field
    assert hint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_utility_left_out_keeps_its_default():
    values = sheet("8q-af").read({"utility": {"Br-1": 1.0}})
    assert values["utility"][Page.HOME] == 1.0
    assert values["utility"][Page.CONFIRM] == 5000.0


def test_defaults_are_the_published_ones():
    published_file = Path(__file__).parents[3] / "lab/analysis/published.toml"
    published = tomllib.loads(published_file.read_text())
    paper = published["lifo_pri"]
    assert sheet("sq").read({})["capacity"] == paper["single_queue_capacity"]
    eight = sheet("8q-lifo-pri").read({})
    assert eight["browsing_capacity"] == paper["browsing_queue_capacity"]
    assert eight["transaction_capacity"] == paper["transaction_queue_capacity"]
    assert [eight["utility"][page] for page in PAGES] == paper["utility"]
    assert eight["cpu_upper_threshold"] == paper["cpu_upper_threshold"]
    assert eight["cpu_lower_threshold"] == paper["cpu_lower_threshold"]


@pytest.mark.parametrize("name", CONNECTION_ADMISSIONS)
def test_every_connection_admission_has_a_complete_sheet(name):
    known = connection_admission_sheet(name)
    assert all((known.idea, known.rule, known.source, known.deviations))
    assert create_connection_admission(name).name == name
    assert name in {row["name"] for row in json.loads(json.dumps(describe(CONNECTION_ADMISSIONS)))}


@pytest.mark.parametrize(
    ("name", "parameters", "field", "hint"),
    [
        ("ead", {}, "connection_admission", "eac"),
        ("none", {"ctn_s": 1}, "connection_admission_parameters.ctn_s", "none"),
        ("eac", {"ctn_s": 0}, "connection_admission_parameters.ctn_s", "from 1e-06"),
        ("eac", {"ewma_alpha": 1.5}, "connection_admission_parameters.ewma_alpha", "to 1"),
        ("eac", {"processors": -1}, "connection_admission_parameters.processors", "from 0"),
    ],
)
def test_refusals_of_connection_admissions(name, parameters, field, hint):
    with pytest.raises(PolicyError) as refusal:
        create_connection_admission(name, parameters)
    assert refusal.value.field == field
    assert hint in str(refusal.value)
