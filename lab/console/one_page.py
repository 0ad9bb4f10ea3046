"""A result as one HTML file: tables, figures, what a reader must know, spec, machine.

Owns: what stands in it. Must not know: requests. A reproduction has written its own page.
"""

import base64

from django.template.loader import render_to_string

from lab.console.shelf import Shelved


def of(result: Shelved) -> str:
    """The page; it loads nothing, and runs nothing."""
    report = result.file("report.html")
    if report is not None:
        return report.read_text(encoding="utf-8", errors="replace")
    figures = [(name, _inline(result, name)) for name in result.figures()]
    spec = result.file("spec.toml")
    return render_to_string(
        "console/one_page.html",
        {
            "result": result,
            "progress": result.progress(),
            "lines": result.lines(),
            "tables": result.tables(),
            "figures": figures,
            "spec_text": spec.read_text(encoding="utf-8", errors="replace") if spec else "",
            "machine": result.facts("machine"),
            "versions": result.facts("versions"),
        },
    )


def _inline(result: Shelved, name: str) -> str:
    """An SVG as an address of its own: within an image no script of it can run."""
    svg = result.file(f"figures/{name}.svg")
    content = svg.read_bytes() if svg else b""
    return f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"
