"""The classes that describe a reproduction's figures and tables, and the study that contains them.

Each figure and table names the cases that it needs. The study runs each of these cases.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, Protocol

from lab.intervals import Estimate, text_of
from lab.report.claims import Claim
from lab.report.drawing.pictures import Level, PanelKind, Picture, Series, Stretch
from lab.report.drawing.table import Table
from lab.results.metrics import Results, Value
from lab.spec.cases import AnyCase


class Curve(Protocol):
    """A curve whose numbers come from the results."""

    @property
    def label(self) -> str:
        """The name in the legend."""
        ...

    def cases(self) -> Iterable[AnyCase]:
        """Return the cases whose results the numbers need."""
        ...

    def series(self, results: Results) -> Series:
        """Return the numbers of the curve from the results."""
        ...


@dataclass(frozen=True, slots=True)
class CaseCurve:
    """A curve that shows one metric, with a different case at each x."""

    label: str
    points: Sequence[tuple[float, AnyCase, Value]]

    def cases(self) -> Iterable[AnyCase]:
        return (case for _, case, _ in self.points)

    def series(self, results: Results) -> Series:
        found = [results.estimate(case, value) for _, case, value in self.points]
        return Series.of(self.label, [x for x, _, _ in self.points], found)


def profile(label: str, case: AnyCase, x: Iterable[float], values: Iterable[Value]) -> CaseCurve:
    """Return a curve of one case with a different metric at each x, such as a histogram."""
    return CaseCurve(label, [(at, case, value) for at, value in zip(x, values, strict=True)])


@dataclass(frozen=True, slots=True)
class FormulaCurve:
    """A curve that needs no runs, such as an equation or a load pattern."""

    label: str
    x: Sequence[float]
    y: Sequence[float]

    def cases(self) -> Iterable[AnyCase]:
        return ()

    def series(self, results: Results) -> Series:
        return Series(self.label, list(self.x), list(self.y), [None] * len(self.x))


@dataclass(frozen=True, slots=True)
class Panel:
    """The content of a set of axes. `PanelKind` explains `kind`; bars have `x_names` under them.
    `published` holds the paper's numbers by curve label and x. `levels` holds the paper's numbers
    for parts of the x axis. `printed_x` has the x values that the table shows; None means all."""

    key: str
    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    kind: PanelKind = "lines"
    x_names: Sequence[str] | None = None
    published: Mapping[tuple[str, float], float] = field(default_factory=dict)
    y_from: float | None = 0.0
    y_to: float | None = None
    digits: int = 1
    printed_x: Sequence[float] | None = None
    x_format: Callable[[float], str] = "{:g}".format
    x_scale: Literal["linear", "log"] = "linear"
    x_ticks: Sequence[float] = ()
    """The ticks of the x axis; if empty, they are chosen automatically."""
    stretches: Sequence[Stretch] = ()
    levels: Sequence[Level] = ()

    def cases(self) -> Iterable[AnyCase]:
        return chain.from_iterable(curve.cases() for curve in self.curves)

    def table(self, results: Results) -> Table:
        """Return the table of published numbers next to reproduced numbers, with a row for each x
        and a column for each curve.
        """
        series = [curve.series(results) for curve in self.curves]
        every = list(dict.fromkeys(x for one in series for x in one.x))
        shown = every if self.printed_x is None else [x for x in every if x in self.printed_x]
        rows = []
        for x in shown:
            name = self.x_names[every.index(x)] if self.x_names else self.x_format(x)
            rows.append((name, *(self._cell(one, x) for one in series)))
        notes = {
            "Published | reproduced.": bool(self.published),
            "Mean ± half-width of the 95 % interval.": any(one.has_intervals for one in series),
        }
        return Table(
            f"{self.key}: {self.title}",
            (self.x_label, *(one.label for one in series)),
            rows,
            " ".join(note for note, wanted in notes.items() if wanted),
        )

    def _cell(self, series: Series, x: float) -> str:
        if x not in series.x:
            return ""
        i = list(series.x).index(x)
        y, half = series.y[i], series.half_width[i]
        ours = "–" if y is None else f"{y:,.{self.digits}f}"
        if y is not None and half is not None:
            ours += f" ± {half:,.{self.digits}f}"
        theirs = self.published.get((series.label, x))
        return ours if theirs is None else f"{theirs:g} | {ours}"


def beside(published: str | None, found: Estimate | None, digits: int) -> str:
    """Return the text of a table cell: the published number, if any, next to the measured one."""
    ours = text_of(found, digits)
    return ours if published is None else f"{published} | {ours}"


class TableCell(Protocol):
    """A cell of a table whose text comes from the results."""

    def cases(self) -> Iterable[AnyCase]:
        """Return the cases whose results the text needs."""
        ...

    def text(self, results: Results) -> str:
        """Return the text of the cell."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell of a table: the published value of a metric next to its value in a case."""

    case: AnyCase
    value: Value
    published: float | str | None = None
    """The published number, or a text such as a range."""
    digits: int = 1

    def cases(self) -> Iterable[AnyCase]:
        return (self.case,)

    def text(self, results: Results) -> str:
        theirs = self.published
        if isinstance(theirs, int | float):
            theirs = f"{theirs:g}"
        return beside(theirs, results.estimate(self.case, self.value), self.digits)


Row = Sequence[str | TableCell]


@dataclass(frozen=True, slots=True)
class EntryTable:
    """A table whose cells are texts, such as the names of rows, or objects that read the cell's
    text from the results."""

    title: str
    header: Sequence[str]
    rows: Sequence[Row]
    note: str = ""

    def cases(self) -> Iterable[AnyCase]:
        cells = (cell for row in self.rows for cell in row if not isinstance(cell, str))
        return chain.from_iterable(cell.cases() for cell in cells)

    def table(self, results: Results) -> Table:
        """Return the table with the numbers from the results."""
        rows = [
            tuple(cell if isinstance(cell, str) else cell.text(results) for cell in row)
            for row in self.rows
        ]
        return Table(self.title, tuple(self.header), rows, self.note)


@dataclass(frozen=True, slots=True)
class BuiltTable:
    """A table that a function builds from the metrics of some cases."""

    needs: Sequence[AnyCase]
    build: Callable[[Results], Table]

    def cases(self) -> Iterable[AnyCase]:
        return self.needs

    def table(self, results: Results) -> Table:
        """Return the table with the numbers from the results."""
        return self.build(results)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure without panels. `alternative` is for readers who cannot see it."""

    picture: Callable[[Results], Picture]
    alternative: str
    caption: str
    is_wide: bool = False
    """Whether the drawing is as wide as the page; otherwise, it is as wide as its text needs."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure or table of a report: its texts, panels, tables and differences from the paper."""

    key: str
    heading: str
    what: str
    differs: Sequence[str] = ()
    panels: Sequence[Panel] = ()
    tables: Sequence[EntryTable | BuiltTable] = ()
    stacked: bool = False
    """Whether the panels are stacked, with a common x axis, instead of side by side."""
    drawing: Drawing | None = None
    """A drawing that replaces the panels."""

    def cases(self) -> Iterable[AnyCase]:
        return chain.from_iterable(part.cases() for part in (*self.panels, *self.tables))


@dataclass(frozen=True, slots=True)
class Study:
    """The reproduction of a paper: all its figures and claims."""

    paper: str
    title: str
    summary: Sequence[str]
    figures: Sequence[Figure]
    claims: Sequence[Claim]
    readings: Sequence[tuple[str, str]] = ()
    """The interpretations of ambiguous passages in the paper. Each has a name and an
    explanation."""
    readings_heading: str = "How the paper was read"
    folder: str = ""
    """The result folder's name without the date. If the field is empty, the name is `reproduce-`
    and the paper."""

    @property
    def name(self) -> str:
        """The part of the result folder's name that follows the date."""
        return self.folder or f"reproduce-{self.paper}"

    def cases(self) -> Iterable[AnyCase]:
        """Return all cases. A case that several figures use is returned more than once."""
        return chain(
            chain.from_iterable(figure.cases() for figure in self.figures),
            chain.from_iterable(claim.needs for claim in self.claims),
        )
