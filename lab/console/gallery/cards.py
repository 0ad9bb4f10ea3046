"""The cards of the gallery: experiments with their finding, a picture and the duration."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from lab.analysis.published import PAPERS
from lab.console.launches.submission import Experiment
from lab.spec.experiment import Spec, load_checked
from lab.studies import WHO_HAS_LEFT, WHO_IS_NEXT, WHO_MAY_ENTER, About
from lab.studies.registry import PAPERS as STUDIES


@dataclass(frozen=True, slots=True)
class Card:
    """An experiment of the gallery."""

    name: str
    question: str
    paper: str
    """The experiment's paper, or TODAY if no paper describes it."""
    title: str
    sentence: str
    """One or two sentences about what the experiment shows."""
    picture: str
    """The name of the picture's static file."""
    arguments: tuple[str, ...] = ()
    """The arguments of the command `doorbuster`; empty if the card has a spec."""
    pictured: Literal["published", "simulated", "live"] = "published"
    shows: str = (
        "estimated revenue efficiency of each policy; 1 is the most sales any policy could make "
        "without knowing who will buy"
    )
    """A description of the picture, if the picture shows this project's results."""

    @property
    def spec(self) -> Spec | None:
        """The spec of the experiment; None if a command runs the experiment without a spec."""
        return None if self.arguments else _shipped(self.name)

    @property
    def experiment(self) -> Experiment:
        spec = self.spec
        title = spec.title if spec else f"{self.paper}: {self.title}"
        return Experiment(title, spec, self.arguments)

    @property
    def engine(self) -> str:
        return self.experiment.engine

    @property
    def origin(self) -> str:
        """The paper's short name, for a label."""
        return self.paper.partition(" (")[0]

    @property
    def real_s(self) -> float:
        """The approximate duration on this machine without other load, in real seconds."""
        found = self.experiment.real_s
        assert found is not None, self.name  # a test compares the gallery with the known commands
        return found


LIFO_PRI, SBAC, SENTRY = (PAPERS[name] for name in ("lifo-pri", "sbac", "connection-sentry"))
TODAY = "Policies of today"
WHAT_TODAY = "What would you use today?"


def _reproduction(name: str, about: About) -> Card:
    return Card(
        f"reproduce-{name}",
        about.question,
        about.paper,
        about.title,
        about.sentence,
        about.picture,
        ("reproduce", name, "--quick"),
    )


CARDS: tuple[Card, ...] = (
    Card(
        "first-look",
        WHO_IS_NEXT,
        LIFO_PRI,
        "First look: one queue against eight",
        "Twice as many customers come as the shop can serve. Watch the queue fill, and see which "
        "customers still buy.",
        "first-look",
        pictured="simulated",
        shows=(
            "how many of 1,500 customers buy under each policy at ρ = 2: means of 20 runs with 95 "
            "% intervals"
        ),
    ),
    Card(
        "flash-sale",
        WHO_IS_NEXT,
        TODAY,
        "A flash sale, with arrivals from a trace",
        "The mean load is below the capacity, but at the start of the sale, the load is four times "
        "the capacity. "
        "Which policy still sells, and which policy works for customers who have left?",
        "flash-sale",
        pictured="simulated",
    ),
    Card(
        "waves",
        WHO_IS_NEXT,
        TODAY,
        "Waves of customers, by a formula",
        "In 900 paper seconds, the load rises three times to nearly twice the capacity and "
        "falls to a tenth of the capacity.",
        "waves",
        pictured="simulated",
    ),
    Card(
        "lifo-pri",
        WHO_IS_NEXT,
        LIFO_PRI,
        "Three policies in the same rush",
        "At ρ = 1.4, the shop with one queue sells almost nothing. With eight queues, LIFO and "
        "priorities, the shop continues to sell.",
        "lifo-pri-confirms",
    ),
    Card(
        "lifo-pri-simulated",
        WHO_IS_NEXT,
        LIFO_PRI,
        "Three policies with as many sessions as in the paper",
        "With 24,000 sessions in each run, see how many pages are completed (Table 4) and how "
        "the requests end (Table 5).",
        "lifo-pri-fates",
    ),
    Card(
        "lifo-pri-full",
        WHO_IS_NEXT,
        LIFO_PRI,
        "Three policies at three loads, with repetitions",
        "The loads are 0.85, 1.4 and 2 times the capacity. The results have confidence intervals.",
        "lifo-pri-stages",
    ),
    Card(
        "sbac",
        WHO_MAY_ENTER,
        SBAC,
        "Admission of whole sessions",
        "At three times the capacity, hardly any long session completes. If the gateway admits "
        "or rejects whole sessions, nearly all admitted sessions complete.",
        "sbac-short-ones",
    ),
    Card(
        "sbac-live",
        WHO_MAY_ENTER,
        SBAC,
        "Admission of whole sessions at the real shop",
        "See how many sessions are turned away, and how many of the admitted sessions complete.",
        "sbac-aborted",
    ),
    Card(
        "connection-sentry",
        WHO_HAS_LEFT,
        SENTRY,
        "Work for customers who have left",
        "At twice the capacity, a shop with one queue spends about half of its CPU time on "
        "customers who have left. The Connection Sentry stops almost all of this work.",
        "connection-sentry-home",
    ),
    *(_reproduction(*one) for one in STUDIES.about().items()),
    Card(
        "leaderboard",
        WHAT_TODAY,
        TODAY,
        "Leaderboard: the papers' policies, today's and DOOR",
        "All policies serve the same customers. Which policy sells the most, and which policy "
        "answers in time?",
        "leaderboard",
        pictured="simulated",
    ),
    Card(
        "live-leaderboard",
        WHAT_TODAY,
        TODAY,
        "Leaderboard: DOOR, HAProxy, nginx and the papers' best",
        "The policies control the same shop, one after the other. What share of the possible "
        "sales does each policy reach?",
        "live-leaderboard",
        pictured="live",
    ),
    Card(
        "leaderboard-robustness",
        WHAT_TODAY,
        TODAY,
        "Robustness: other customers, another server, bursts",
        "The policies face customers, servers and loads for which they were not tuned.",
        "leaderboard",
        ("leaderboard", "robustness"),
        pictured="simulated",
    ),
    Card(
        "leaderboard-hysteresis",
        WHAT_TODAY,
        TODAY,
        "Hysteresis: the collapse that stays",
        "A one-minute rush ends, but some policies do not recover.",
        "hysteresis",
        ("leaderboard", "hysteresis"),
        pictured="simulated",
        shows="response time and queue length before, during and after a one-minute rush",
    ),
    Card(
        "door-ablation",
        WHAT_TODAY,
        TODAY,
        "DOOR, one rule at a time",
        "See how much efficiency each rule adds on the way from 8Q-LIFO-Pri to DOOR.",
        "door-ablation",
        pictured="simulated",
    ),
)

TODAY_CARDS = tuple(one for one in CARDS if one.question == WHAT_TODAY)


def card(name: str) -> Card | None:
    """Return the card with this name; None if no card has it."""
    return next((one for one in CARDS if one.name == name), None)


@cache
def _shipped(name: str) -> Spec:
    return load_checked(name)
