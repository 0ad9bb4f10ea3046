"""Simulator, policies and workload model need the standard library; numpy makes them faster.

They also run in a browser (Pyodide), where the project's libraries are missing.
"""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[2]
LIBRARIES = ("django", "gevent", "locust", "matplotlib", "numpy", "psycopg", "pyarrow", "pydantic")
LONGEST_S = 300


@pytest.fixture(scope="module", params=[[], ["numpy"]], ids=["nothing", "numpy"])
def libraries(request: pytest.FixtureRequest) -> list[str]:
    """Return the libraries of the environment."""
    names: list[str] = request.param
    return names


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory, libraries: list[str]) -> Path:
    """Return a Python in a virtual environment with these libraries and no others."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=LONGEST_S
    )
    roots = {"base": str(folder), "platbase": str(folder)}
    place = Path(sysconfig.get_path("purelib", "venv", roots))
    numpy = Path(np.__file__).parent
    for own in (numpy, numpy.with_name("numpy.libs")):
        if libraries and own.is_dir():
            (place / own.name).symlink_to(own)
    return folder / "bin" / "python"


def output(python: Path | str, *arguments: str) -> str:
    """Return Python's output, run in the checkout without this process's environment variables."""
    command = [str(python), *arguments]
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bare_environment_has_no_other_library(bare_python: Path, libraries: list[str]) -> None:
    """The environment of this test is as bare as it claims."""
    program = (
        "import importlib.util, json, sys;"
        "print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name)]))"
    )
    assert json.loads(output(bare_python, "-c", program, *LIBRARIES)) == libraries


def test_simulations_in_a_bare_environment_give_the_same_numbers(
    bare_python: Path, libraries: list[str]
) -> None:
    """Every policy and every kind of customer can be simulated, with the same results as here."""
    program = ("-m", "tests.simulator.small_runs")
    bare, full = (
        {json.loads(line)[0]: line for line in output(python, *program).splitlines()}
        for python in (bare_python, sys.executable)
    )
    assert {name for name in full if bare.get(name) != full[name]} == (
        set() if libraries else {"platform"}
    )
    assert len(full) > 20
