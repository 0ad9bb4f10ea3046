"""Against a running appliance under load, every query of the dashboards returns data."""

import shutil
import signal
from functools import partial

import pytest

from common import ports
from runtime.settings import load
from tests.lab.observed import Observed, words
from tests.lab.runner.test_live import start
from tests.skips import needs

EXPORTERS = {
    "pg_": "prometheus-postgres-exporter",
    "redis_": "prometheus-redis-exporter",
    "node_": "prometheus-node-exporter",
}
"""By how their metrics begin, the programs that tell them."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(2400), needs("prometheus")]


def test_every_query_has_data(appliance):
    missing = [begin for begin, program in EXPORTERS.items() if shutil.which(program) is None]
    observed = Observed(load(appliance), partial(start, appliance))
    observed.under_load()
    *ecm, elsewhere = "--applications", "2", "--cto", "0.05", "--ctn", "0.2", str(ports.free(1)[0])
    platform = start(appliance, "platform", *ecm, "--port", elsewhere)
    try:
        observed.wait(lambda: platform.poll() is not None, but=missing)
    finally:
        platform.send_signal(signal.SIGINT)
        said, _ = platform.communicate(timeout=240)
    found = observed.unanswered(missing)
    assert not found, f"no data:\n{words(found)}\n\nthe platform said:\n{said}"
