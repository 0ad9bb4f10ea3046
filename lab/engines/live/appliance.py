"""The appliance as an experiment sees it: the gateway's admin API and the shop's controller."""

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from common import hosts
from common.http_json import JsonClient, NoAnswerError, RefusedError
from common.waiting import retry, wait_until
from gateway.policies import NO_ADMISSION, Abandonment
from lab.errors import ExperimentError
from lab.spec.sections import PolicyChoice
from runtime import settings

_TIMEOUT_S = 10.0
"""Generous: the shop's side thread competes with 30 busy ones."""

_CATALOGUE_TIMEOUT_S = 900.0
"""Growing the catalogue to its largest takes a minute, on a busy machine several."""

Json = dict[str, Any]
T = TypeVar("T")


class JsonApi:
    """JSON over one HTTP address; every fault becomes an ExperimentError that names the part.

    `host_variable` is the setting that says where it is, for messages of faults; `token` goes with
    every call.
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
        """The decoded answer; raises ExperimentError when unreachable or refused."""
        return dict(self._answer(method, path, body))

    def listing(self, path: str) -> list[Json]:
        """The list that `GET path` answers; raises ExperimentError as `call` does."""
        return list(self._answer("GET", path, None))

    def _answer(self, method: str, path: str, body: Mapping[str, object] | None) -> Any:
        try:
            return self._client.call(method, path, body)
        except NoAnswerError as fault:
            fix = "Start the appliance with `make up`; `make doctor` says what is wrong."
            if isinstance(fault.__cause__, socket.gaierror) and self._host_variable:
                fix = f"{self._host_variable} must be a name or an address that is known here."
            raise ExperimentError(
                f"{self.part} does not answer on {self.address} ({fault}). {fix}"
            ) from None
        except RefusedError as refused:
            raise ExperimentError(f"{self.part} refused {method} {path}: {refused}") from None

    def close(self) -> None:
        """Give the connection back; the next call opens a new one."""
        self._client.close()


def patiently(ask: Callable[[], T], limit_s: float = 60.0) -> T:
    """What `ask` answers, as soon as it does: what dies is started again within seconds.

    Raises its last ExperimentError after `limit_s`.
    """
    return retry(ask, ExperimentError, limit_s, every_s=0.2)


class Appliance:
    """Gateway and shop together. `lab` are the machine's settings."""

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
        """Give the connections back; the next call opens new ones."""
        self.gateway.close()
        self.shop.close()

    @property
    def tells_who_left(self) -> bool:
        """Whether the shop hears of customers who leave, and so of work that is wasted."""
        return True

    def again(self) -> "Appliance":
        """The same with connections of its own."""
        return Appliance(self.lab)

    @property
    def url(self) -> str:
        """Where customers find the shop."""
        return f"http://{hosts.authority(self.lab.gateway_pages_host, self.lab.gateway_port)}"

    def check_may_be_loaded(self) -> None:
        """Raise ExperimentError unless it is on this machine, or the settings name its gateway."""
        if not (self.lab.gateway_host or hosts.is_loopback(self.lab.gateway_pages_host)):
            raise ExperimentError(
                f"{self.url}: load goes to loopback only, or to the gateway that "
                "DOORBUSTER_GATEWAY_HOST names; set DOORBUSTER_HOST to 127.0.0.1 or 0.0.0.0 and "
                "`make up` again."
            )

    def check(self) -> None:
        """Raise ExperimentError unless both parts answer."""
        self.gateway.call("GET", "/health")
        self.shop.call("GET", "/status")

    def check_lives(self) -> None:
        """Raise ExperimentError when what was started for a run alone has died."""

    def snapshot(self) -> Json:
        """Everything at once, as the gateway's `GET /snapshot`; raises ExperimentError."""
        return self.gateway.call("GET", "/snapshot")

    def check_knows(self, policies: Iterable[PolicyChoice]) -> None:
        """Raise ExperimentError unless the running gateway has all these policies.

        It has those of when it was started: one that was written since is known here only.
        """
        for choice in policies:
            if choice.gateway is not None or choice.sha256 is not None:
                continue  # the gateway need not know a proxy; a student's file comes with each run
            for path, name, given in (
                ("/policies", choice.name, choice.parameters),
                ("/admissions", choice.admission, choice.admission_parameters),
            ):
                sheets = {sheet["name"]: sheet for sheet in self.gateway.listing(path)}
                known = {
                    each["name"] for each in sheets.get(name, {"parameters": []})["parameters"]
                }
                if name != NO_ADMISSION and (name not in sheets or not known >= set(given)):
                    raise ExperimentError(
                        f"The running gateway does not know {choice.key} as it is here; "
                        "`make down` and `make up` start the gateway of this code."
                    )

    def set_catalogue(self, books: int) -> None:
        """Grow or shrink the shop's catalogue; may take minutes. Raises ExperimentError."""
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
        """The same shop for every run: seeded stock, no queue, policy and shadows fresh.

        `policy` is the body of `PUT /policy`; None leaves the gateway's as it is. The shop's sentry
        stops work only with `abandonment` cancel; otherwise it watches, so that the waste is known.
        Pages have no banners.
        """
        self.set_shadows(())  # also those that somebody has asked for on a page
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
        """Policies of these names, with their defaults, beside the acting one from now on, and no
        others. Raises ExperimentError."""
        policies = [{"name": name} for name in names]
        self.gateway.call("PUT", "/shadows", {"policies": policies})

    def shadows(self) -> list[Json]:
        """What each shadow has said until now, without single requests. Raises ExperimentError."""
        return list(self.gateway.call("GET", "/snapshot")["shadows"])

    def set_abandonment(self, abandonment: Abandonment) -> None:
        """What leaving does from now on, in gateway and shop. Raises ExperimentError."""
        self.shop.call("PUT", "/settings", {"sentry": _sentry_mode(abandonment)})
        self.gateway.call("PUT", "/settings", {"abandonment": abandonment})

    def give_back(self) -> None:
        """For people again, after runs: as `make up` starts it, but for policy and catalogue."""
        for_people = {"profile": "paper", "ads": True, "sentry": "watch"}
        self.shop.call("PUT", "/settings", for_people)
        self.gateway.call("PUT", "/settings", {"abandonment": "ignore"})
        self.set_shadows(())

    def wait_idle(self, limit_s: float = 120.0) -> None:
        """Wait until nobody waits or is served (orphans of the last run end first)."""

        def is_idle() -> bool:
            now = self.snapshot()
            return bool(now["waiting"] == now["in_service"] == 0)

        if not wait_until(is_idle, limit_s):
            raise ExperimentError(
                f"The gateway is still busy after {limit_s:.0f} s; is someone else using the shop? "
                f"See http://{self.gateway.address}/snapshot."
            )

    def counts(self) -> Json:
        """Cumulative counts of gateway and shop, to be subtracted from later ones."""
        snapshot = self.snapshot()
        status = self.shop.call("GET", "/status")
        return {
            "gateway": snapshot["counts"],
            "abandonment": snapshot["abandonment"],
            "shop": status,
            "orders": self.shop.call("GET", "/orders")["orders"],  # in the database
        }


def _sentry_mode(abandonment: Abandonment) -> str:
    """The shop stops work only where leaving cancels; otherwise it counts what is wasted."""
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
