"""A whole separate appliance for tests: it has other ports and another state than a running one."""

import os
import tempfile
from pathlib import Path

import pytest

from common import ports
from runtime.settings import load
from tests.programs import python


@pytest.fixture(scope="session")
def appliance():
    """The environment of a running appliance; it is stopped at the end."""
    # Not pytest's temporary folder: as root that is closed to the user PostgreSQL runs under.
    with tempfile.TemporaryDirectory(prefix="doorbuster-appliance-") as folder:
        Path(folder).chmod(0o755)
        environment = {
            name: value
            for name, value in os.environ.items()
            # Nor the settings of Django that these tests have: the console has its own.
            if not name.startswith(("DOORBUSTER_", "DJANGO_"))
        }
        names = list(load().ports())
        environment |= {
            name: str(port) for name, port in zip(names, ports.free(len(names)), strict=True)
        }
        environment["DOORBUSTER_FIRST_LOOK"] = "0"
        # Whoever has accounts on this machine: every caller has to send the token.
        environment["DOORBUSTER_INNER_TOKEN_REQUIRED"] = "1"
        environment["RUNTIME"] = "native"
        environment["DOORBUSTER_STATE_DIR"] = f"{folder}/state"
        environment["DOORBUSTER_RESULTS_DIR"] = f"{folder}/results"
        # An experiment that runs on this machine shall not fail the tests (it will only make them
        # slower).
        environment["DOORBUSTER_LIVE_RUN_LOCK"] = folder
        environment["TMPDIR"] = folder
        try:
            _runtime("up", environment)
            yield environment
        finally:
            _runtime("down", environment)


def _runtime(command, environment):
    done = python("-m", "doorbuster", command, env=environment, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
