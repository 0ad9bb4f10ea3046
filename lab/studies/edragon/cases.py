"""eDragon's runs: applications and their processors, provisioning, admission and load.

Source: Guitart et al., Computer Networks 52 (2008) 1390-1409. Section and figure numbers in this
package refer to that paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from common import cpus
from gateway.policies.connection_admission import PlatformAdmission
from gateway.policies.processor_assignment import Provisioning, Sharing
from lab.analysis.published import published
from lab.spec.cases import Case
from lab.spec.runs import Host, Loads, PlatformRun
from lab.studies.study import Engine, PaperCases
from loadgen.workload.partly_open import PartlyOpenModel
from simulator.connection_profile import ConnectionProfile, static_profile

METRICS = "studies.edragon:applications"

PAPER: dict[str, Any] = published()["edragon"]

APPLICATIONS = ("Tomcat 1", "Tomcat 2")
"""The paper's names for the two applications; here each application is a shop."""

SATURATION_SESSIONS_PS = 3.0
"""The largest load that four processors can serve, in new sessions/s (section 5.2, Fig. 4)."""

PROCESSORS = 4


class Stretch(NamedTuple):
    """The new sessions/s at each application, from `from_s` onwards."""

    from_s: float
    load: tuple[float, float]


class Zone(NamedTuple):
    """A part of the run, to which the paper gives a letter."""

    name: str
    from_s: float
    until_s: float


ZONES = (
    Zone("A", 0.0, 1200.0),
    Zone("B", 1800.0, 2400.0),
    Zone("C", 2400.0, 3000.0),
    Zone("D", 3600.0, 4200.0),
    Zone("E", 4200.0, 4800.0),
)
RUN_S = 5400.0

SCHEDULE = (
    Stretch(0.0, (0.75, 1.5)),
    Stretch(1200.0, (2.25, 1.5)),
    Stretch(1800.0, tuple(PAPER["zone_b"]["load"])),
    Stretch(2400.0, (1.5, 0.75)),
    Stretch(3000.0, (1.5, 2.25)),
    Stretch(3600.0, tuple(PAPER["zone_d"]["load"])),
    Stretch(4200.0, (6.0, 6.0)),
    Stretch(4800.0, (2.25, 2.25)),
)
"""The new sessions/s at both applications over time.

The paper prints the loads of zones B and D. The other loads are within the limits that the paper's
text gives. In zones A and C, both applications together have at most 3 new sessions/s. In "the rest
of the time", they have more. With 8 or more new sessions/s, they are "completely overloaded".
"""

PRINTED_LOADS = ("B", "D")
"""The zones whose loads the paper prints."""


class Range(NamedTuple):
    """A published range ("between … and …"), or a published value (`low` equals `high`)."""

    low: float
    high: float

    @property
    def words(self) -> str:
        """Return `3.5`, or `0.5 to 1.5`."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


def published_processors(arrangement: str, zone: str, application: int) -> Range | None:
    """Return the published mean number of processors that the ECM assigns to an application, or
    None if the paper does not print it."""
    entry = _entry(arrangement, zone)
    if "cpus" in entry:
        return Range(entry["cpus"][application], entry["cpus"][application])
    if "cpus_low" in entry:
        ends = (entry["cpus_low"][application], entry["cpus_high"][application])
        return Range(min(ends), max(ends))
    return None


def published_replies_ps(arrangement: str, zone: str, application: int) -> float | None:
    """Return an application's published throughput, or None if the paper does not print it."""
    found = _entry(arrangement, zone).get("throughput")
    return None if found is None else float(found[application])


def _entry(arrangement: str, zone: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = PAPER.get(f"zone_{zone.lower()}", {}).get(arrangement, {})
    return found


@dataclass(frozen=True, slots=True)
class Course:
    """The schedule and the zones of a run: as in the paper, or at another scale."""

    stretches: tuple[Stretch, ...]
    zones: tuple[Zone, ...]
    run_s: float

    def loads(self, application: int) -> list[tuple[float, float]]:
        """Return an application's load as steps (from_s, new sessions/s)."""
        return [(stretch.from_s, stretch.load[application]) for stretch in self.stretches]

    def load_at(self, time_s: float) -> tuple[float, float]:
        """Return the load of each application at this time, in new sessions/s."""
        return [stretch.load for stretch in self.stretches if stretch.from_s <= time_s][-1]

    def zone(self, name: str) -> Zone:
        """Return the zone with this letter."""
        return next(zone for zone in self.zones if zone.name == name)


WHOLE = Course(SCHEDULE, ZONES, RUN_S)


def shortened(factor: float) -> Course:
    """Return the paper's course with all durations divided by `factor`."""
    return Course(
        tuple(Stretch(each.from_s / factor, each.load) for each in SCHEDULE),
        tuple(Zone(zone.name, zone.from_s / factor, zone.until_s / factor) for zone in ZONES),
        RUN_S / factor,
    )


def mean_over(series: Sequence[float], bin_s: float, zone: Zone) -> float | None:
    """Return the mean of the bins that begin in the zone, or None if no bin begins there. `series`
    has one value for every `bin_s` seconds, from the start of the run."""
    values = [
        value for i, value in enumerate(series) if zone.from_s <= i * bin_s < zone.until_s - 1e-9
    ]
    return sum(values) / len(values) if values else None


@cache
def _profile() -> ConnectionProfile:
    """Return the simulated shop's CTN and CTO, by static profiling as in section 3.2.1."""
    return static_profile(PartlyOpenModel())


@dataclass(frozen=True, slots=True)
class Arrangement:
    """An arrangement of two applications, as in a figure of the paper."""

    key: str
    """The name of the arrangement in published.toml."""
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
    "ECM, 2:1, only the low priority gives processors",
    "ecm",
    "to-high",
    (2.0, 1.0),
)
MANAGED = (EQUAL, TWO_TO_ONE, TO_HIGH)
ARRANGEMENTS = (STATIC, LINUX, *MANAGED)

ORIGINAL, SELF_MANAGED = "original", "self-managed"
SERVERS: dict[str, tuple[Provisioning, PlatformAdmission]] = {
    ORIGINAL: ("static", "none"),
    SELF_MANAGED: ("ecm", "eac"),
}
"""The two servers of section 5.1. The original server has all processors and never refuses a
connection. The self-managed server has ELM, EAC and ECM."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The loads, durations and repetitions of the runs."""

    loads: tuple[float, ...]
    """The loads of section 5.1 in new sessions/s, on the paper's scale."""
    load_run_s: float
    course: Course
    repetitions: int
    processors: int = PROCESSORS
    host: Host | None = None
    """The settings of the platform in live runs; None in the simulator."""


LOAD_RUN_S = 600.0
"""The duration of a run of section 5.1: 10 minutes, as in the paper."""

LOADS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 20.0, 25.0, 30.0, 35.0)
"""The loads, in new sessions/s, up to the largest load on the axes of Figs. 4 to 8."""

LIVE = Host(
    time_scale=5.0, key="rsa-7680", profile="real", interactions_mean=10.0, interactions_most=20
)
"""The settings of live runs.

Zones are shorter than in the paper, so sessions are also shorter. A session costs more CPU time
than in the paper. With this small time scale, several connections still arrive in each interval of
2 paper seconds.
"""


SCALES: dict[Engine, dict[bool, Scale]] = {
    "simulated": {
        False: Scale(LOADS, LOAD_RUN_S, WHOLE, 10),
        True: Scale((1.0, 2.0, 3.0, 6.0, 12.0, 35.0), LOAD_RUN_S, WHOLE, 3),
    },
    "live": {
        False: Scale(
            (1.0, 2.0, 3.0, 4.0, 6.0, 12.0, 20.0), 300.0, shortened(3), 3, PROCESSORS, LIVE
        ),
        True: Scale((1.0, 3.0, 12.0), 150.0, shortened(6), 1, PROCESSORS, LIVE),
    },
}


@dataclass(frozen=True, slots=True)
class Cases(PaperCases[Scale]):
    """The paper's runs at a scale, on an engine."""

    def one(self, server: str, load: float) -> Case[PlatformRun]:
        """Return the case of a single application under a load, on the ORIGINAL or SELF_MANAGED
        server (section 5.1)."""
        provisioning, admission = SERVERS[server]
        return self._case(
            (((0.0, load),),),
            self.scale.load_run_s,
            provisioning=provisioning,
            admission=admission,
        )

    def two(self, arrangement: Arrangement) -> Case[PlatformRun]:
        """Return the case of two applications over all zones (section 5.2, Fig. 1)."""
        course = self.scale.course
        return self._case(
            tuple(tuple(course.loads(i)) for i in range(len(APPLICATIONS))),
            course.run_s,
            provisioning=arrangement.provisioning,
            sharing=arrangement.sharing,
            priorities=arrangement.priorities,
        )

    def processors_range(self, arrangement: Arrangement, zone: str, i: int) -> Range | None:
        """Return the published range of processors, scaled to the processors of these cases."""
        theirs = published_processors(arrangement.key, zone, i)
        ratio = self.scale.processors / PROCESSORS
        return theirs and Range(theirs.low * ratio, theirs.high * ratio)

    def _case(self, loads: tuple[Loads, ...], duration_s: float, **given: Any) -> Case[PlatformRun]:
        costs = _profile()._asdict() if self.engine == "simulated" else {}
        processors = self.scale.processors
        run = PlatformRun(
            loads,
            duration_s,
            processors,
            SATURATION_SESSIONS_PS * processors / PROCESSORS,
            host=self.scale.host,
            **costs,
            **given,
        )
        return Case(run, METRICS)


def cases_on(scale: Scale, engine: Engine) -> Cases:
    """Return the cases of a scale on an engine. Live cases use all processors of this machine."""
    if engine == "live":
        scale = replace(scale, processors=len(cpus.usable()))
    return Cases(scale, engine)
