"""The options of a hosting platform. Numbers of sections and equations refer to Guitart et al.,
2008.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import click

from common import cpus
from gateway.policies.connection_admission import PlatformAdmission
from gateway.policies.processor_assignment import INTERVAL_S, Provisioning, Sharing
from hosting.starting import HostingError
from runtime.certificate_files import CertificateError, rsa_bits

Profile = Literal["paper", "cpu", "real"]

PERSISTENCE_S = 10.0
"""The time, in paper seconds, after which an idle connection is closed (section 4)."""
MOST_THREADS = 30
"""The maximum number of threads that the platform chooses for a shop process; it chooses the number
if `shop_threads` is None.
"""
KEY = "rsa-7680"
MOST_APPLICATIONS = 16


@dataclass(frozen=True, slots=True)
class PlatformOptions:
    """The options of a platform.

    - `cpus`: the platform's processors. If empty, the platform takes all that it may use.
    - `priorities`: the weights P_i of eq. (1), one for each application.
    - `provisioning`: with `ecm`, the CPU manager assigns processors to the applications. With
      `static`, each application always has an even share of the processors. With `linux`, Linux
      schedules all applications over all processors, and the admission policy of each application
      assumes that the application has all of them (section 2).
    - `admission`: the policy `eac` needs `cto_s` and `ctn_s`, the CPU time of a resumed and of a
      new connection in paper seconds. With `none`, the load is not measured, and the CPU manager
      counts each application as needing all processors.
    - `key`: the kind of key of the server's certificate (runtime/certificates.py).
    - `shop_threads`: the number of threads of each shop process. If it is None, the platform uses
      the largest number for which PostgreSQL has connections, at most MOST_THREADS.
    - `port`: the first application's HTTPS port. The other applications get the next ports. If
      `port` is None, all applications get free ports.
    """

    applications: int = 2
    cpus: tuple[int, ...] = ()
    time_scale: float = 10.0
    priorities: tuple[float, ...] = (1.0, 1.0)
    provisioning: Provisioning = "ecm"
    sharing: Sharing = "both"
    admission: PlatformAdmission = "eac"
    cto_s: float | None = None
    ctn_s: float | None = None
    key: str = KEY
    shop_threads: int | None = None
    profile: Profile = "paper"
    seed: int = 1
    port: int | None = None

    def __post_init__(self) -> None:
        """Check the options; if one is invalid, raise HostingError, which names it and the allowed
        values.
        """
        is_valid = 1 <= self.applications <= MOST_APPLICATIONS
        self._require("applications", is_valid, f"1 to {MOST_APPLICATIONS}")
        if len(self.priorities) != self.applications:
            raise HostingError(
                f"priorities: {len(self.priorities)} given for {self.applications} "
                f"applications; give one for each application"
            )
        if not all(0 < priority < float("inf") for priority in self.priorities):
            raise HostingError("priorities: must be numbers above 0")
        self._require("time_scale", 0.1 <= self.time_scale <= 1000, "0.1 to 1000")
        for field, kind in (
            ("provisioning", Provisioning),
            ("sharing", Sharing),
            ("admission", PlatformAdmission),
            ("profile", Profile),
        ):
            allowed = get_args(kind)
            self._require(field, getattr(self, field) in allowed, ", ".join(allowed))
        try:
            rsa_bits(self.key)
        except CertificateError as fault:
            raise HostingError(str(fault)) from None
        if missing := set(self.cpus) - cpus.usable():
            raise HostingError(
                f"cpus: this machine has no CPU {cpus.written(missing)}; allowed: "
                f"{cpus.written(cpus.usable())}"
            )
        if self.admission == "eac":
            for field in ("cto_s", "ctn_s"):
                cost_s = getattr(self, field)
                if cost_s is None or not 0 < cost_s < float("inf"):
                    raise HostingError(
                        f"{field}: admission eac needs the CPU time of a connection, above 0 "
                        "paper seconds; `doorbuster profile-connections` measures it"
                    )
        is_valid = self.shop_threads is None or 1 <= self.shop_threads <= 100
        self._require("shop_threads", is_valid, "1 to 100")
        last = 65536 - self.applications
        is_valid = self.port is None or 1 <= self.port <= last
        why = "because the other applications get the next ports"
        self._require("port", is_valid, f"1 to {last}, {why}")
        if self.provisioning != "linux":
            self._check_room()

    def _require(self, field: str, is_valid: bool, allowed: str) -> None:
        if not is_valid:
            given = getattr(self, field)
            shown = f"{given:g}" if isinstance(given, float) else repr(given)
            raise HostingError(f"{field}: {shown}; allowed: {allowed}")

    def _check_room(self) -> None:
        is_static = self.provisioning == "static"
        needed = self.applications - most_halves(
            self.priorities, "both" if is_static else self.sharing
        )
        if needed > len(self.processors):
            how = "provisioning static" if is_static else f"sharing {self.sharing}"
            raise HostingError(
                f"applications: {self.applications} on {len(self.processors)} processors; with "
                f"{how} they need {needed} processors; fix: use fewer applications or more CPUs"
            )

    @property
    def processors(self) -> tuple[int, ...]:
        return tuple(sorted(self.cpus or cpus.usable()))

    @property
    def manager_interval_s(self) -> float:
        """The real seconds between two decisions of the CPU manager."""
        return INTERVAL_S / self.time_scale


def most_halves(priorities: Sequence[float], sharing: Sharing) -> int:
    """Return the maximum number of processors that applications with these priorities can share in
    pairs.
    """
    if sharing == "none":
        return 0
    pairs = len(priorities) // 2
    if sharing == "to-high":  # two applications of equal priority share nothing
        pairs = min(pairs, len(priorities) - max(Counter(priorities).values()))
    return pairs


class Finite(click.FloatRange):
    """A number in a range; unlike click's type, it rejects `nan`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class CpuList(click.ParamType[tuple[int, ...]]):
    """A tuple of CPUs on which the process may run."""

    name = "cpus"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return cpus.parse(value, cpus.usable())
        except ValueError as fault:
            self.fail(str(fault), param, ctx)
