"""The appliance that the cases kill parts of, once for all of them."""

import os
from collections.abc import Iterator

import pytest

from tests.chaos.runtimes import Docker, Native, Runtime
from tests.chaos.table import Row, written
from tests.lab.conftest import appliance  # noqa: F401 -- a fixture

RUNTIME = os.environ.get("RUNTIME") or "native"


@pytest.fixture(scope="session")
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """As RUNTIME says: an appliance of the tests' own, or the stack of containers that runs."""
    if RUNTIME == "docker":
        return Docker()
    return Native(request.getfixturevalue("appliance"))


@pytest.fixture(scope="session")
def rows() -> Iterator[list[Row]]:
    """A row of each case; what there are in the end is printed and written to the docs."""
    found: list[Row] = []
    yield found
    if found:
        path = written(RUNTIME, found)
        print(f"\n{path.read_text(encoding='utf-8')}\nwritten to {path}")
