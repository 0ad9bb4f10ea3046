"""eDragon's exhibits in the order of the paper, and the zones in numbers.

Owns: the table of zones, published beside reproduced. Must not know: how a case is run, how an
exhibit is drawn.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lab.experiments.reproduction import edragon_values as values
from lab.experiments.reproduction import edragon_zones as zones
from lab.experiments.reproduction.edragon_cases import (
    ARRANGEMENTS,
    EQUAL,
    LINUX,
    MANAGED,
    STATIC,
    TO_HIGH,
    TWO_TO_ONE,
    Arrangement,
    Cases,
    PlatformCase,
)
from lab.experiments.reproduction.edragon_load_figures import LoadFigures
from lab.experiments.reproduction.edragon_time_figures import TimeFigures
from lab.experiments.reproduction.edragon_zones import APPLICATIONS, Range
from lab.experiments.reproduction.exhibits import EntryTable, Exhibit
from lab.experiments.reproduction.store import Results, Value

_COLUMNS = {
    STATIC.key: "Static (Fig. 1)",
    LINUX.key: "Linux default (Fig. 1)",
    EQUAL.key: "ECM, equal (Fig. 9)",
    TWO_TO_ONE.key: "ECM, 2:1 (Fig. 10)",
    TO_HIGH.key: "ECM, 2:1 to high (Fig. 11)",
}


def figures(cases: Cases) -> list[Exhibit]:
    """All of them."""
    over_time = TimeFigures(cases)
    return [
        over_time.figure_1(),
        *LoadFigures(cases).all(),
        *(over_time.over_time(arrangement) for arrangement in MANAGED),
        ZoneTables(cases).zones(),
    ]


@dataclass(frozen=True, slots=True)
class ZoneEntry:
    """A cell of a table: what was published of a zone, a value or a range, beside ours."""

    case: PlatformCase
    value: Value
    published: Range | None
    digits: int

    def cases(self) -> Iterable[PlatformCase]:
        return (self.case,)

    def text(self, results: Results) -> str:
        found = results.estimate(self.case, self.value)
        ours = found.text(self.digits) if found else "–"
        return f"{self.published.words if self.published else '–'} | {ours}"


@dataclass(frozen=True, slots=True)
class ZoneTables:
    """Means over every zone, for the runs of `cases`."""

    cases: Cases

    def zones(self) -> Exhibit:
        """Every zone, both applications, published beside reproduced."""
        live = self.cases.engine == "live"
        ratio = self.cases.scale.processors / zones.PROCESSORS
        return Exhibit(
            "zones",
            "The zones in numbers",
            "Means over each zone, published | reproduced; “–” where nothing is printed. Loads of "
            f"zones {' and '.join(zones.PRINTED_LOADS)} are the paper's, the others are chosen "
            "within its text."
            + (
                f" Published processors are those of {zones.PROCESSORS}, times {ratio:g}; "
                "published replies/s are those of its machine."
                if live
                else ""
            ),
            (
                "The paper's replies/s are lower than those of its own session model: 3 new "
                "sessions/s of 50 interactions with 1.4 images each are 360 replies/s in the "
                "steady state, where its four processors give 220. Compare the shares of the two "
                "applications, and of zone E under the different arrangements.",
                "Sessions live longer than half a zone, so that a zone begins with those that the "
                "one before it left.",
            ),
            tables=(
                self._zone_table(
                    "Processors assigned, published | reproduced",
                    MANAGED,
                    "processors",
                    lambda a, zone, i: self.cases.processors_range(a, zone, i),
                    2,
                ),
                self._zone_table(
                    "Replies/s, published | reproduced",
                    ARRANGEMENTS,
                    "replies_ps",
                    _printed_replies,
                    0,
                ),
            ),
        )

    def _zone_table(
        self,
        title: str,
        arrangements: Sequence[Arrangement],
        series: str,
        printed: Callable[[Arrangement, str, int], Range | None],
        digits: int,
    ) -> EntryTable:
        course = self.cases.scale.course
        rows = []
        for zone in course.zones:
            for i, name in enumerate(APPLICATIONS):
                cells = [
                    ZoneEntry(
                        self.cases.two(arrangement),
                        values.over(series, i, zone),
                        printed(arrangement, zone.name, i),
                        digits,
                    )
                    for arrangement in arrangements
                ]
                load = f"{course.load_at(zone.from_s)[i]:.3g}"
                rows.append(((zone.name, name, load), cells))
        return EntryTable(
            title,
            ("Zone", "Application", "New sessions/s", *(_COLUMNS[a.key] for a in arrangements)),
            rows,
            "Means ± half-width of the 95 % interval over the repetitions.",
        )


def _printed_replies(arrangement: Arrangement, zone: str, i: int) -> Range | None:
    theirs = zones.published_replies_ps(arrangement.key, zone, i)
    return None if theirs is None else Range(theirs, theirs)
