"""eDragon's 90 minutes: who asks for how much when, the zones, and what was published of them.

Owns: the schedule of both applications, the zones' names and times, the printed figures, means over
a zone. Must not know: what a case is, how a run is made, how anything is drawn.

Source: Guitart et al., Computer Networks 52 (2008) 1390-1409. Section and figure numbers in these
modules are that paper's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lab.experiments.published import published

PAPER: dict[str, Any] = published()["edragon"]

APPLICATIONS = ("Tomcat 1", "Tomcat 2")
"""The paper's names for the two; here each is a shop."""

SATURATION_SESSIONS_PS = 3.0
"""New sessions/s that four processors can serve (section 5.2, Fig. 4)."""

PROCESSORS = 4


class Stretch(NamedTuple):
    """From `from_s` on, so many new sessions/s at either application."""

    from_s: float
    load: tuple[float, float]


class Zone(NamedTuple):
    """A part of the run that the paper names."""

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
"""B and D as printed. The others are chosen within the text: in A and C at most 3 new sessions/s in
all, "the rest of the time" more, "completely overloaded" from 8 on."""

PRINTED_LOADS = ("B", "D")
"""Zones whose loads are the paper's own."""


class Range(NamedTuple):
    """What was published: a value (`low` = `high`) or "between … and …"."""

    low: float
    high: float

    @property
    def words(self) -> str:
        """`3.5`, or `0.5 to 1.5`."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


PRIORITY_ARRANGEMENTS = ("equal_priority", "priority_2_to_1", "priority_no_share")
"""Of Figs. 9, 10 and 11, by their names in published.toml."""


def published_processors(arrangement: str, zone: str, application: int) -> Range | None:
    """What the ECM assigned to an application on average; None where nothing was printed."""
    entry = _entry(arrangement, zone)
    if "cpus" in entry:
        return Range(entry["cpus"][application], entry["cpus"][application])
    if "cpus_low" in entry:
        ends = (entry["cpus_low"][application], entry["cpus_high"][application])
        return Range(min(ends), max(ends))
    return None


def published_replies_ps(arrangement: str, zone: str, application: int) -> float | None:
    """Its throughput; None where nothing was printed."""
    found = _entry(arrangement, zone).get("throughput")
    return None if found is None else float(found[application])


def _entry(arrangement: str, zone: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = PAPER.get(f"zone_{zone.lower()}", {}).get(arrangement, {})
    return found


@dataclass(frozen=True, slots=True)
class Course:
    """The schedule of a run and where its zones lie: the paper's, or a part of it."""

    stretches: tuple[Stretch, ...]
    zones: tuple[Zone, ...]
    run_s: float

    def loads(self, application: int) -> list[tuple[float, float]]:
        """(from_s, new sessions/s) of an application."""
        return [(stretch.from_s, stretch.load[application]) for stretch in self.stretches]

    def load_at(self, time_s: float) -> tuple[float, float]:
        """New sessions/s of both at a time."""
        return [stretch.load for stretch in self.stretches if stretch.from_s <= time_s][-1]

    def scaled(self, factor: float) -> "Course":
        """The same with loads times `factor`, for a platform that serves so much more or less."""
        stretches = tuple(
            Stretch(each.from_s, (each.load[0] * factor, each.load[1] * factor))
            for each in self.stretches
        )
        return Course(stretches, self.zones, self.run_s)

    def zone(self, name: str) -> Zone:
        """By its letter."""
        return next(zone for zone in self.zones if zone.name == name)


WHOLE = Course(SCHEDULE, ZONES, RUN_S)


def shortened(factor: float) -> Course:
    """The same zones, each and what lies between them `factor` times as short."""
    return Course(
        tuple(Stretch(each.from_s / factor, each.load) for each in SCHEDULE),
        tuple(Zone(zone.name, zone.from_s / factor, zone.until_s / factor) for zone in ZONES),
        RUN_S / factor,
    )


def mean_over(series: Sequence[float], bin_s: float, zone: Zone) -> float | None:
    """Mean of the bins that begin in the zone; None without any.

    `series` has a value for every `bin_s` seconds from the start of the run.
    """
    values = [
        value for i, value in enumerate(series) if zone.from_s <= i * bin_s < zone.until_s - 1e-9
    ]
    return sum(values) / len(values) if values else None
