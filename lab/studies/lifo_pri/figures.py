"""LIFO-Pri's figures and tables: the cases behind each curve, and the published numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from lab.analysis.cells import Cell
from lab.analysis.published import published
from lab.files.run_summary import LoadGenerator, RunSummary
from lab.report.drawing.table import Table
from lab.report.study_figures import (
    BuiltTable,
    CaseCurve,
    Entry,
    EntryTable,
    Figure,
    Panel,
    Row,
    profile,
)
from lab.report.tables import ROWS, table4, table5
from lab.results.metrics import Metrics, Results, Value
from lab.spec.cases import Case
from lab.spec.runs import ShopRun
from lab.studies.lifo_pri import measures
from lab.studies.lifo_pri.cases import (
    EFFECTIVE_RHO,
    FIG3_RHO,
    NOMINAL_RHO,
    PAGE_READINGS,
    SCHEMES,
    SHORT_INTERVAL_S,
    SINGLE_QUEUE,
    TIMEOUTS_S,
    Cases,
)
from lab.studies.study import PaperFigures
from lab.wording import TITLES

SHORT_INTERVAL = "LIFO-at-overload, 1 s interval"
NOT_ANSWERED = "not answered within t, % of attempts"
OUTCOMES = ("completed", "timed_out", "dropped")
TABLE_RHOS = (0.85, 1.4)
FIG7_T_S = 5.0


@dataclass(frozen=True, slots=True)
class Figures(PaperFigures[Cases]):
    """All figures and tables at the scale of `cases`."""

    def all(self) -> list[Figure]:
        """Return the figures and tables; live runs have only those of the single queue."""
        if self.cases.engine == "live":
            return self.single_queue()
        return [
            *self.single_queue(),
            self.page_readings(),
            self.figure_6(),
            self.tables_4_and_5(),
            self.figure_7(),
            self.figure_8(),
        ]

    def single_queue(self) -> list[Figure]:
        """Return the figures and the table of section 3.1."""
        return [
            self.figure_3(),
            self.table_1(),
            self.response_times(4, 40),
            self.response_times(5, 20),
        ]

    def single_queue_cases(self, rho: float, timeout_s: float) -> dict[str, Case[ShopRun]]:
        """Return the cases of the three policies. In the simulator, a fourth case has
        LIFO-at-overload with a utilisation sample every second."""
        found = {TITLES[name]: self.cases.single(name, rho, timeout_s) for name in SINGLE_QUEUE}
        if self.cases.engine == "live":
            return found
        found[SHORT_INTERVAL] = self.cases.simulated_single(
            "lifo-at-overload", rho, timeout_s, utilisation_interval_s=SHORT_INTERVAL_S
        )
        return found

    def figure_3(self) -> Figure:
        """Return Fig. 3: response times below capacity."""
        panel = self._unanswered("3", f"ρ = {FIG3_RHO:g}, timeout 20 s", FIG3_RHO, 20)
        return self.text.figure("figure-3", (panel,))

    def table_1(self) -> Figure:
        """Return Table 1: requests completed, timed out and dropped with a single queue."""
        paper = published()["lifo_pri"]["table1"]
        rows: list[Row] = []
        for rho in (EFFECTIVE_RHO, NOMINAL_RHO)[: 1 if self.cases.engine == "live" else 2]:
            for timeout_s in TIMEOUTS_S:
                cases = self.single_queue_cases(rho, timeout_s)
                for outcome in OUTCOMES:
                    printed = paper[f"timeout_{timeout_s}s"][outcome]
                    theirs = [*(printed[_key(name)] for name in SINGLE_QUEUE), None]
                    value = measures.outcome_percent(outcome)
                    entries = map(Entry, cases.values(), repeat(value), theirs)
                    rows.append((f"{rho:g}", f"{timeout_s} s", ROWS[outcome], *entries))
        table = EntryTable(
            "Table 1: percent of requests, published | reproduced",
            ("ρ", "Timeout", "Requests", *self.single_queue_cases(EFFECTIVE_RHO, 20)),
            rows,
            self.text.note("table-1", "Intervals"),
        )
        return self.text.figure("table-1", tables=(table,))

    def response_times(self, number: int, timeout_s: int) -> Figure:
        """Return the histogram and the distribution of response times at overload: Fig. 4 or 5."""
        title = f"timeout {timeout_s} s"
        histogram = Panel(
            f"{number} histogram", title, "response time t, s",
            "answered in each second of t, % of attempts",
            self._profiles(self.single_queue_cases(EFFECTIVE_RHO, timeout_s),
                           np.arange(0.5, timeout_s),
                           lambda t: measures.answered_between_percent(t - 0.5, t + 0.5)),
            kind="plain", printed_x=[x + 0.5 for x in range(0, timeout_s, 2)],
        )  # fmt: skip
        distribution = self._unanswered(f"{number} distribution", title, EFFECTIVE_RHO, timeout_s)
        return self.text.figure(f"figure-{number}", (histogram, distribution))

    def page_readings(self) -> Figure:
        """Return the table that compares published values with the results of several CPU times of
        the page."""
        paper = published()["lifo_pri"]
        completed = paper["table1"]["timeout_20s"]["completed"]
        modes = paper["claims"]["fig4_mode_s"]
        shares = paper["claims"]["fig5_under_10s_share_20s_timeout"]

        def mode_s(metrics: Metrics) -> float:
            return measures.mode_s([metrics])

        def row(cpu_s: float, spread_ratio: float) -> Row:
            def entry(policy: str, timeout_s: int, value: Value, theirs: float) -> Entry:
                case = self.cases.simulated_single(
                    policy, EFFECTIVE_RHO, timeout_s, page_cpu_s=cpu_s, spread_ratio=spread_ratio
                )
                return Entry(case, value, theirs)

            within_10_s = measures.answered_between_percent(0, 10)
            completed_percent = measures.outcome_percent("completed")
            return (
                f"{cpu_s:g} s",
                f"uniform ± {100 * spread_ratio:g} %" if spread_ratio else "fixed",
                entry("always-fifo", 20, completed_percent, completed["always_fifo"]),
                entry("always-lifo", 20, completed_percent, completed["always_lifo"]),
                entry("always-lifo", 20, within_10_s, 100 * shares["always_lifo"]),
                entry("always-fifo", 40, mode_s, modes["always_fifo"]),
                entry("always-lifo", 40, mode_s, modes["always_lifo"]),
            )

        table = EntryTable(
            f"Readings of the CPU-intensive page at an effective ρ of {EFFECTIVE_RHO:g}, "
            "published | reproduced",
            ("CPU", "Spread", "FIFO 20 s: completed, %", "LIFO 20 s: completed, %",
             "LIFO 20 s: within 10 s, %", "FIFO 40 s: mode, s", "LIFO 40 s: mode, s"),
            [row(*reading) for reading in PAGE_READINGS],
        )  # fmt: skip
        return self.text.figure("page-readings", tables=(table,))

    def figure_6(self) -> Figure:
        """Return Fig. 6: throughput over load."""
        claims = published()["lifo_pri"]["claims"]
        theirs = {(TITLES["8q-lifo-pri"], 2.0): claims["lifo_pri_throughput_rps_at_rho_2"]}
        panel = Panel("6", "throughput against load", "offered load ρ", "completed requests/s",
                      self._schemes(measures.throughput_rps), digits=2,
                      published=theirs)  # fmt: skip
        return self.text.figure("figure-6", (panel,))

    def tables_4_and_5(self) -> Figure:
        """Return Tables 4 and 5: requests by type and outcome."""
        needs = [self.cases.shop(name, rho) for rho in TABLE_RHOS for name in SCHEMES]

        def built(make: Callable[[Sequence[Cell]], Table]) -> BuiltTable:
            return BuiltTable(needs, lambda results: make(_cells(needs, results)))

        return self.text.figure("tables-4-and-5", tables=(built(table4), built(table5)))

    def figure_7(self) -> Figure:
        """Return Fig. 7: response times of the home page at overload."""
        shares = published()["lifo_pri"]["claims"]["response_under_5s_share_br1_rho_1_4"]
        cases = {TITLES[name]: self.cases.shop(name, 1.4) for name in SCHEMES}
        marks = {(TITLES[name], FIG7_T_S): 100 * (1 - shares[_key(name)]) for name in SCHEMES}
        curves = self._profiles(cases, np.arange(0.0, 40.5, 0.5), measures.unanswered_percent)
        panel = Panel("7", "home page, ρ = 1.4", "response time t, s", NOT_ANSWERED, curves,
                      kind="plain", published=marks,
                      printed_x=[0, 1, 2, 5, 10, 15, 20, 30, 40])  # fmt: skip
        return self.text.figure("figure-7", (panel,))

    def figure_8(self) -> Figure:
        """Return Fig. 8: mean response times over load."""
        shown = (
            ("8a", "all completed requests", measures.response_mean_s),
            ("8b", "transaction requests", measures.transaction_response_mean_s),
        )
        panels = [
            Panel(key, title, "offered load ρ", "mean response time, s", self._schemes(value),
                  digits=2)
            for key, title, value in shown
        ]  # fmt: skip
        return self.text.figure("figure-8", panels)

    def _unanswered(self, key: str, title: str, rho: float, timeout_s: int) -> Panel:
        return Panel(
            key,
            title,
            "response time t, s",
            NOT_ANSWERED,
            self._profiles(
                self.single_queue_cases(rho, timeout_s),
                np.arange(0.0, timeout_s + 0.5, 0.5),
                measures.unanswered_percent,
            ),
            kind="plain",
            y_to=102,
            printed_x=[0, 1, 2, 5, *range(10, timeout_s + 1, 5)],
        )

    def _profiles(
        self, cases: dict[str, Case[ShopRun]], times_s: np.ndarray, value: Callable[[float], Value]
    ) -> list[CaseCurve]:
        times = times_s.tolist()
        values = [value(t) for t in times]
        return [profile(label, case, times, values) for label, case in cases.items()]

    def _schemes(self, value: Value) -> list[CaseCurve]:
        return [
            CaseCurve(
                TITLES[name],
                [(rho, self.cases.shop(name, rho), value) for rho in self.cases.scale.rhos],
            )
            for name in SCHEMES
        ]


def _key(policy: str) -> str:
    """Return the policy's name in published.toml."""
    return policy.replace("-", "_")


def _cells(cases: Sequence[Case[ShopRun]], results: Results) -> list[Cell]:
    """Return the runs of these cases in the form that the lab's tables use."""
    simulated = RunSummary(load_generator=LoadGenerator(engine="simulated"))
    return [
        Cell(
            policy=case.run.policy.name,
            rho=case.run.rho,
            runs=tuple(map(measures.outcomes, found)),
            summaries=(simulated,) * len(found),
            quick_share=(),
            clients=(),
            published=case.run.policy.name,
            load=f"{case.run.rho:g}",
        )
        for case in cases
        if (found := results.of(case))
    ]
