"""The appliance on which the sheets are run, once for all of them: `make test-labs`."""

import os

import pytest

from tests.lab.conftest import appliance  # noqa: F401 -- a fixture

RUNS = "DOORBUSTER_TEST_LABS"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sheets are run only where that is asked for."""
    if not os.environ.get(RUNS):
        skipped = pytest.mark.skip(reason="make test-labs")
        for item in items:
            if item.path.name == "test_running.py":
                item.add_marker(skipped)
