"""Clients of the gateway's admin API and the shop's controller, with the calls that runs need."""

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from common import hosts
from common.http_json import JsonClient, NoAnswerError, RefusedError
from common.waiting import retry, wait_until
from gateway.policies import NO_ADMISSION, Abandonment
from lab.errors import ExperimentError
from lab.spec.sections import PolicyChoice
from runtime import settings

_TIMEOUT_S = 10.0
"""The timeout for an answer, in real seconds. The timeout is long, because the controller is one
thread in the shop's process, next to 30 busy threads.
"""

_CATALOGUE_TIMEOUT_S = 900.0
"""The timeout for a change of the catalogue, in real seconds. On a busy machine, the shop needs
several minutes to reach the largest size.
"""

IDLE_WITHIN_S = 120.0
"""The real seconds to wait until no request waits or is in service."""

Json = dict[str, Any]
T = TypeVar("T")


class JsonApi:
    """A client that sends JSON to one HTTP address and receives JSON.

    Every fault becomes an ExperimentError that names `part`, the program at this address. The error
    for an unknown host names `host_variable`, the setting with the host.
    """

    def __init__(
        self,
        part: str,
        host: str,
        port: int,
        timeout_s: float = _TIMEOUT_S,
        host_variable: str = "",
        token: str = "",
    ) -> None:
        self.part, self.address = part, hosts.authority(host, port)
        self._host_variable = host_variable
        self._client = JsonClient(host, port, timeout_s=timeout_s, token=token)

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Json:
        """Return the decoded answer; raises ExperimentError if the address is unreachable or
        refuses the call."""
        return dict(self._answer(method, path, body))

    def listing(self, path: str) -> list[Json]:
        """Return the list in the answer to `GET path`; raises ExperimentError as `call` does."""
        return list(self._answer("GET", path, None))

    def _answer(self, method: str, path: str, body: Mapping[str, object] | None) -> Any:
        try:
            return self._client.call(method, path, body)
        except NoAnswerError as fault:
            fix = "Start the appliance with `make up`; `make doctor` shows what is wrong."
            if isinstance(fault.__cause__, socket.gaierror) and self._host_variable:
                fix = (
                    f"{self._host_variable} must be a host name that this machine can resolve, "
                    "or an address."
                )
            raise ExperimentError(
                f"{self.part} does not answer on {self.address} ({fault}). {fix}"
            ) from None
        except RefusedError as refused:
            raise ExperimentError(f"{self.part} refused {method} {path}: {refused}") from None

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        self._client.close()


def patiently(ask: Callable[[], T], limit_s: float = 60.0) -> T:
    """Return the result of `ask`, which is called again after each ExperimentError, because a part
    may be restarting.

    After `limit_s` real seconds, the function raises the last ExperimentError of `ask`.
    """
    return retry(ask, ExperimentError, limit_s, every_s=0.2)


class Appliance:
    """A client of the gateway and the shop. `lab` has the machine's settings.

    Every call raises ExperimentError if the gateway or the shop does not answer or refuses.
    """

    def __init__(self, lab: settings.Settings) -> None:
        self.lab = lab
        self.gateway = JsonApi(
            "The gateway's admin API",
            lab.gateway_admin_host,
            lab.gateway_admin_port,
            host_variable="DOORBUSTER_GATEWAY_HOST",
            token=lab.inner_token,
        )
        self.shop = _controller(lab)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self.gateway.close()
        self.shop.close()

    def again(self) -> "Appliance":
        """Return another object for the same appliance, with separate connections."""
        return Appliance(self.lab)

    @property
    def url(self) -> str:
        """The address at which customers reach the shop."""
        return f"http://{hosts.authority(self.lab.gateway_pages_host, self.lab.gateway_port)}"

    def check_may_be_loaded(self) -> None:
        """Raise ExperimentError unless the gateway is on loopback or named by the settings."""
        if not (self.lab.gateway_host or hosts.is_loopback(self.lab.gateway_pages_host)):
            raise ExperimentError(
                f"{self.url}: load can go only to this machine (loopback), or to the gateway that "
                "DOORBUSTER_GATEWAY_HOST names. Set DOORBUSTER_HOST to 127.0.0.1 or 0.0.0.0, and "
                "run `make up` again."
            )

    def check(self) -> None:
        """Raise ExperimentError unless the gateway and the shop answer."""
        self.gateway.call("GET", "/health")
        self.shop.call("GET", "/status")

    def check_lives(self) -> None:
        """Raise ExperimentError if a process that serves only this run has died."""

    def snapshot(self) -> Json:
        """Return the gateway's `GET /snapshot`."""
        return self.gateway.call("GET", "/snapshot")

    def check_knows(self, policies: Iterable[PolicyChoice]) -> None:
        """Raise ExperimentError unless the running gateway has all these policies, with all given
        parameters. A gateway lacks policies that were written after the gateway's start. Students'
        policies are not checked, because each run sends their texts.
        """
        used = [
            (path, name, given, choice.key)
            for choice in policies
            # Others are not the gateway's policies, or their texts are sent for each run.
            if choice.gateway is None and choice.sha256 is None
            for path, name, given in (
                ("/policies", choice.name, choice.parameters),
                ("/admissions", choice.admission, choice.admission_parameters),
            )
            if name != NO_ADMISSION
        ]
        parameters = {
            path: {
                sheet["name"]: {each["name"] for each in sheet["parameters"]}
                for sheet in self.gateway.listing(path)
            }
            for path in {path for path, *_ in used}
        }
        for path, name, given, key in used:
            if name not in parameters[path] or not parameters[path][name] >= set(given):
                raise ExperimentError(
                    f"The running gateway does not know the current version of {key}. To start a "
                    "gateway with the current code, run `make down` and `make up`."
                )

    def set_catalogue(self, books: int) -> None:
        """Grow or shrink the shop's catalogue, which can take minutes. Raises ExperimentError if
        the shop does not change its catalogue."""
        patient = _controller(self.lab, _CATALOGUE_TIMEOUT_S)
        try:
            patient.call("PUT", "/catalogue", {"books": books})
        finally:
            patient.close()

    def prepare(
        self,
        *,
        policy: Mapping[str, object] | None,
        profile: str,
        time_scale: float,
        utilisation_interval_s: float,
        seed: int,
        abandonment: Abandonment = "ignore",
        shadows: Sequence[str] = (),
    ) -> None:
        """Bring the appliance into the same state before every run: the initial stock, an empty
        queue, a new policy and new shadows.

        `policy` is the body of `PUT /policy`; if it is None, the gateway keeps its policy. If
        `abandonment` is `cancel`, the shop's sentry stops work; otherwise, the sentry only counts
        wasted work. Pages have no banners.
        """
        self.set_shadows(())  # also shadows that a user has started on a page
        self.end_faults()
        self.wait_idle()
        self.shop.call("POST", "/reset")
        self.shop.call(
            "PUT",
            "/settings",
            {
                "profile": profile,
                "time_scale": time_scale,
                "seed": seed,
                "sentry": _sentry_mode(abandonment),
                "ads": False,
            },
        )
        self.gateway.call(
            "PUT",
            "/settings",
            {
                "time_scale": time_scale,
                "utilisation_interval_s": utilisation_interval_s,
                "abandonment": abandonment,
            },
        )
        if policy is not None:
            self.gateway.call("PUT", "/policy", policy)
        if shadows:
            self.set_shadows(shadows)

    def set_shadows(self, names: Iterable[str]) -> None:
        """Replace all shadows by the policies with these names and their default parameters."""
        policies = [{"name": name} for name in names]
        self.gateway.call("PUT", "/shadows", {"policies": policies})

    def add_shadow(self, policy: Mapping[str, Any]) -> None:
        """Add a shadow; `policy` has the form of `PUT /policy`."""
        self.gateway.call("POST", "/shadows", policy)

    def remove_shadow(self, name: str) -> None:
        """Remove the shadow with this name; the gateway refuses if the shadow has already ended."""
        self.gateway.call("DELETE", f"/shadows/{quote(name, safe='')}")

    def shadows(self) -> list[Json]:
        """Return the counts of each shadow's decisions so far."""
        return list(self.gateway.call("GET", "/snapshot")["shadows"])

    def set_abandonment(self, abandonment: Abandonment) -> None:
        """Set what gateway and shop do from now on when a customer leaves."""
        self.shop.call("PUT", "/settings", {"sentry": _sentry_mode(abandonment)})
        self.gateway.call("PUT", "/settings", {"abandonment": abandonment})

    def slow_database(self, for_s: float) -> None:
        """Delay every query of the shop's pages, until the shop ends the delay after `for_s` paper
        seconds.
        """
        self.shop.call("PUT", "/slow-database", {"for_s": for_s})

    def end_faults(self) -> None:
        """End the faults that users have caused."""
        slow = self.shop.call("GET", "/status").get("slow_database")
        if slow and slow["left_s"] > 0:
            self.slow_database(0)

    def give_back(self) -> None:
        """After runs, restore the page profile, banners, sentry, abandonment mode and shadows that
        `make up` sets.
        """
        for_people = {"profile": "paper", "ads": True, "sentry": "watch"}
        self.shop.call("PUT", "/settings", for_people)
        self.gateway.call("PUT", "/settings", {"abandonment": "ignore"})
        self.set_shadows(())

    def wait_idle(self) -> None:
        """Wait until no request, including orphan requests, waits or is in service."""

        def is_idle() -> bool:
            now = self.snapshot()
            return bool(now["waiting"] == now["in_service"] == 0)

        if not wait_until(is_idle, IDLE_WITHIN_S):
            raise ExperimentError(
                f"The gateway is still busy after {IDLE_WITHIN_S:.0f} s. If another client uses "
                f"the shop, stop this client; see http://{self.gateway.address}/snapshot."
            )

    def counts(self) -> Json:
        """Return the cumulative counts of gateway and shop; the difference between two calls gives
        the counts of a run.
        """
        snapshot = self.snapshot()
        status = self.shop.call("GET", "/status")
        return {
            "gateway": snapshot["counts"],
            "abandonment": snapshot["abandonment"],
            "shop": status,
            "orders": self.shop.call("GET", "/orders")["orders"],  # in the database
        }


def _sentry_mode(abandonment: Abandonment) -> str:
    return "cancel" if abandonment == "cancel" else "watch"


def _controller(lab: settings.Settings, timeout_s: float = _TIMEOUT_S) -> JsonApi:
    return JsonApi(
        "The shop's controller",
        lab.shop_host,
        lab.shop_controller_port,
        timeout_s,
        "DOORBUSTER_SHOP_HOST",
        lab.inner_token,
    )
