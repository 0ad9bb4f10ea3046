"""The appliance that the cases kill parts of, once for all of them."""

from collections.abc import Iterator

import pytest

from runtime import choice
from runtime.compose import engine
from runtime.settings import load
from tests.chaos import table
from tests.chaos.runtimes import Docker, Native, Runtime, own_environment
from tests.chaos.table import Row
from tests.lab.conftest import appliance  # noqa: F401 -- a fixture


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--storm-minutes",
        type=float,
        default=3.0,
        help="How long parts are killed at random under buyers. Default: 3.",
    )


@pytest.fixture(scope="session")
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """Yield the appliance of RUNTIME: a separate one, or the stack of containers that runs."""
    try:
        asked = choice.asked()
    except choice.RuntimeChoiceError as error:
        pytest.exit(str(error), 2)
    if asked == "docker":
        why = engine.problem()
        if why is None and choice.running(load(own_environment())) != "docker":
            why = "the appliance does not run in containers; fix: make up RUNTIME=docker"
        if why is not None:
            pytest.exit(f"RUNTIME=docker: {why}", 2)
        return Docker()
    return Native(request.getfixturevalue("appliance"))


@pytest.fixture(scope="session")
def rows(runtime: Runtime) -> Iterator[list[Row]]:
    """Yield the list for a row of each case; print it at the end and write it to the docs."""
    found: list[Row] = []
    yield found
    if found:
        path = table.written(runtime.name, found)
        print(f"\n{path.read_text(encoding='utf-8')}\nwritten to {path}")
