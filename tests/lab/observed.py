"""An appliance under load, and the queries of the dashboards that had no data meanwhile."""

import ssl
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from subprocess import Popen

from common.http_json import JsonClient
from dashboards.grafana import asking
from dashboards.grafana.committed import Asked
from runtime.settings import Settings
from tests.waiting import until

ASK_EVERY_S = 3.0
COMPARISON_WITHIN_S = 900.0  # it takes about 90
COMPARISON = (
    *("compare", "--policies", "8q-lifo-pri", "--admission", "none,sbac-predictive"),
    *("--abandonment", "cancel", "--rho", "2", "--duration-s", "200"),
)
# In so short a run it has no quota yet.
KNOWN = {"capacity_rps": 5, "session_length": 2, "leftover_s": 10}
PREDICTIVE = {"name": "sbac-predictive", "parameters": KNOWN}


class Observed:
    """The dashboards' questions to an appliance, from now on; it does all that they tell of."""

    def __init__(self, settings: Settings, start: Callable[..., "Popen[str]"]) -> None:
        """`start` gives the process of a `doorbuster` command."""
        self._settings = settings
        self._start = start
        self._began_s = time.time()

    def under_load(self) -> None:
        """A comparison, and new customers by TLS; then admission predicts, and a shadow runs."""
        self._put("/connection-admission", {"name": "eac", "parameters": {"processors": 1}})
        self._knock_by_tls()
        comparison = self._start(*COMPARISON)
        said, _ = comparison.communicate(timeout=COMPARISON_WITHIN_S)
        assert comparison.returncode == 0, said
        self._put("/policy", {"name": "8q-lifo-pri", "parameters": {}, "admission": PREDICTIVE})
        self._put("/shadows", {"policies": [{"name": "sq"}]})

    def wait(self, is_over: Callable[[], bool] = lambda: False, but: Sequence[str] = ()) -> None:
        """Until every query has data, but for metrics that begin so, or until it is over."""
        with suppress(AssertionError):  # what is missing says it better
            until(lambda: is_over() or not self.unanswered(but))

    def unanswered(self, but: Sequence[str] = ()) -> list[Asked]:
        """The queries without data, whichever application is looked at, but for metrics that begin
        so. Pages of the shop are looked at meanwhile: banners are among them."""
        with suppress(OSError):  # a busy machine, or turned away: data decides
            self._knock_by_tls()
        time.sleep(ASK_EVERY_S)
        prometheus = f"http://127.0.0.1:{self._settings.prometheus_port}"
        of_shop, count = asking.empty(prometheus, self._began_s, time.time())
        assert count > 100
        of_other, _ = asking.empty(
            prometheus, self._began_s, time.time(), application="application-1"
        )
        nowhere = {(one.dashboard, one.panel, one.ref_id) for one in of_other}
        without = [one for one in of_shop if (one.dashboard, one.panel, one.ref_id) in nowhere]
        return [asked for asked in without if not any(begin in asked.expr for begin in but)]

    def _put(self, path: str, body: object) -> None:
        """A call of the gateway's admin API."""
        port, token = self._settings.gateway_admin_port, self._settings.inner_token
        with JsonClient("127.0.0.1", port, timeout_s=60, token=token) as gateway:
            gateway.call("PUT", path, body)

    def _knock_by_tls(self) -> None:
        """Request a page by TLS, without a check of the certificate."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        url = f"https://127.0.0.1:{self._settings.gateway_tls_port}/"
        no_proxy = urllib.request.ProxyHandler({})
        by_tls = urllib.request.HTTPSHandler(context=context)
        with urllib.request.build_opener(no_proxy, by_tls).open(url, timeout=60) as page:
            assert page.status == 200


def words(found: Sequence[Asked]) -> str:
    """A line for each."""
    return "\n".join(f"{one.dashboard}: {one.panel}: {one.expr}" for one in found)
