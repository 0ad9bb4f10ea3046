"""Tables of text, and their output in a terminal, on a page, in Markdown and in CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose cells are texts, for a terminal, a page, Markdown and CSV."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    note: str = ""

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Table":
        """Return the table that a result has stored as JSON."""
        rows = [tuple(row) for row in plain["rows"]]
        return cls(plain.get("title", ""), tuple(plain["header"]), rows, plain.get("note", ""))

    def turned(self) -> "Table":
        """Return the table with its rows and columns exchanged."""
        header, *rows = zip(self.header, *self.rows, strict=True)
        return Table(self.title, header, rows, self.note)

    def markdown(self) -> str:
        """Return a Markdown table with its title and note."""
        lines = [f"### {self.title}", "", _line(self.header)]
        lines.append(_line(["---"] + ["---:"] * (len(self.header) - 1)))
        lines += [_line(row) for row in self.rows]
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Return the header and the rows as CSV."""
        return csv_text([self.header, *self.rows])

    def html(self, *, of_words: bool = False) -> Markup:
        """Return an HTML table with its note. With `of_words`, long cells wrap.

        A cell of `published | measured` has a name for each number, for screen readers. The style
        sheet of the page must hide the class `unseen`. It can style `scroll`, `words`, `theirs`,
        `ours`, `yes`, `no` and `soft`.
        """
        return Markup(_as_html()(table=self, of_words=of_words))

    def in_terminal(self, console: Console) -> RichTable:
        """Return the table for a terminal. In Table 4, a line separates the policies. In a narrow
        terminal, a cell of `published | measured` is split into two lines. If this is not enough,
        rows become columns."""
        drawn = self._rich(stacked=False)
        if _width(drawn, console).maximum > console.width:
            drawn = self._rich(stacked=True)
            if _width(drawn, console).minimum > console.width:
                drawn = self.turned()._rich(stacked=True)
        return drawn

    def _rich(self, *, stacked: bool) -> RichTable:
        drawn = RichTable(
            title=self.title.replace(" | ", " above ") if stacked else self.title,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            padding=(0, 1),
        )
        words = [i for row in self.rows[:1] for i, cell in enumerate(row) if cell[:1].isalpha()]
        for i, name in enumerate(self.header):
            drawn.add_column(name, justify="left" if i in words else "right", no_wrap=not stacked)
        for i, row in enumerate(self.rows):
            ends_group = (
                "Requests" in self.header
                and self.rows[i + 1 : i + 2]
                and (self.rows[i + 1][:2] != row[:2])
            )
            cells = (cell.replace(" | ", "\n") if stacked else cell for cell in row)
            drawn.add_row(*map(Text, cells), end_section=bool(ends_group))
        return drawn


@cache
def _as_html() -> Callable[..., str]:
    """Return the function that renders table.html.j2."""
    # Importing Jinja takes a tenth of a second, and only pages need it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("table.html.j2").render


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows, the header first, as the text of a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _width(drawn: RichTable, console: Console) -> Measurement:
    return Measurement.get(console, console.options.update(max_width=1000), drawn)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
