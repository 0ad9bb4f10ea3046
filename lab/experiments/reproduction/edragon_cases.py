"""eDragon's runs: which applications on how many processors, who decides, who comes when.

Owns: the description of a run of the hosting platform and its identity; the cases that the figures
are made of, whole and quick, simulated and live. Must not know: what is kept of a run, how it is
made or drawn.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

from gateway.policies.processor_assignment import Sharing
from lab.experiments.reproduction import edragon_zones as zones
from lab.experiments.reproduction.cases import identity
from lab.experiments.reproduction.edragon_zones import Course, Range
from loadgen.load_schedule import RateStep, Schedule
from loadgen.partly_open import PartlyOpenModel
from simulator.connection_profile import ConnectionProfile, static_profile
from simulator.hosting_scenario import Admission, AppScenario, PlatformScenario, Provisioning

Engine = Literal["simulated", "live"]

Loads = tuple[tuple[float, float], ...]
"""(from_s, new sessions/s) of an application, from the start of the run."""


@dataclass(frozen=True)
class PlatformCase:
    """A run of the hosting platform without its seed: an `AnyCase`. Durations are paper seconds.

    Loads are the paper's, for 4 processors that serve 3 new sessions/s; live they are scaled to
    what the platform at hand can serve.
    """

    loads: tuple[Loads, ...]
    """Of each application."""
    duration_s: float
    provisioning: Provisioning = "ecm"
    admission: Admission = "eac"
    sharing: Sharing = "both"
    priorities: tuple[float, ...] = (1.0,)
    processors: int = zones.PROCESSORS
    costs: Mapping[str, float] = field(default_factory=dict)
    """`ctn_s` and `cto_s`, which admission needs; live they are those of the machine."""
    engine: Engine = "simulated"
    live: Mapping[str, Any] = field(default_factory=dict)
    """How a live run is made (time scale, key, sessions); empty in the simulator."""

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "PlatformCase":
        """The case that `as_json` described."""
        given = dict(plain["platform"])
        given["loads"] = tuple(
            tuple((at_s, rate) for at_s, rate in loads) for loads in given["loads"]
        )
        given["priorities"] = tuple(given["priorities"])
        return cls(**given)

    def as_json(self) -> dict[str, Any]:
        """All values, JSON-ready."""
        return {"platform": asdict(self)}

    @cached_property
    def id(self) -> str:
        """Equal for equal cases, on every machine."""
        return identity(self.as_json())

    @property
    def kind(self) -> str:
        """Cases of a kind take about the same time per request."""
        return f"platform/{self.admission}"

    def with_(self, **changes: Any) -> "PlatformCase":
        """The same but for `changes`."""
        return replace(self, **changes)

    def shortened(self, factor: float) -> "PlatformCase":
        """The same for a part of its time, to see how long it takes."""
        loads = tuple(tuple((at_s * factor, rate) for at_s, rate in each) for each in self.loads)
        return self.with_(loads=loads, duration_s=self.duration_s * factor)

    def scenario(self, seed: int) -> PlatformScenario:
        """The simulator's scenario; raises ScenarioError."""
        return PlatformScenario(
            applications=tuple(
                AppScenario(
                    PartlyOpenModel(),
                    Schedule.of_rates([RateStep(*step) for step in loads], self.duration_s),
                    priority,
                    **self.costs,
                )
                for loads, priority in zip(self.loads, self.priorities, strict=True)
            ),
            seed=seed,
            processors=self.processors,
            provisioning=self.provisioning,
            sharing=self.sharing,
            admission=self.admission,
            duration_s=self.duration_s,
        )

    def expected_sessions(self, application: int) -> float:
        """New sessions that come to an application, on the average."""
        loads = self.loads[application]
        ends = [*(at_s for at_s, _ in loads[1:]), self.duration_s]
        return sum(
            rate * max(0.0, min(end_s, self.duration_s) - at_s)
            for (at_s, rate), end_s in zip(loads, ends, strict=True)
        )

    def expected_requests(self) -> float:
        """About how many requests are simulated: what decides how long it takes.

        Who is served has `REPLIES_PER_SESSION`, who is turned away one.
        """
        sessions = sum(self.expected_sessions(i) for i in range(len(self.loads)))
        served = min(
            sessions,
            self.duration_s * zones.SATURATION_SESSIONS_PS * self.processors / zones.PROCESSORS,
        )
        return served * _REPLIES_PER_SESSION + (sessions - served)


_REPLIES_PER_SESSION = 120.0


@cache
def _profile() -> ConnectionProfile:
    """CTN and CTO of the simulated shop, by static profiling as in section 3.2.1."""
    return static_profile(PartlyOpenModel())


@dataclass(frozen=True, slots=True)
class Arrangement:
    """One way to run two applications: a figure of the paper."""

    key: str
    """Its name in published.toml."""
    figure: str
    title: str
    provisioning: Provisioning
    sharing: Sharing = "both"
    priorities: tuple[float, float] = (1.0, 1.0)


STATIC = Arrangement("static_2_2", "1", "static, half of the processors each", "static")
LINUX = Arrangement("linux_dynamic", "1", "Linux default", "linux")
EQUAL = Arrangement("equal_priority", "9", "ECM, equal priorities", "ecm")
TWO_TO_ONE = Arrangement("priority_2_to_1", "10", "ECM, priorities 2:1", "ecm", "both", (2.0, 1.0))
TO_HIGH = Arrangement(
    "priority_no_share",
    "11",
    "ECM, 2:1, shared only towards the high priority",
    "ecm",
    "to-high",
    (2.0, 1.0),
)
MANAGED = (EQUAL, TWO_TO_ONE, TO_HIGH)
ARRANGEMENTS = (STATIC, LINUX, *MANAGED)

ORIGINAL, SELF_MANAGED = "original", "self-managed"
SERVERS: dict[str, tuple[Provisioning, Admission]] = {
    ORIGINAL: ("static", "none"),
    SELF_MANAGED: ("ecm", "eac"),
}
"""The two of section 5.1: all processors and nobody refused, or ELM, EAC and ECM."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Which loads are tried for how long, and how often."""

    loads: tuple[float, ...]
    """New sessions/s of section 5.1, on the paper's scale."""
    load_run_s: float
    course: Course
    repetitions: int
    processors: int = zones.PROCESSORS
    live: Mapping[str, Any] = field(default_factory=dict)


LOAD_RUN_S = 600.0
"""Section 5.1: 10 minutes."""

LOADS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0, 35.0)
"""As far as the axes of Figs. 4 to 8 go."""

SIMULATED = {
    False: Scale(LOADS, LOAD_RUN_S, zones.WHOLE, 10),
    True: Scale((1.0, 2.0, 3.0, 6.0, 12.0, 35.0), LOAD_RUN_S, zones.WHOLE, 3),
}
"""By whether it is quick."""

LIVE_REPETITIONS = {False: 3, True: 1}

LIVE: dict[str, Any] = {
    "time_scale": 5.0,
    "key": "rsa-7680",
    "profile": "real",
    "interactions_mean": 10.0,
    "interactions_most": 20,
}
"""How live runs are made. Zones are shorter than the paper's, so sessions are, too. The time scale
is small: an interval of 2 s has to see several connections, and here a session costs more CPU."""


def live_scale(processors: int, *, quick: bool) -> Scale:
    """The runs on a machine of so many processors."""
    if quick:
        return Scale((1.0, 3.0, 12.0), 150.0, zones.shortened(6), 1, processors, LIVE)
    loads = (1.0, 2.0, 3.0, 4.0, 6.0, 12.0, 20.0)
    return Scale(loads, 300.0, zones.shortened(3), 3, processors, LIVE)


@dataclass(frozen=True, slots=True)
class Cases:
    """The paper's runs at a scale, on an engine."""

    scale: Scale
    engine: Engine = "simulated"

    def one(self, server: str, load: float) -> PlatformCase:
        """One application alone under a load, as ORIGINAL or SELF_MANAGED (section 5.1)."""
        provisioning, admission = SERVERS[server]
        return self._case(
            (((0.0, load),),),
            self.scale.load_run_s,
            provisioning=provisioning,
            admission=admission,
        )

    def two(self, arrangement: Arrangement) -> PlatformCase:
        """Two applications over the zones (section 5.2, Fig. 1)."""
        course = self.scale.course
        return self._case(
            tuple(tuple(course.loads(i)) for i in range(len(zones.APPLICATIONS))),
            course.run_s,
            provisioning=arrangement.provisioning,
            sharing=arrangement.sharing,
            priorities=arrangement.priorities,
        )

    def processors_range(self, arrangement: Arrangement, zone: str, i: int) -> Range | None:
        """What was published, in proportion to the processors there are."""
        theirs = zones.published_processors(arrangement.key, zone, i)
        ratio = self.scale.processors / zones.PROCESSORS
        return theirs and Range(theirs.low * ratio, theirs.high * ratio)

    def _case(self, loads: tuple[Loads, ...], duration_s: float, **given: Any) -> PlatformCase:
        return PlatformCase(
            loads,
            duration_s,
            processors=self.scale.processors,
            costs=_profile()._asdict() if self.engine == "simulated" else {},
            engine=self.engine,
            live=self.scale.live,
            **given,
        )
