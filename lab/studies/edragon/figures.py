"""eDragon's figures and tables: the cases behind each curve, and the published numbers."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lab.intervals import Estimate, estimate_known
from lab.report.drawing.pictures import Level, Stretch
from lab.report.study_figures import (
    CaseCurve,
    Entry,
    EntryTable,
    Figure,
    FormulaCurve,
    Panel,
    Row,
    beside,
    profile,
)
from lab.results.metrics import Results, Value
from lab.spec.cases import Case
from lab.spec.runs import PlatformRun
from lab.studies.edragon import measures
from lab.studies.edragon.cases import (
    APPLICATIONS,
    ARRANGEMENTS,
    EQUAL,
    LINUX,
    MANAGED,
    ORIGINAL,
    PAPER,
    SELF_MANAGED,
    SERVERS,
    STATIC,
    TO_HIGH,
    TWO_TO_ONE,
    Arrangement,
    Cases,
    Range,
    published_replies_ps,
)
from lab.studies.study import PaperFigures

LOAD = "load, new sessions/s"
_LABELLED_LOADS = frozenset({0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 12.0, 20.0, 35.0})
TIME = "time, s"
DRAWN_EVERY_S = 30.0
"""The paper seconds between two points of a curve over time; this is also the width of the metrics'
bins."""
_PRINTED_EVERY_S = 300.0
_ROOM = 1.18
"""The height of the axis, divided by the highest value. The names of the zones are in the space
above this value."""

_COLUMNS = {
    STATIC.key: "Static (Fig. 1)",
    LINUX.key: "Linux default (Fig. 1)",
    EQUAL.key: "ECM, equal (Fig. 9)",
    TWO_TO_ONE.key: "ECM, 2:1 (Fig. 10)",
    TO_HIGH.key: "ECM, 2:1 to high (Fig. 11)",
}
_PUBLISHED_SHARES = {
    ORIGINAL: "throughput_share_of_max_uncontrolled",
    SELF_MANAGED: "throughput_share_of_max_controlled",
}
"""The names in published.toml of each server's throughput when fully overloaded."""


@dataclass(frozen=True, slots=True)
class LargestShare:
    """A server's throughput at the largest load, as a percentage of its highest throughput at any
    load."""

    cases_by_load: Sequence[tuple[float, Case[PlatformRun]]]

    def cases(self) -> Iterable[Case[PlatformRun]]:
        return (case for _, case in self.cases_by_load)

    def each(self, results: Results) -> list[float]:
        """Return the share for each repetition that has runs at all loads."""
        found = []
        for run in results.together(*self.cases()).values():
            throughputs = [measures.throughput_ps(metrics) for metrics in run]
            if max(throughputs) > 0:
                found.append(100 * throughputs[-1] / max(throughputs))
        return found

    def estimate(self, results: Results) -> Estimate | None:
        """Return the mean of the shares with its interval, or None if there are no shares."""
        return estimate_known(self.each(results))


@dataclass(frozen=True, slots=True)
class LargestShareEntry:
    """A table cell with the published and the reproduced `LargestShare`."""

    share: LargestShare
    published: float

    def cases(self) -> Iterable[Case[PlatformRun]]:
        return self.share.cases()

    def text(self, results: Results) -> str:
        return beside(f"{self.published:g}", self.share.estimate(results), 1)


@dataclass(frozen=True, slots=True)
class Figures(PaperFigures[Cases]):
    """All figures and tables for the runs of `cases`."""

    def all(self) -> list[Figure]:
        """Return the figures in the order of the paper, then the table of the zones."""
        processors = [("processors allocated", "processors", measures.processors)]
        return [
            self.figure_1(),
            self.figure_4(),
            self._load_figure(
                5, [("95th percentile response time", "s", measures.response_p95_s)], digits=2
            ),
            self._load_figure(
                6, [("sessions successfully ended", "sessions", measures.count("completed"))]
            ),
            self._load_figure(
                7,
                [
                    ("refused", "sessions", measures.count("refused")),
                    ("timed out", "sessions", measures.count("timed_out")),
                ],
            ),
            self._load_figure(8, processors, digits=2),
            *(self.over_time(arrangement) for arrangement in MANAGED),
            self.zones(),
        ]

    def figure_1(self) -> Figure:
        """Return Fig. 1, which motivates the paper: static provisioning and the Linux default."""
        return self.text.figure(
            "figure-1",
            [
                self._load_panel("1, top"),
                self._throughput_panel("1, middle", STATIC),
                self._throughput_panel("1, bottom", LINUX),
            ],
            stacked=True,
        )

    def figure_4(self) -> Figure:
        """Return Fig. 4: throughput over load, and a table of the throughput at the largest
        load."""
        loads, shares = self.cases.scale.loads, PAPER["claims"]
        rows: list[Row] = [
            (server, LargestShareEntry(share_of_largest(self.cases, server), 100 * shares[key]))
            for server, key in _PUBLISHED_SHARES.items()
        ]
        table = EntryTable(
            "Throughput when fully overloaded, % of the server's maximum, published | reproduced",
            ("Server", f"at {loads[-1]:g} new sessions/s"),
            rows,
        )
        shown = [("throughput", "replies/s", measures.throughput_ps)]
        return self._load_figure(4, shown, digits=1, tables=(table,))

    def over_time(self, arrangement: Arrangement) -> Figure:
        """Return an arrangement's figure: load, throughput and processors with the CPU manager."""
        number = arrangement.figure
        return self.text.figure(
            f"figure-{number}",
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

    def zones(self) -> Figure:
        """Return the tables of all zones and both applications, with published and reproduced
        values.
        """
        processors = self._zone_table(
            "Processors assigned, published | reproduced",
            MANAGED,
            "processors",
            self.cases.processors_range,
            2,
        )
        replies = self._zone_table(
            "Replies/s, published | reproduced", ARRANGEMENTS, "replies_ps", _printed_replies, 0
        )
        return self.text.figure("zones", tables=(processors, replies))

    def _load_figure(
        self,
        number: int,
        shown: Sequence[tuple[str, str, Value]],
        digits: int = 0,
        tables: Sequence[EntryTable] = (),
    ) -> Figure:
        letters = "ab" if len(shown) > 1 else [""]
        loads = self.cases.scale.loads
        panels = []
        for letter, (title, unit, value) in zip(letters, shown, strict=True):
            curves = [
                CaseCurve(server, [(load, self.cases.one(server, load), value) for load in loads])
                for server in SERVERS
            ]
            ticks = [load for load in loads if load in _LABELLED_LOADS]
            panels.append(
                Panel(f"{number}{letter}", title, LOAD, unit, curves, digits=digits,
                      x_scale="log", x_ticks=ticks)
            )  # fmt: skip
        return self.text.figure(f"figure-{number}", panels, tables)

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
            return _printed_replies(arrangement, zone, i)

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
                profile(name, case, times, [measures.at(series, i, k) for k in bins])
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

    def _zone_table(
        self,
        title: str,
        arrangements: Sequence[Arrangement],
        series: str,
        printed: Callable[[Arrangement, str, int], Range | None],
        digits: int,
    ) -> EntryTable:
        course = self.cases.scale.course
        rows: list[Row] = []
        for zone in course.zones:
            for i, name in enumerate(APPLICATIONS):
                value = measures.over(series, i, zone)
                cells = (
                    Entry(
                        self.cases.two(each),
                        value,
                        theirs.words if (theirs := printed(each, zone.name, i)) else "–",
                        digits,
                    )
                    for each in arrangements
                )
                load = f"{course.load_at(zone.from_s)[i]:.3g}"
                rows.append((zone.name, name, load, *cells))
        return EntryTable(
            title,
            ("Zone", "Application", "New sessions/s", *(_COLUMNS[a.key] for a in arrangements)),
            rows,
            "Reproduced values are means ± half-width of the 95 % interval over the repetitions.",
        )


def share_of_largest(cases: Cases, server: str) -> LargestShare:
    """Return the throughput of a fully overloaded server as a share of its largest throughput."""
    return LargestShare([(load, cases.one(server, load)) for load in cases.scale.loads])


def _printed_replies(arrangement: Arrangement, zone: str, i: int) -> Range | None:
    theirs = published_replies_ps(arrangement.key, zone, i)
    return None if theirs is None else Range(theirs, theirs)
