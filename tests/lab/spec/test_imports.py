"""A spec is read with few modules of the project: it names policies and imports none."""

import json
import tomllib
from pathlib import Path

import lab
from runtime.settings import REPOSITORY
from tests.programs import python

MOST_MODULES = 10
"""The most modules of the project, packages included."""

SHIPPED = sorted(
    str(path.relative_to(REPOSITORY))
    for path in Path(lab.__file__).parent.rglob("*.toml")
    if {"version", "policy", "load"} <= tomllib.loads(path.read_text(encoding="utf-8")).keys()
)
"""The files of all specs that come with Doorbuster."""

EVERY_KEY = """
version = 1
engine = "live"
catalogue_books = 2000
[[policy]]
name = "own/mine.py"
parameters = {places = 3}
[[policy]]
name = "sq"
parameters = {capacity = 9}
admission = "sbac"
admission_parameters = {ac_weight = 0.3}
[[policy]]
gateway = "nginx"
parameters = {burst = 3}
"""
LOADS = (
    "[customers]\nlengths = {mean = 9}",
    "[clients]\nper_set = 3\n[load]\nduration_s = 90",
    "[load]\nschedule = [{duration_s = 90, rho = 2}]",
    "[load]\nduration_s = 90\narrivals = {formula = '1 + t'}",
    "[load]\narrivals = {trace = 'mine.csv'}",
)

# Prints the modules that are imported once these specs have been read.
PROGRAM = """
import json, sys
from lab.spec.experiment import load_spec
list(map(load_spec, sys.argv[1:]))
print(json.dumps(list(sys.modules)))
"""
PACKAGES = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}


def imported_by(*specs: str) -> list[str]:
    """The project's modules that a fresh process imports to read specs."""
    done = python("-c", PROGRAM, *specs, check=True)
    return sorted(name for name in json.loads(done.stdout) if name.split(".")[0] in PACKAGES)


def check_few(found: list[str]) -> None:
    """Only the names of policies are imported from the gateway."""
    assert [name for name in found if name.startswith("gateway.")] == ["gateway.policies"]
    assert len(found) <= MOST_MODULES, "\n".join(["too many modules:", *found])


def test_shipped_specs_are_read_with_few_modules() -> None:
    assert {"lab/spec/specs/sbac.toml", "lab/students/scoreboard.toml"} < set(SHIPPED)
    assert len(SHIPPED) >= 18
    check_few(imported_by(*SHIPPED))


def test_every_key_is_read_with_few_modules(tmp_path: Path) -> None:
    """No other file is read, either: the policy of these specs and their trace are missing."""
    paths = [tmp_path / f"{number}.toml" for number in range(len(LOADS))]
    for path, load in zip(paths, LOADS, strict=True):
        path.write_text(EVERY_KEY + load, encoding="utf-8")
    check_few(imported_by(*map(str, paths)))
