"""A table as text, and its form in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text: what a terminal, a Markdown file and a page can all draw."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    note: str = ""

    def turned(self) -> "Table":
        """The same with rows for columns."""
        header, *rows = zip(self.header, *self.rows, strict=True)
        return Table(self.title, header, rows, self.note)

    def markdown(self) -> str:
        """As a Markdown table with its title."""
        lines = [f"### {self.title}", "", _line(self.header)]
        lines.append(_line(["---"] + ["---:"] * (len(self.header) - 1)))
        lines += [_line(row) for row in self.rows]
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
