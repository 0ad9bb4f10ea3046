"""The description of a simulation of a hosting platform, with the checks of its values
(Guitart et al., 2008, sections 3.2 and 4).
"""

import math
from dataclasses import dataclass, field

from gateway.policies.connection_admission import PlatformAdmission
from gateway.policies.processor_assignment import INTERVAL_S, Provisioning, Sharing
from loadgen.workload.partly_open import PartlyOpenModel
from loadgen.workload.sessions import Schedule
from simulator.scenario import ScenarioError, is_above_0, require, require_one_of


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs in CPU seconds on a processor like the paper's, at 1.4 GHz.

    A mean session costs `session_s`. This includes one full handshake, the replies, and a resumed
    handshake after every think time that is longer than `persistence_s`. The cost of a page is
    uniform within ± `page_spread_ratio` of its mean; an image costs `image_ratio` of a page's mean.
    """

    handshake_full_s: float = 0.175
    """Section 3.2."""
    handshake_resumed_s: float = 0.002
    """Section 3.2."""
    session_s: float = 1.33
    """The mean cost of a session: four processors serve 3 new sessions/s (section 5.2)."""
    image_ratio: float = 0.1
    """This project's choice: an image is a small file, but a page is generated."""
    page_spread_ratio: float = 0.5
    """This project's choice, as in the shop's page work."""

    def __post_init__(self) -> None:
        not_negative = "handshake_full_s handshake_resumed_s image_ratio"
        require(self, not_negative, lambda value: 0 <= value < math.inf, "0 or more")
        require(self, "session_s", is_above_0, "a number above 0")
        require(self, "page_spread_ratio", lambda value: 0 <= value <= 1, "0 to 1")

    def page_s(self, model: PartlyOpenModel, persistence_s: float) -> float:
        """Return the mean cost of a page with which a mean session of `model` costs `session_s`.

        Raises `ScenarioError` if the handshakes alone cost `session_s` or more.
        """
        resumed = (model.interactions_mean - 1) * resumption_ratio(model, persistence_s)
        left_s = self.session_s - self.handshake_full_s - resumed * self.handshake_resumed_s
        if left_s <= 0:
            raise ScenarioError(
                "session_s",
                f"{self.session_s}: the handshakes alone cost this or more; give a larger number",
            )
        return left_s / (model.interactions_mean * (1 + model.images_mean * self.image_ratio))


def resumption_ratio(model: PartlyOpenModel, persistence_s: float) -> float:
    """Return the share of think times after which the server has closed the connection."""
    return math.exp(-persistence_s / model.think_time_mean_s) if model.think_time_mean_s else 0.0


@dataclass(frozen=True, slots=True)
class AppScenario:
    """An application (one of the paper's Tomcats) and its customers.

    `schedule` is the rate of new sessions per second (`Schedule.of_rates`). `ctn_s` and `cto_s` are
    eDragon's CTN and CTO in CPU seconds (`connection_profile`). Admission `eac` needs both.
    """

    model: PartlyOpenModel
    schedule: Schedule
    priority: float = 1.0
    ctn_s: float | None = None
    cto_s: float | None = None

    def __post_init__(self) -> None:
        require(self, "priority ctn_s cto_s", is_above_0, "a number above 0")


@dataclass(frozen=True, slots=True)
class PlatformScenario:
    """The description of a run of a hosting platform. The run starts without sessions and is cut
    off at `duration_s`. With `admission` eac, each application has eDragon's load monitor and
    admission. The admission assumes that the application can use its assigned processors
    (`provisioning` ecm or static) or all processors (linux). With `admission` none, the CPU manager
    counts each application as needing all processors. Each application has `threads` threads
    (HttpProcessors). At most `backlog` connections wait for a thread; None means no limit.
    """

    applications: tuple[AppScenario, ...]
    seed: int
    processors: int = 4
    provisioning: Provisioning = "ecm"
    sharing: Sharing = "both"
    admission: PlatformAdmission = "eac"
    costs: Costs = field(default_factory=Costs)
    threads: int = 100
    backlog: int | None = 100
    persistence_s: float = 10.0
    interval_s: float = INTERVAL_S
    """The intervals k_ECM and k_APL, in seconds."""
    ewma_alpha: float = 0.7
    duration_s: float = 5400.0

    def __post_init__(self) -> None:
        if not self.applications:
            raise ScenarioError("applications", "give at least one application")
        require(self, "processors threads", lambda value: value >= 1, "1 or more")
        require(self, "persistence_s interval_s duration_s", is_above_0, "a number above 0")
        require(self, "backlog", lambda value: value >= 0, "0 or more")
        require_one_of("provisioning", self.provisioning, Provisioning)
        require_one_of("sharing", self.sharing, Sharing)
        require_one_of("admission", self.admission, PlatformAdmission)
        if self.provisioning == "static" and len(self.applications) > 2 * self.processors:
            raise ScenarioError(
                "applications",
                f"{len(self.applications)} share {self.processors} processors; with provisioning "
                "static, give at most two for each processor",
            )
        for i, app in enumerate(self.applications):
            self.costs.page_s(app.model, self.persistence_s)
            if self.admission == "eac" and (app.ctn_s is None or app.cto_s is None):
                raise ScenarioError(
                    f"applications.{i}",
                    "give ctn_s and cto_s (connection_profile measures them), or no admission",
                )
