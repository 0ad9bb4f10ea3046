"""eDragon's figures over time: two applications through the zones (Figs. 1, 9, 10 and 11).

Owns: which curve is made of which cases, beside which published values, and what is said about it.
Must not know: how a case is run, how an exhibit is drawn.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from lab.experiments.reproduction import edragon_values as values
from lab.experiments.reproduction import edragon_zones as zones
from lab.experiments.reproduction.edragon_cases import (
    EQUAL,
    LINUX,
    STATIC,
    TO_HIGH,
    TWO_TO_ONE,
    Arrangement,
    Cases,
)
from lab.experiments.reproduction.edragon_zones import APPLICATIONS, Range
from lab.experiments.reproduction.exhibits import (
    Exhibit,
    FormulaCurve,
    Level,
    Panel,
    ProfileCurve,
    Stretch,
)

TIME = "time, s"
DRAWN_EVERY_S = 30.0
"""A point of a curve over time; metrics have bins of as much."""
_PRINTED_EVERY_S = 300.0
_ROOM = 1.18
"""Above the highest value, for the zones' names."""
_WORDS = {
    EQUAL.key: "which have the same priority",
    TWO_TO_ONE.key: "Tomcat 1 with twice the priority of Tomcat 2",
    TO_HIGH.key: "Tomcat 1 with twice the priority; a processor is shared only from Tomcat 2 to "
    "Tomcat 1",
}


@dataclass(frozen=True, slots=True)
class TimeFigures:
    """Figure 1 and section 5.2, for the runs of `cases`."""

    cases: Cases

    def figure_1(self) -> Exhibit:
        """What moved the authors: static and Linux default provisioning."""
        return Exhibit(
            "figure-1",
            "Figure 1: static provisioning and the Linux default",
            "Two applications, both with admission control. Top: new sessions/s. Middle: replies/s "
            "with half of the processors each. Bottom: replies/s where Linux shares the processors "
            "out and admission takes all of them for its own.",
            (
                "Blind admission lets in, at both, what all processors could serve: twice the "
                "work there is room for.",
            ),
            [
                self._load_panel("1, top"),
                self._throughput_panel("1, middle", STATIC),
                self._throughput_panel("1, bottom", LINUX),
            ],
            stacked=True,
        )

    def over_time(self, arrangement: Arrangement) -> Exhibit:
        """Load, throughput and processors with the CPU manager."""
        number = arrangement.figure
        return Exhibit(
            f"figure-{number}",
            f"Figure {number}: {arrangement.title}",
            f"Two self-managed applications under the CPU manager, {_WORDS[arrangement.key]}. Top: "
            "new sessions/s. Middle: replies/s. Bottom: processors assigned.",
            (),
            [
                self._load_panel(f"{number}, top"),
                self._throughput_panel(f"{number}, middle", arrangement),
                self._over_time(
                    f"{number}, bottom",
                    "processors assigned",
                    "processors",
                    arrangement,
                    "processors",
                    lambda zone, i: self.cases.processors_range(arrangement, zone, i),
                    digits=2,
                    y_to=self.cases.scale.processors * _ROOM,
                ),
            ],
            stacked=True,
        )

    def _load_panel(self, key: str) -> Panel:
        course = self.cases.scale.course
        times = [*(stretch.from_s for stretch in course.stretches), course.run_s]
        return Panel(
            key,
            "incoming load",
            TIME,
            "new sessions/s",
            [
                FormulaCurve(
                    name,
                    times,
                    [course.load_at(min(at_s, course.run_s - 1))[i] for at_s in times],
                )
                for i, name in enumerate(APPLICATIONS)
            ],
            kind="steps",
            digits=2,
            stretches=self._stretches(),
            y_to=_ROOM * max(max(stretch.load) for stretch in course.stretches),
        )

    def _throughput_panel(self, key: str, arrangement: Arrangement) -> Panel:
        def printed(zone: str, i: int) -> Range | None:
            if self.cases.engine == "live":
                return None  # replies/s of another machine at another load
            theirs = zones.published_replies_ps(arrangement.key, zone, i)
            return None if theirs is None else Range(theirs, theirs)

        return self._over_time(
            key, f"throughput, {arrangement.title}", "replies/s", arrangement, "replies_ps", printed
        )

    def _over_time(
        self,
        key: str,
        title: str,
        unit: str,
        arrangement: Arrangement,
        series: str,
        printed: Callable[[str, int], Range | None],
        digits: int = 0,
        y_to: float | None = None,
    ) -> Panel:
        course = self.cases.scale.course
        count = math.ceil(course.run_s / DRAWN_EVERY_S)
        case = self.cases.two(arrangement)
        times = [*(i * DRAWN_EVERY_S for i in range(count)), course.run_s]
        bins = [*range(count), count - 1]  # the last one is drawn to its end
        levels = [
            Level(name, zone.from_s, zone.until_s, theirs.low, theirs.high)
            for i, name in enumerate(APPLICATIONS)
            for zone in course.zones
            if (theirs := printed(zone.name, i))
        ]
        return Panel(
            key,
            title,
            TIME,
            unit,
            [
                ProfileCurve(name, case, times, [values.at(series, i, k) for k in bins])
                for i, name in enumerate(APPLICATIONS)
            ],
            kind="steps",
            digits=digits,
            printed_x=times[:: max(1, round(_PRINTED_EVERY_S / DRAWN_EVERY_S))],
            stretches=self._stretches(),
            levels=levels,
            y_to=y_to,
        )

    def _stretches(self) -> list[Stretch]:
        return [
            Stretch(zone.name, zone.from_s, zone.until_s) for zone in self.cases.scale.course.zones
        ]
