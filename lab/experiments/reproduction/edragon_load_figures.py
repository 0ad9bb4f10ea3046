"""eDragon's figures over load: one application, original against self-managed (Figs. 4 to 8).

Owns: which curve is made of which cases, beside which published values, and what is said about it.
Must not know: how a case is run, how an exhibit is drawn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.experiments.intervals import estimate
from lab.experiments.reproduction import edragon_values as values
from lab.experiments.reproduction import edragon_zones as zones
from lab.experiments.reproduction.edragon_cases import SERVERS, Cases, PlatformCase
from lab.experiments.reproduction.exhibits import CaseCurve, EntryTable, Exhibit, Panel
from lab.experiments.reproduction.store import Results, Value

LOAD = "load, new sessions/s"
_LABELLED_LOADS = frozenset({0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 12.0, 20.0, 35.0})


@dataclass(frozen=True, slots=True)
class LargestShare:
    """Throughput of a server under a load, percent of its largest over all loads."""

    cases_by_load: Sequence[tuple[float, PlatformCase]]

    def cases(self) -> Iterable[PlatformCase]:
        return (case for _, case in self.cases_by_load)

    def each(self, results: Results) -> list[float]:
        """At the last of the loads, one per repetition that all have."""
        found = []
        for run in results.together(*self.cases()).values():
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
class LoadFigures:
    """Section 5.1, for the runs of `cases`."""

    cases: Cases

    def all(self) -> list[Exhibit]:
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
