"""The running appliance as an experiment sees it: the gateway's admin API, the shop's controller.

Owns: the calls and what is said when nobody answers. Must not know: runs, specs, results.
"""

import http.client
import json
import time
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from lab.experiments.errors import ExperimentError
from runtime import settings

_TIMEOUT_S = 10.0
"""Generous: the shop's side thread competes with 30 busy ones."""

Json = dict[str, Any]


class JsonApi:
    """JSON over one HTTP address; every fault becomes an ExperimentError that names the part."""

    def __init__(self, part: str, host: str, port: int) -> None:
        self.part, self.address = part, f"{host}:{port}"
        self._connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Json:
        """The decoded answer; raises ExperimentError when unreachable or refused."""
        content = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"} if content else {}
        try:
            response = self._send(method, path, content, headers)
            answer = json.loads(response.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as fault:
            self._connection.close()
            raise ExperimentError(
                f"{self.part} does not answer on {self.address} ({fault}). "
                "Start the appliance with `make up`; `make doctor` says what is wrong."
            ) from None
        if response.status >= 400:
            raise ExperimentError(
                f"{self.part} refused {method} {path}: {answer.get('error', response.reason)}"
            )
        return dict(answer)

    def _send(
        self, method: str, path: str, content: str | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        # A kept-alive connection may have been closed meanwhile: try once more on a new one.
        for last_try in (False, True):
            try:
                self._connection.request(method, path, content, dict(headers))
                return self._connection.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                self._connection.close()
                if last_try:
                    raise
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Give the connection back; the next call opens a new one."""
        self._connection.close()


class Appliance:
    """Gateway and shop together. `lab` are the machine's settings."""

    def __init__(self, lab: settings.Settings) -> None:
        self.lab = lab
        self.gateway = JsonApi("The gateway's admin API", "127.0.0.1", lab.gateway_admin_port)
        self.shop = JsonApi("The shop's controller", "127.0.0.1", lab.shop_controller_port)

    @property
    def url(self) -> str:
        """Where customers find the shop."""
        host = "127.0.0.1" if self.lab.host in ("0.0.0.0", "::") else self.lab.host
        return f"http://{host}:{self.lab.gateway_port}"

    def check(self) -> None:
        """Raise ExperimentError unless both parts answer."""
        self.gateway.call("GET", "/health")
        self.shop.call("GET", "/status")

    def prepare(
        self,
        *,
        policy: Mapping[str, object],
        profile: str,
        time_scale: float,
        utilisation_interval_s: float,
        seed: int,
    ) -> None:
        """The same shop for every run: seeded stock, no queue, the policy fresh.

        `policy` is the body of `PUT /policy`.
        """
        self.wait_idle()
        self.shop.call("POST", "/reset")
        self.shop.call(
            "PUT", "/settings", {"profile": profile, "time_scale": time_scale, "seed": seed}
        )
        self.gateway.call(
            "PUT",
            "/settings",
            {"time_scale": time_scale, "utilisation_interval_s": utilisation_interval_s},
        )
        self.gateway.call("PUT", "/policy", policy)

    def wait_idle(self, limit_s: float = 120.0) -> None:
        """Wait until nobody waits or is served (orphans of the last run end first)."""
        deadline_s = time.monotonic() + limit_s
        while time.monotonic() < deadline_s:
            now = self.gateway.call("GET", "/snapshot")
            if now["waiting"] == 0 and now["in_service"] == 0:
                return
            time.sleep(0.05)
        raise ExperimentError(
            f"The gateway is still busy after {limit_s:.0f} s; is someone else using the shop? "
            f"See http://{self.gateway.address}/snapshot."
        )

    def counts(self) -> Json:
        """Cumulative counts of gateway and shop, to be subtracted from later ones."""
        snapshot = self.gateway.call("GET", "/snapshot")
        status = self.shop.call("GET", "/status")
        return {"gateway": snapshot["counts"], "shop": status}


def is_loopback(url: str) -> bool:
    """Load may go to this machine only."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
