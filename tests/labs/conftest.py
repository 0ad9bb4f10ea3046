"""The appliance on which the sheets run, once for all of them: `make test-labs`."""

import os

import pytest

from tests.lab.conftest import appliance  # noqa: F401 -- a fixture

RUNS = "DOORBUSTER_TEST_LABS"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the sheets except in `make test-labs`."""
    if not os.environ.get(RUNS):
        skipped = pytest.mark.skip(reason="make test-labs")
        for item in items:
            if item.path.name == "test_running.py":
                item.add_marker(skipped)
