"""Pages, `.env.example`, containers and lab hosts have the settings that the code declares."""

import re
from typing import Any, get_args, get_origin

import pytest
import yaml

from common.settings import bounds, written
from runtime.compose import settings as compose_settings
from runtime.settings import Settings
from tests import generated_pages
from tests.ansible.playing import ROLES

FIELDS = Settings.model_fields
VARIABLES = {Settings.variable(field): field for field in FIELDS}
COMMON = ROLES / "common"

OWN_DEFAULTS = {
    "postgres_port": "the distribution's",
    "redis_port": "the distribution's",
    "broker_port": "next to the distribution's",
    "first_look": "a lab host is for a class, which begins with nothing",
    "loadgen_workers": "follows from the inventory",
}
"""Settings whose default on lab hosts is another one, and why."""


def computed(field: str) -> bool:
    """Whether the default follows from the machine or from other settings."""
    extra = FIELDS[field].json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("shown"))


def read(path: str) -> dict[str, Any]:
    return dict(yaml.safe_load((COMMON / path).read_text(encoding="utf-8")))


def test_the_example_is_read_without_a_fault_when_every_line_is_in_force(tmp_path) -> None:
    """Settings of certificates and of a broker are examples, too; all have a form that is valid."""
    from runtime.settings import load_leniently

    lines = generated_pages.example().splitlines()
    (tmp_path / ".env").write_text(
        "\n".join(line.removeprefix("#") for line in lines if line.startswith("#DOORBUSTER_"))
    )
    settings, faults = load_leniently({}, tmp_path)
    only_here = [fault for fault in faults if "this machine has no CPU" not in fault]
    assert only_here == []
    assert settings.lab_student_limits == "runs_per_launch=5000 waiting_launches=10"


@pytest.mark.parametrize("part", generated_pages.PARTS)
def test_no_two_settings_of_a_part_have_one_variable(part: str) -> None:
    model = generated_pages.PARTS[part]
    names = [model.variable(field) for field in model.model_fields]
    assert len(set(names)) == len(names)


def test_a_name_with_a_unit_means_a_number() -> None:
    """A duration or a size has its unit in the name, and a duration has no other one."""
    for model in generated_pages.PARTS.values():
        for field, info in model.model_fields.items():
            says_seconds = re.search(r"\bseconds for which\b|\bseconds between\b", info.description)
            assert bool(says_seconds) <= field.endswith("_s"), field


def test_compose_has_the_declared_defaults() -> None:
    text = compose_settings.COMPOSE_FILE.read_text(encoding="utf-8")
    found = dict(re.findall(r"\$\{(DOORBUSTER_\w+):-([^}${]*)\}", text))
    compared = {
        name: default
        for name, default in found.items()
        if name in VARIABLES and not computed(VARIABLES[name]) and default
    }
    assert len(compared) > 15
    assert compared == {name: written(FIELDS[VARIABLES[name]].get_default()) for name in compared}


def test_ansible_describes_settings_as_they_are_declared() -> None:
    options = read("meta/argument_specs.yml")["argument_specs"]["preflight"]["options"]
    kinds = {int: "int", bool: "bool", str: "str"}
    for name, spec in options.items():
        field = name.removeprefix("doorbuster_")
        if field not in FIELDS:
            continue
        kind = FIELDS[field].annotation
        wanted = "list" if get_origin(kind) is tuple else kinds[kind]
        assert (spec["type"], spec["description"]) == (wanted, FIELDS[field].description), name
        if wanted == "list":
            assert spec["elements"] == kinds[get_args(kind)[0]], name


def test_ansible_has_the_declared_bounds() -> None:
    ranges = {each["name"]: each for each in read("vars/main.yml")["doorbuster_ranges"]}
    options = read("meta/argument_specs.yml")["argument_specs"]["preflight"]["options"]
    for name in options:
        field = name.removeprefix("doorbuster_")
        if field in FIELDS and FIELDS[field].annotation is int and not field.endswith("_port"):
            found = bounds(FIELDS[field])
            assert (ranges[name]["least"], ranges[name]["most"]) == (found["ge"], found["le"])


def test_ansible_has_the_declared_defaults() -> None:
    for name, default in read("defaults/main.yml").items():
        field = name.removeprefix("doorbuster_")
        if field in FIELDS and not computed(field) and "{{" not in str(default):
            is_own = default != FIELDS[field].get_default()
            assert is_own == (field in OWN_DEFAULTS), name
