"""A comparison as one HTML file: tables, figures, warnings, notes, spec and machine. If the result
has a report page of at most MOST_REPORT_BYTES, the file contains the report page instead."""

import base64
from collections.abc import Sequence
from html import escape

from django.template.loader import render_to_string

from lab.console.models import Note
from lab.console.results.result_list import ResultEntry
from lab.report.page import SEAL, sealed

MOST_REPORT_BYTES = 64 * 2**20
MOST_PICTURES_BYTES = 32 * 2**20
"""The maximum total size of the figures, in bytes. The page omits further figures."""


def of(result: ResultEntry, notes: Sequence[Note]) -> str:
    """Return the page of the result, with these notes. Even as a local file, the page loads no
    other files and runs no scripts."""
    report = result.file("report.html")
    if report is not None and report.stat().st_size <= MOST_REPORT_BYTES:
        text = sealed(report.read_text(encoding="utf-8", errors="replace"))
        body, end, rest = text.removeprefix(SEAL).rpartition("</body>")
        written = render_to_string("console/notes.html", {"notes": notes}) if notes else ""
        origin = result.imported or result.reference
        mark = origin and f"<p><strong>Not measured here: {escape(origin.words)}.</strong></p>"
        return SEAL + (mark or "") + body + (written + end + rest if end else rest + written)
    figures = []
    left_bytes = MOST_PICTURES_BYTES
    for name in result.figures:
        svg = result.file(f"figures/{name}.svg")
        left_bytes -= svg.stat().st_size if svg else 0
        if svg and left_bytes >= 0:
            # Scripts cannot run in a data URL of an image.
            data = base64.b64encode(svg.read_bytes()).decode()
            figures.append((name, f"data:image/svg+xml;base64,{data}"))
    return sealed(
        render_to_string(
            "console/one_page.html",
            {
                "result": result,
                "figures": figures,
                "spec_text": result.text("spec.toml"),
                "notes": notes,
            },
        )
    )
