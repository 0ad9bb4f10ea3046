"""LIFO-Pri's simulations: the single queue of section 3.1, the shop of section 3.2.

Owns: the cases that its figures are made of, whole and quick. Must not know: how they are drawn.

Source: Singhmar, Mathur, Apte, Manjunath, *A Combined LIFO-Priority Scheme for Overload Control of
E-commerce Web Servers*. Section numbers in these modules are that paper's.
"""

from dataclasses import dataclass

from lab.experiments.published import PUBLISHED_SESSIONS, published
from lab.experiments.reproduction.cases import Case
from loadgen.sessions import PAGES

SINGLE_QUEUE = ("always-fifo", "always-lifo", "lifo-at-overload")
SCHEMES = ("sq", "8q-af", "8q-lifo-pri")

PAGE_CPU_S = 0.30
"""CPU of the CPU-intensive page (design.md); Table 1 at 20 s asks for it, see `page_readings`."""
PAGE_READINGS = ((0.25, 0.0), (0.27, 0.25), (0.30, 0.0), (0.30, 0.5))
"""CPU of that page and its spread, tried beside each other."""
NOMINAL_RHO = 1.47
"""Table 1, as printed."""
EFFECTIVE_RHO = 1.15
"""What 13.3 % dropped imply: 1 − 1/ρ of the requests cannot be served, whatever the discipline."""
TIMEOUTS_S = (40, 20)
LONG_INTERVAL_S = 120.0
"""Utilisation interval that keeps LIFO-at-overload mostly in FIFO below capacity (Fig. 3)."""
SHORT_INTERVAL_S = 1.0
WARM_UP_S = 300.0
"""A queue of 50 takes about so long to fill at ρ = 1.15; whoever comes earlier is not counted."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How many requests and sessions, which loads."""

    requests: int
    sessions: int
    rhos: tuple[float, ...]
    repetitions: int


def whole() -> Scale:
    """24,000 sessions at each load, as published."""
    return Scale(
        requests=20_000,
        sessions=PUBLISHED_SESSIONS,
        rhos=(0.6, 0.85, 1.0, 1.15, 1.3, 1.4, 1.6, 1.8, 2.0),
        repetitions=5,
    )


def quick() -> Scale:
    """For two cores and two minutes."""
    return Scale(
        requests=10_000,
        sessions=4_000,
        rhos=(0.85, 1.0, 1.2, 1.4, 2.0),
        repetitions=3,
    )


@dataclass(frozen=True, slots=True)
class Cases:
    """LIFO-Pri's cases at a scale."""

    scale: Scale

    def single(
        self,
        policy: str,
        rho: float,
        timeout_s: float,
        *,
        utilisation_interval_s: float = LONG_INTERVAL_S,
        page_cpu_s: float = PAGE_CPU_S,
        spread_ratio: float = 0.5,
    ) -> Case:
        """One queue of 50, requests for a CPU-intensive page, a fixed timeout, no retries."""
        return Case(
            policy=policy,
            rho=rho,
            capacity_rps=1 / page_cpu_s,
            server={
                "kind": "shared-cpus",
                "mean_execution_s": dict.fromkeys(PAGES, page_cpu_s),
                "busy_ratio": 1.0,
                "spread_ratio": spread_ratio,
            },
            customers={
                "timeout_s": float(timeout_s),
                "think_timeout_mean_s": 0.0,
                "retry_probability": 0.0,
                "max_retries": 0,
            },
            lengths={"kind": "geometric", "mean": 1},
            sessions=self.scale.requests,
            utilisation_interval_s=utilisation_interval_s,
            watched="pages",
            warm_up_s=WARM_UP_S,
        )

    def shop(self, scheme: str, rho: float) -> Case:
        """Sessions of Fig. 1's chain under one of the three schemes."""
        paper = published()["lifo_pri"]
        return Case(
            policy=scheme,
            rho=rho,
            capacity_rps=paper["capacity_rps"],
            server={"kind": "shared-cpus", "busy_ratio": paper["derived"]["busy_share"]},
            customers={},
            sessions=self.scale.sessions,
            watched="pages",
        )
