"""Against a running appliance under load, every query of the dashboards returns data."""

import http.client
import json
import shutil
import signal
import ssl
import time
import urllib.request
from contextlib import suppress

import pytest

from dashboards.grafana import asking
from runtime import ports
from tests.lab.test_live_comparison import start
from tests.lab.waiting import wait_until

PROMETHEUS = shutil.which("prometheus")
EXPORTERS = {
    "pg_": "prometheus-postgres-exporter",
    "redis_": "prometheus-redis-exporter",
    "node_": "prometheus-node-exporter",
}
"""By how their metrics begin, the programs that tell them."""
ASK_EVERY_S = 3.0
COMPARISON_WITHIN_S = 900.0  # it takes about 90

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(PROMETHEUS is None, reason="no Prometheus: apt-get install prometheus"),
]


def test_every_query_has_data(appliance):
    began_s = time.time()
    admission = {"name": "eac", "parameters": {}}
    put(appliance, "/connection-admission", admission)
    knock_by_tls(appliance)
    comparison = start(
        appliance,
        *("compare", "--policies", "8q-lifo-pri", "--admission", "none,sbac-predictive"),
        *("--abandonment", "cancel", "--rho", "2", "--duration-s", "200"),
    )
    said, _ = comparison.communicate(timeout=COMPARISON_WITHIN_S)
    assert comparison.returncode == 0, said
    # In so short a run it has no quota yet.
    known = {"capacity_rps": 5, "session_length": 2, "leftover_s": 10}
    predictive = {"name": "sbac-predictive", "parameters": known}
    put(appliance, "/policy", {"name": "8q-lifo-pri", "parameters": {}, "admission": predictive})
    *ecm, elsewhere = "--applications", "2", "--cto", "0.05", "--ctn", "0.2", str(ports.free(1)[0])
    platform = start(appliance, "platform", *ecm, "--port", elsewhere)
    try:
        wait_until(lambda: platform.poll() is not None or not unanswered(appliance, began_s))
    except AssertionError:
        pass  # what is missing says it better
    finally:
        platform.send_signal(signal.SIGINT)
        said, _ = platform.communicate(timeout=240)
    found = unanswered(appliance, began_s)
    words = "\n".join(f"{one.dashboard}: {one.panel}: {one.expr}" for one in found)
    assert not found, f"no data:\n{words}\n\nthe platform said:\n{said}"


def unanswered(environment, began_s):
    """The queries without data since then, whichever application is looked at, but for exporters
    that are not installed. Pages of the shop are looked at meanwhile: banners are among them."""
    prometheus = f"http://127.0.0.1:{environment['DOORBUSTER_PROMETHEUS_PORT']}"
    with suppress(OSError):  # a busy machine, or turned away: data decides
        knock_by_tls(environment)
    time.sleep(ASK_EVERY_S)
    of_shop, count = asking.empty(prometheus, began_s, time.time())
    assert count > 100
    of_other, _ = asking.empty(prometheus, began_s, time.time(), application="application-1")
    nowhere = {(one.dashboard, one.panel, one.ref_id) for one in of_other}
    without = [one for one in of_shop if (one.dashboard, one.panel, one.ref_id) in nowhere]
    missing = [begin for begin, program in EXPORTERS.items() if shutil.which(program) is None]
    return [asked for asked in without if not any(begin in asked.expr for begin in missing)]


def put(environment, path, body):
    """A call of the gateway's admin API."""
    gateway = http.client.HTTPConnection(
        "127.0.0.1", int(environment["DOORBUSTER_GATEWAY_ADMIN_PORT"]), timeout=60
    )
    gateway.request("PUT", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = gateway.getresponse()
    assert answer.status == 200, answer.read()
    gateway.close()


def knock_by_tls(environment):
    """A page by TLS, from somebody who asks for no certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = f"https://127.0.0.1:{environment['DOORBUSTER_GATEWAY_TLS_PORT']}/"
    no_proxy = urllib.request.ProxyHandler({})
    by_tls = urllib.request.HTTPSHandler(context=context)
    with urllib.request.build_opener(no_proxy, by_tls).open(url, timeout=60) as page:
        assert page.status == 200
