"""The experiments that come along: what one will see, what was published, how long it takes.

Owns: the list of exhibits of the gallery. Must not know: pages, how an experiment is made.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from lab.console.models import Launch
from lab.console.settings import LAB
from lab.experiments import capacity, comparison
from lab.experiments.capacity import Capacity
from lab.experiments.errors import ExperimentError
from lab.experiments.simulated_run import server_of
from lab.experiments.spec import SPECS, Spec, load_spec

USUAL_CAPACITY_RPS = 5.6
"""LIFO-Pri's, until this machine's has been measured."""
SIMULATED_REQUESTS_PS = 4000
"""Per core; `make bench-simulator` says what a machine does."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One experiment of the gallery."""

    name: str
    paper: str
    title: str
    sentence: str
    """What one will see."""
    picture: str
    """A static file: the result, drawn from the figures of the paper or of a simulation."""
    arguments: tuple[str, ...] = ()
    """Of `doorbuster`, for reproductions; empty for a spec of this name."""
    engine: str = "simulated"
    expected_s: float = 0.0
    pictured: Literal["published", "simulated", "live"] = "published"
    shows: str = (
        "estimated revenue efficiency of each policy; the best that a policy can do that cannot "
        "know who will buy is 1"
    )
    """What a picture of this project's own shows."""

    @property
    def spec(self) -> Spec | None:
        """What is run; None for a reproduction."""
        return None if self.arguments else _shipped(self.name)

    @property
    def real_s(self) -> float:
        """About how long it takes on this machine."""
        spec = self.spec
        return _of_shipped(self.name, _capacity_rps(spec)) if spec else self.expected_s


LIFO_PRI = "LIFO-Pri (Singhmar et al., 2004)"
SBAC = "SBAC (Cherkasova & Phaal, 2002)"
SENTRY = "Connection Sentry (Kraemer et al., 2000)"
AD_SERVER = "Ad server (Diniz et al., 2000)"
EDRAGON = "eDragon (Guitart et al., 2008)"
TODAY = "What would you use today?"

EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "first-look",
        LIFO_PRI,
        "First look: one queue against eight, live",
        "Twice as many customers as the shop can serve: watch the queue fill, and who still buys.",
        "lifo-pri-in-time",
        engine="live",
    ),
    Exhibit(
        "lifo-pri",
        LIFO_PRI,
        "Three policies in the same rush, live",
        "One queue sells next to nothing at ρ = 1.4; eight queues with LIFO and priorities "
        "keep selling.",
        "lifo-pri-confirms",
        engine="live",
    ),
    Exhibit(
        "lifo-pri-simulated",
        LIFO_PRI,
        "The same at the paper's size, simulated",
        "Tables 4 and 5 with 24,000 sessions a run: how many pages are completed, and who gets "
        "to the confirm.",
        "lifo-pri-fates",
    ),
    Exhibit(
        "lifo-pri-full",
        LIFO_PRI,
        "Acceptance: three loads with repetitions, live",
        "From below capacity to twice of it, with confidence intervals.",
        "lifo-pri-stages",
        engine="live",
    ),
    Exhibit(
        "sbac",
        SBAC,
        "Admission of whole sessions, simulated",
        "Without admission at three times the capacity hardly any long session gets to its end; "
        "with it nearly all that were admitted do.",
        "sbac-short-ones",
    ),
    Exhibit(
        "sbac-live",
        SBAC,
        "Admission of whole sessions, live",
        "Who is turned away at the door, and what those inside gain from it.",
        "sbac-aborted",
        engine="live",
    ),
    Exhibit(
        "connection-sentry",
        SENTRY,
        "Work for customers who have left, live",
        "At twice the capacity more than half of the shop's work is for nobody; with the sentry "
        "almost none.",
        "connection-sentry-home",
        engine="live",
    ),
    Exhibit(
        "reproduce-lifo-pri",
        LIFO_PRI,
        "Reproduce every figure and table (quick grid)",
        "Published beside simulated, with a verdict on every claim of the paper.",
        "lifo-pri-fig5",
        ("reproduce", "lifo-pri", "--quick"),
        expected_s=120,
    ),
    Exhibit(
        "reproduce-sbac",
        SBAC,
        "Reproduce every figure and Table 2 (quick grid)",
        "Published beside simulated, with a verdict on every claim of the paper.",
        "sbac-aborted",
        ("reproduce", "sbac", "--quick"),
        expected_s=180,
    ),
    Exhibit(
        "reproduce-connection-sentry",
        SENTRY,
        "Reproduce Tables 1 to 4, live (quick grid)",
        "Clients who never leave are served sooner when the work of those who did is stopped.",
        "connection-sentry-search",
        ("reproduce", "connection-sentry", "--quick"),
        engine="live",
        expected_s=600,
    ),
    Exhibit(
        "reproduce-ad-server",
        AD_SERVER,
        "Priority by threads, live (quick grid)",
        "Requests with more search threads are answered sooner, as long as there are processors.",
        "ad-server",
        ("reproduce", "ad-server", "--quick"),
        engine="live",
        expected_s=180,
    ),
    Exhibit(
        "reproduce-edragon",
        EDRAGON,
        "Processors between two shops, simulated (quick grid)",
        "Admission by TLS connections and a CPU manager keep two overloaded shops at full "
        "throughput.",
        "edragon",
        ("reproduce", "edragon", "--quick"),
        expected_s=180,
    ),
    Exhibit(
        "leaderboard",
        TODAY,
        "Leaderboard: the papers' policies, today's and DOOR, simulated",
        "The same customers for all of them: who sells most, and who answers in time.",
        "leaderboard",
        pictured="simulated",
    ),
    Exhibit(
        "live-leaderboard",
        TODAY,
        "Leaderboard: DOOR beside HAProxy, nginx and the papers' best, live",
        "In front of the same shop, one after the other: who sells how much of what can be sold.",
        "live-leaderboard",
        engine="live",
        pictured="live",
    ),
    Exhibit(
        "leaderboard-robustness",
        TODAY,
        "Robustness: other customers, another server, bursts, simulated",
        "The same policies where nothing is as they were set for.",
        "leaderboard",
        ("leaderboard", "robustness"),
        expected_s=900,
        pictured="simulated",
    ),
    Exhibit(
        "leaderboard-hysteresis",
        TODAY,
        "Hysteresis: the collapse that stays, simulated",
        "A rush of one minute is over; some policies go on failing as if it were not.",
        "hysteresis",
        ("leaderboard", "hysteresis"),
        expected_s=300,
        pictured="simulated",
        shows="response time and queue before, during and after a rush of one minute",
    ),
    Exhibit(
        "door-ablation",
        TODAY,
        "DOOR, one rule at a time, simulated",
        "From 8Q-LIFO-Pri to DOOR: what each of its rules gains by itself.",
        "door-ablation",
        pictured="simulated",
    ),
)

TODAY_EXHIBITS = tuple(one for one in EXHIBITS if one.paper == TODAY)


def exhibit(name: str) -> Exhibit | None:
    """The one of this name."""
    return next((one for one in EXHIBITS if one.name == name), None)


@cache
def _shipped(name: str) -> Spec:
    return load_spec(name)


@cache
def _of_shipped(name: str, capacity_rps: float | None) -> float:
    """Of a spec that comes along; asked for all of them whenever somebody opens the gallery."""
    return _expected_real_s(_shipped(name), capacity_rps)


def expected_real_s(spec: Spec) -> float:
    """About how long a spec takes on this machine, its capacity measured first; real seconds."""
    return _expected_real_s(spec, _capacity_rps(spec))


def _capacity_rps(spec: Spec) -> float | None:
    """What ρ = 1 will be, as far as it is known; None in a closed loop."""
    if spec.clients:
        return None
    if spec.engine == "live":
        known = _kept(spec)
        return known.median_rps if known else USUAL_CAPACITY_RPS
    return capacity.computed(spec, server_of(spec)).median_rps


def _expected_real_s(spec: Spec, rps: float | None) -> float:
    if spec.engine == "live":
        measuring_s = 0.0 if spec.clients else capacity.expected_real_s(spec.time_scale)
        return measuring_s + comparison.expected_real_s(spec, comparison.plan(spec), rps)
    sessions = sum(comparison.expected_sessions(spec, run, rps) for run in comparison.plan(spec))
    requests = sessions * (1.0 if spec.clients else spec.customers.as_model().mean_requests())
    return 2.0 + requests / SIMULATED_REQUESTS_PS


def _kept(spec: Spec) -> Capacity | None:
    try:
        return capacity.kept(
            LAB,
            page_profile=spec.page_profile,
            time_scale=spec.time_scale,
            lengths=spec.customers.lengths,
        )
    except ExperimentError:
        return None


def shipped() -> list[str]:
    """Names of the specs that come along; a test holds the gallery against them."""
    return sorted(path.stem for path in SPECS.glob("*.toml"))


def launch_of(exhibit: Exhibit) -> Launch:
    """The launch of an exhibit as it is, not yet in the queue."""
    spec = exhibit.spec
    if spec is not None:
        return launch_of_spec(spec)
    return Launch(
        title=f"{exhibit.paper}: {exhibit.title}",
        engine=exhibit.engine,
        arguments=list(exhibit.arguments),
        expected_s=exhibit.real_s,
    )


def launch_of_spec(spec: Spec) -> Launch:
    """The launch of a spec, not yet in the queue."""
    return Launch(
        title=spec.title,
        engine=spec.engine,
        spec=spec.to_toml(),
        expected_s=expected_real_s(spec),
    )
