"""Platforms that several tests simulate."""

import math

from loadgen.workload.partly_open import PartlyOpenModel
from loadgen.workload.sessions import Schedule, Segment
from simulator.hosting_scenario import AppScenario, Costs, PlatformScenario
from tests.simulator.scenes import ENDLESS

ONE_PAGE = PartlyOpenModel(
    interactions_mean=1, interactions_most=1, images_mean=0, timeout_s=math.inf
)
"""Sessions of one page that wait for ever: customers of queueing theory."""

SHORT = PartlyOpenModel(interactions_mean=10, interactions_most=20)
SHORT_COSTS = Costs(session_s=0.45)
"""Costs of sessions a fifth as long as eDragon's; four processors serve 8.9 of them a second."""
SHORT_CTN_S, SHORT_CTO_S = 0.263, 0.0865
"""The values that `static_profile` measures."""


def app(rate_ps: float, until_s: float, model: PartlyOpenModel = SHORT, **more) -> AppScenario:
    """Return an application with Poisson arrivals at one rate."""
    values = {"ctn_s": SHORT_CTN_S, "cto_s": SHORT_CTO_S, **more}
    return AppScenario(model, Schedule((Segment(until_s, rate_ps),)), **values)


def queue(seed: int, rate_ps: float, *, customers: int = 3000, **platform) -> PlatformScenario:
    """Return one processor, a thread for each: an M/G/1-PS queue unless `platform` changes it.

    Service takes 1 s on average: a handshake of 0.25 s and a page.
    """
    duration_s = customers / rate_ps
    apps = platform.pop("apps", None) or (app(rate_ps, duration_s, ONE_PAGE),)
    values = {
        "processors": 1,
        "threads": ENDLESS,
        "provisioning": "static",
        "admission": "none",
        "costs": Costs(handshake_full_s=0.25, session_s=1.0),
        "duration_s": duration_s,
        **platform,
    }
    return PlatformScenario(apps, seed, **values)


def short(*rates_ps: float, seed: int = 1, duration_s: float = 150.0, **platform):
    """Return applications with short sessions on four processors."""
    apps = platform.pop("applications", None) or tuple(app(rate, duration_s) for rate in rates_ps)
    return PlatformScenario(
        apps, seed, **{"costs": SHORT_COSTS, "duration_s": duration_s, **platform}
    )
