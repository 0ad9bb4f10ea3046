"""The prose of a report, read from Markdown.

    # The report's title

    The paragraphs of the summary.

    ## Readings

    ### A reading's name

    One paragraph: how this project interprets the paper on this point.

    ## Figures and tables

    ### Figure 3: its heading {#figure-3}

    One paragraph: what the figure shows.

    #### Where it differs

    Paragraphs.

    #### Another heading

    One paragraph: a note that the code of the figure uses.

The file is a Jinja template: `{{ value }}` prints a number of the study, and `{% if quick %}`
chooses between sentences. A line with only a tag leaves no empty line in the output. Markup within
a paragraph is printed unchanged.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from lab.report.study_figures import BuiltTable, EntryTable, Figure, Panel

DIFFERS = "Where it differs"
_HEADING = re.compile(r"(#{1,4}) (.+?)(?: \{#([\w.-]+)\})?")
_LONE_TAG = re.compile(r"^[ \t]*(\{%(?:(?!%\}).)*%\})[ \t]*\n", re.MULTILINE | re.DOTALL)


class ReportTextError(ValueError):
    """Raised if a report's Markdown does not have the form that this module describes."""


@dataclass(slots=True)
class FigureText:
    """The prose of a figure or table."""

    heading: str
    what: str = ""
    differs: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReportText:
    """The prose of a report."""

    title: str
    summary: Sequence[str]
    readings: Sequence[tuple[str, str]]
    figures: Mapping[str, FigureText]

    def figure(
        self,
        key: str,
        panels: Sequence[Panel] = (),
        tables: Sequence[EntryTable | BuiltTable] = (),
        *,
        stacked: bool = False,
    ) -> Figure:
        """Return a figure or table with the prose that has this key."""
        text = self._figure(key)
        return Figure(
            key, text.heading, text.what, tuple(text.differs), panels, tables, stacked=stacked
        )

    def note(self, key: str, name: str) -> str:
        """Return the note `name` of a figure."""
        notes = self._figure(key).notes
        if name not in notes:
            raise ReportTextError(f"{key}: report.md has no note “{name}” below this heading")
        return notes[name]

    def _figure(self, key: str) -> FigureText:
        if key not in self.figures:
            known = ", ".join(self.figures)
            raise ReportTextError(f"{key}: report.md has no heading with this key; it has {known}")
        return self.figures[key]


def read_report(path: Path, values: Mapping[str, Any]) -> ReportText:
    """Return the prose of a file, with these values filled in.

    Raises ReportTextError if a part is missing or misplaced; the message names the part.
    """
    source = _LONE_TAG.sub(r"\1", path.read_text(encoding="utf-8"))
    environment = Environment(
        undefined=StrictUndefined,
        comment_start_string="<!--",  # Jinja's own comment tag begins like a heading's key
        comment_end_string="-->",
        autoescape=False,  # the page escapes
    )
    environment.filters["g"] = lambda number: f"{number:g}"
    environment.filters["thousands"] = lambda number: f"{number:,}"
    return parse_report(environment.from_string(source).render(values))


def parse_report(text: str) -> ReportText:
    """Return the parts of a report's Markdown; raises ReportTextError if it does not have the
    required form."""
    title, summary = "", []
    readings: list[tuple[str, str]] = []
    figures: dict[str, FigureText] = {}
    part = ""
    for heading, key, paragraphs in _sections(text):
        level, name = heading
        if level == 1:
            title, summary = name, paragraphs
        elif level == 2:
            part = name
            if part not in ("Readings", "Figures and tables") or paragraphs:
                raise ReportTextError(
                    f"## {name}: a heading of level 2 must be “Readings” or “Figures and tables”, "
                    "without text below it"
                )
        elif level == 3 and part == "Readings":
            readings.append((name, _only(name, paragraphs)))
        elif level == 3 and key:
            if key in figures:
                raise ReportTextError(f"{key}: two headings have this key")
            figures[key] = FigureText(name, _only(name, paragraphs))
        elif level == 4 and figures and name == DIFFERS:
            list(figures.values())[-1].differs += paragraphs
        elif level == 4 and figures:
            list(figures.values())[-1].notes[name] = _only(name, paragraphs)
        else:
            raise ReportTextError(
                f"{'#' * level} {name}: a figure's heading must end in {{#its-key}}"
            )
    if not title:
        raise ReportTextError("report.md does not begin with “# Title”")
    return ReportText(title, tuple(summary), tuple(readings), figures)


def _only(name: str, paragraphs: Sequence[str]) -> str:
    if len(paragraphs) != 1:
        raise ReportTextError(f"{name}: {len(paragraphs)} paragraphs below it; allowed: one")
    return paragraphs[0]


def _sections(text: str) -> list[tuple[tuple[int, str], str, list[str]]]:
    """Return a tuple (level and heading, key, paragraphs) for each heading, in order."""
    found: list[tuple[tuple[int, str], str, list[str]]] = []
    lines: list[str] = []

    def end_paragraph() -> None:
        if lines and not found:
            raise ReportTextError("report.md does not begin with “# Title”")
        if lines:
            found[-1][2].append(" ".join(lines))
            lines.clear()

    for line in map(str.strip, text.splitlines()):
        match = _HEADING.fullmatch(line)
        if match or not line:
            end_paragraph()
        if match:
            found.append(((len(match[1]), match[2]), match[3] or "", []))
        elif line:
            lines.append(line)
    end_paragraph()
    return found
