"""LIFO-Pri's runs: the single queue of section 3.1 (simulated or live) and the shop of section 3.2.

Source: Singhmar, Mathur, Apte, Manjunath, *A Combined LIFO-Priority Scheme for Overload Control of
E-commerce Web Servers*. Section numbers in this package refer to that paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.analysis.published import PUBLISHED_SESSIONS, published
from lab.spec.cases import Case
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.spec.sections import PolicyChoice
from lab.studies import PAGE_METRICS
from lab.studies.study import Engine, PaperCases
from loadgen.workload.sessions import PAGES, SessionLengths, SessionModel
from simulator.scenario import SharedCpus

SINGLE_QUEUE = ("always-fifo", "always-lifo", "lifo-at-overload")
SCHEMES = ("sq", "8q-af", "8q-lifo-pri")

PAGE_CPU_S = 0.30
"""The CPU seconds of the CPU-intensive page, calculated from Table 1 at a timeout of 20 s (see
`page_readings`)."""
PAGE_READINGS = ((0.25, 0.0), (0.27, 0.25), (0.30, 0.0), (0.30, 0.5))
"""The compared settings of the CPU-intensive page: CPU seconds and relative spread."""
NOMINAL_RHO = 1.47
"""The load that Table 1 prints."""
EFFECTIVE_RHO = 1.15
"""The load calculated from the published 13.3 % of dropped requests.

At a load ρ, a share 1 − 1/ρ of the requests cannot be served under any discipline.
"""
TIMEOUTS_S = (40, 20)
FIG3_RHO: float = published()["lifo_pri"]["claims"]["fig3_rho"]
LONG_INTERVAL_S = 120.0
"""The paper seconds between two utilisation measurements. With this interval, LIFO-at-overload
mostly uses FIFO below capacity (Fig. 3)."""
SHORT_INTERVAL_S = 1.0
WARM_UP_S = 300.0
"""The warm-up in paper seconds, within which a queue of 50 places fills at ρ = 1.15. Requests in
this time do not count."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The number of requests or sessions of a run, and the loads."""

    requests: int
    sessions: int
    rhos: tuple[float, ...]
    repetitions: int


SCALES: dict[Engine, dict[bool, Scale]] = {
    "simulated": {
        False: Scale(
            requests=20_000,
            sessions=PUBLISHED_SESSIONS,
            rhos=(0.6, 0.85, 1.0, 1.15, 1.3, 1.4, 1.6, 1.8, 2.0),
            repetitions=5,
        ),
        True: Scale(
            requests=10_000,
            sessions=4_000,
            rhos=(0.85, 1.0, 1.2, 1.4, 2.0),
            repetitions=3,
        ),
    },
    "live": {  # the single queue alone
        False: Scale(requests=6000, sessions=1, rhos=(), repetitions=3),
        True: Scale(requests=2500, sessions=1, rhos=(), repetitions=1),
    },
}


@dataclass(frozen=True, slots=True)
class Cases(PaperCases[Scale]):
    """The cases of LIFO-Pri at a scale."""

    def single(self, policy: str, rho: float, timeout_s: float) -> Case[ShopRun]:
        """Return the case of a queue of 50 places, a CPU-intensive page, and no retries."""
        if self.engine == "live":
            spec = live_spec(timeout_s, [rho], self.scale.requests, seed=1, repetitions=1)
            return Case(ShopRun.of_spec(spec, policy, rho), PAGE_METRICS)
        return self.simulated_single(policy, rho, timeout_s)

    def simulated_single(
        self,
        policy: str,
        rho: float,
        timeout_s: float,
        *,
        utilisation_interval_s: float = LONG_INTERVAL_S,
        page_cpu_s: float = PAGE_CPU_S,
        spread_ratio: float = 0.5,
    ) -> Case[ShopRun]:
        """Return the simulated case of the single queue. The paper does not give exact values for
        the keyword arguments."""
        run = ShopRun(
            PolicyChoice(name=policy),
            SharedCpus(
                mean_execution_s=dict.fromkeys(PAGES, page_cpu_s),
                busy_ratio=1.0,
                spread_ratio=spread_ratio,
            ),
            SessionModel(
                timeout_s=float(timeout_s),
                think_timeout_mean_s=0.0,
                retry_probability=0.0,
                max_retries=0,
                lengths=SessionLengths("geometric", 1),
            ),
            capacity_rps=1 / page_cpu_s,
            rho=rho,
            sessions=self.scale.requests,
            utilisation_interval_s=utilisation_interval_s,
            warm_up_s=WARM_UP_S,
        )
        return Case(run, PAGE_METRICS)

    def shop(self, scheme: str, rho: float) -> Case[ShopRun]:
        """Return the case in which sessions follow the chain of Fig. 1 under a scheme."""
        paper = published()["lifo_pri"]
        run = ShopRun(
            PolicyChoice(name=scheme),
            SharedCpus(busy_ratio=paper["derived"]["busy_share"]),
            capacity_rps=paper["capacity_rps"],
            rho=rho,
            sessions=self.scale.sessions,
        )
        return Case(run, PAGE_METRICS)


def live_spec(
    timeout_s: float, rhos: Sequence[float], requests: int, *, seed: int, repetitions: int
) -> Spec:
    """Return the spec that compares the single queue's policies on the appliance."""
    return Spec.model_validate(
        {
            "title": f"LIFO-Pri, single queue, timeout {timeout_s:g} s",
            "policy": [{"name": name} for name in SINGLE_QUEUE],
            "load": {"rho": list(rhos), "sessions": requests},
            "customers": {
                "timeout_s": timeout_s,
                "think_timeout_mean_s": 0.0,
                "retry_probability": 0.0,
                "max_retries": 0,
                "lengths": {"kind": "geometric", "mean": 1},
            },
            "page_profile": "cpu",
            "utilisation_interval_s": LONG_INTERVAL_S,
            "warm_up_s": WARM_UP_S,
            "seed": seed,
            "repetitions": repetitions,
        }
    )
