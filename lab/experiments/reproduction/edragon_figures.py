"""eDragon's figures as exhibits, with the zones' numbers published beside reproduced.

Owns: which curve is made of which cases, beside which published values, and what is said about it.
Must not know: how a case is run, how an exhibit is drawn.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lab.experiments.intervals import estimate
from lab.experiments.reproduction import edragon_values as values
from lab.experiments.reproduction import edragon_zones as zones
from lab.experiments.reproduction.edragon_cases import (
    ARRANGEMENTS,
    EQUAL,
    LINUX,
    MANAGED,
    SERVERS,
    STATIC,
    TO_HIGH,
    TWO_TO_ONE,
    Arrangement,
    Cases,
    PlatformCase,
)
from lab.experiments.reproduction.edragon_zones import APPLICATIONS, Range
from lab.experiments.reproduction.exhibits import (
    CaseCurve,
    EntryTable,
    Exhibit,
    FormulaCurve,
    Level,
    Panel,
    ProfileCurve,
    Stretch,
)
from lab.experiments.reproduction.store import Results, Value

LOAD = "load, new sessions/s"
TIME = "time, s"
DRAWN_EVERY_S = 30.0
"""A point of a curve over time; metrics have bins of as much."""


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
class LargestShare:
    """Throughput of a server under a load, percent of its largest over all loads."""

    cases_by_load: Sequence[tuple[float, PlatformCase]]

    def cases(self) -> Iterable[PlatformCase]:
        return (case for _, case in self.cases_by_load)

    def each(self, results: Results) -> list[float]:
        """At the last of the loads, one per repetition that all have."""
        runs = zip(*(results.of(case) for case in self.cases()), strict=False)
        found = []
        for run in runs:
            throughputs = [values.throughput_ps(metrics) for metrics in run]
            if max(throughputs) > 0:
                found.append(100 * throughputs[-1] / max(throughputs))
        return found


@dataclass(frozen=True, slots=True)
class LargestShareEntry:
    """A cell of a table: that share, published beside ours."""

    share: LargestShare
    published: float | None

    def cases(self) -> Iterable[PlatformCase]:
        return self.share.cases()

    def text(self, results: Results) -> str:
        found = self.share.each(results)
        ours = estimate(found).text(1) if found else "–"
        return ours if self.published is None else f"{self.published:g} | {ours}"


@dataclass(frozen=True, slots=True)
class Figures:
    """All of them for the runs of `cases`."""

    cases: Cases

    def all(self) -> list[Exhibit]:
        """In the order of the paper."""
        return [
            self.figure_1(),
            *self.over_load(),
            *(self.over_time(arrangement) for arrangement in MANAGED),
            self.zones(),
        ]

    # ---- Figs. 4 to 8: over load -----------------------------------------------------------------

    def over_load(self) -> list[Exhibit]:
        """Original against self-managed."""
        return [
            self._figure_4(),
            self._load_figure(
                5,
                "response time",
                "95th percentile of the response time of a reply.",
                [("95th percentile response time", "s", values.response_p95_s)],
                (
                    "A page that came after the one reconnection counts from when it was first "
                    "asked for, so up to 20 s; who gives up then has no response time."
                    if self.cases.engine == "simulated"
                    else "A page counts from when the request that was answered was due.",
                ),
                digits=2,
            ),
            self._load_figure(
                6,
                "sessions completed",
                "Sessions that got all they came for, within the run.",
                [("sessions successfully ended", "sessions", values.count("completed"))],
                (
                    "A session of 50 interactions and 7 s of thinking lives six minutes: of those "
                    "that come in the second half of a run of ten, most are under way at its end.",
                ),
                digits=0,
            ),
            self._load_figure(
                7,
                "sessions refused and timed out",
                "Sessions that the server refused, and that gave up waiting for it.",
                [
                    ("refused", "sessions", values.count("refused")),
                    ("timed out", "sessions", values.count("timed_out")),
                ],
                (
                    "At twice the saturation the original has timed out no more after ten minutes "
                    "than the self-managed server has refused: it let everybody in, and most of "
                    "them are still under way.",
                    "Below saturation the self-managed server refuses a few: arrivals are Poisson, "
                    "and an interval of 2 s admits what its processors serve on average. A load "
                    "generator with a steady rate would not see it.",
                ),
                digits=0,
            ),
            self._load_figure(
                8,
                "processors",
                "Processors allocated to the server, mean over the run. The original has all of "
                "them, whatever it needs.",
                [("processors allocated", "processors", values.processors)],
                (
                    "The mean takes in the first minutes, when few sessions are under way. "
                    "Requests are whole processors, so up to one more than is needed.",
                ),
                digits=2,
            ),
        ]

    def share_of_largest(self, server: str) -> LargestShare:
        """Throughput fully overloaded over the server's own maximum."""
        return LargestShare([(load, self.cases.one(server, load)) for load in self._loads()])

    def _figure_4(self) -> Exhibit:
        claims = zones.PAPER["claims"]
        theirs = {
            "original": 100 * claims["throughput_share_of_max_uncontrolled"],
            "self-managed": 100 * claims["throughput_share_of_max_controlled"],
        }
        figure = self._load_figure(
            4,
            "throughput",
            "HTTP replies/s of one application that has the platform for itself, mean over ten "
            "minutes from an empty server.",
            [("throughput", "replies/s", values.throughput_ps)],
            (
                "Where the paper's axes end, 35 new sessions/s, full handshakes alone ask for "
                f"35 × 0.175 s = 6.1 of {zones.PROCESSORS} processors."
                if self.cases.engine == "simulated"
                else "Loads are on the paper's scale: 3 new sessions/s are what this platform "
                "serves.",
            ),
        )
        table = EntryTable(
            "Throughput fully overloaded, % of the server's own maximum, published | reproduced",
            ("Server", f"at {self._loads()[-1]:g} new sessions/s"),
            [
                ((server,), [LargestShareEntry(self.share_of_largest(server), theirs[server])])
                for server in SERVERS
            ],
        )
        return Exhibit(
            figure.key, figure.heading, figure.what, figure.differs, figure.panels, (table,)
        )

    def _load_figure(
        self,
        number: int,
        name: str,
        what: str,
        shown: Sequence[tuple[str, str, Value]],
        differs: Sequence[str],
        digits: int = 1,
    ) -> Exhibit:
        letters = "ab" if len(shown) > 1 else [""]
        return Exhibit(
            f"figure-{number}",
            f"Figure {number}: {name}",
            what,
            differs,
            [
                Panel(
                    f"{number}{letter}",
                    title,
                    LOAD,
                    unit,
                    [
                        CaseCurve(
                            server,
                            [(load, self.cases.one(server, load), value) for load in self._loads()],
                        )
                        for server in SERVERS
                    ],
                    digits=digits,
                    x_scale="log",
                    x_ticks=[load for load in self._loads() if load in _LABELLED_LOADS],
                )
                for letter, (title, unit, value) in zip(letters, shown, strict=True)
            ],
        )

    def _loads(self) -> tuple[float, ...]:
        return self.cases.scale.loads

    # ---- Figs. 1, 9, 10, 11: over time -----------------------------------------------------------

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

    # ---- the zones in numbers --------------------------------------------------------------------

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


_LABELLED_LOADS = frozenset({0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 12.0, 20.0, 35.0})
_PRINTED_EVERY_S = 300.0
_ROOM = 1.18
"""Above the highest value, for the zones' names."""
_WORDS = {
    EQUAL.key: "which have the same priority",
    TWO_TO_ONE.key: "Tomcat 1 with twice the priority of Tomcat 2",
    TO_HIGH.key: "Tomcat 1 with twice the priority; a processor is shared only from Tomcat 2 to "
    "Tomcat 1",
}
_COLUMNS = {
    STATIC.key: "Static (Fig. 1)",
    LINUX.key: "Linux default (Fig. 1)",
    EQUAL.key: "ECM, equal (Fig. 9)",
    TWO_TO_ONE.key: "ECM, 2:1 (Fig. 10)",
    TO_HIGH.key: "ECM, 2:1 to high (Fig. 11)",
}
