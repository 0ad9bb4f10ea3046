"""A spec is read with few modules of the project: it names policies and imports none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.spec.experiment import SPECS

REPOSITORY = Path(__file__).parents[3]
MOST_MODULES = 10
"""The most modules of the project, packages included."""

# Prints the modules that are imported once a spec has been read.
PROGRAM = """
import json, sys
from lab.spec.experiment import load_spec
load_spec(sys.argv[1])
print(json.dumps(list(sys.modules)))
"""
PACKAGES = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}


def imported_by(spec: str) -> list[str]:
    """The project's modules that a fresh process imports to read a spec."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, spec],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return sorted(name for name in json.loads(done.stdout) if name.split(".")[0] in PACKAGES)


@pytest.mark.parametrize("spec", ["connection-sentry", "first-look", "lifo-pri", "lifo-pri-full"])
def test_a_plain_spec_is_read_with_few_modules(spec: str) -> None:
    """Only the names of policies are imported from the gateway."""
    found = imported_by(spec)
    assert [name for name in found if name.startswith("gateway.")] == ["gateway.policies"]
    assert len(found) <= MOST_MODULES, "\n".join(["too many modules:", *found])


@pytest.mark.parametrize("spec", sorted(path.stem for path in SPECS.glob("*.toml")))
def test_a_spec_with_parameters_imports_what_checks_them(spec: str) -> None:
    """It needs policies and the workload model, but no part that runs anything."""
    allowed = ("common", "common.page_types", "gateway", "gateway.policies", "lab", "loadgen")
    strangers = [
        name
        for name in imported_by(spec)
        if not name.startswith(("gateway.policies.", "lab.spec", "lab.baselines", "loadgen."))
        and name not in (*allowed, "lab.errors")
    ]
    assert strangers == []
