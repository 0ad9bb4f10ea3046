"""Downloads of a result: tables and logs as CSV, one HTML page, and a bundle with all files."""

import base64
import tempfile
from collections.abc import Callable
from functools import wraps
from html import escape
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string

from lab.console.results import bundles, logs, notes
from lab.console.results.origins import policy_readers
from lab.console.results.result_list import ResultEntry, result_of, run_of
from lab.console.site import allowances, permissions
from lab.console.site.permissions import readers
from lab.console.site.rates import ActionLimit, BusyError, TooOftenError
from lab.console.site.sending import attached
from lab.errors import ExperimentError
from lab.report import tidy
from lab.report.drawing.table import Table
from lab.report.seal import SEAL, sealed

LOGS = ("attempts", "samples")
METRIC_FILES = {"runs": tidy.by_run, "summary": tidy.summary}
PATIENCE_S = 5.0
"""The maximum real seconds that a download waits for other downloads."""
AGAIN_S = 10
"""The real seconds after which a browser can repeat a refused download."""
MOST_REPORT_BYTES = 64 * 2**20
"""The maximum size of a report page that the download of one page contains."""
MOST_PICTURES_BYTES = 32 * 2**20
"""The maximum total size of the figures of one page, in bytes. The page omits further figures."""

_ACTION_LIMIT = ActionLimit(allowances.DOWNLOADS_AT_ONCE)
View = Callable[..., HttpResponseBase]


def packed(view: View) -> View:
    """Return a view that packs only one download per person at a time, and only a few in total. A
    refused request gets status 429 and one line of text."""

    @wraps(view)
    def limited(request: HttpRequest, **more: Any) -> HttpResponseBase:
        try:
            with _ACTION_LIMIT.turn(permissions.key_of(request), PATIENCE_S):
                permissions.spend(request, "downloads_per_minute")
                return view(request, **more)
        except BusyError as busy:
            whose = "another download for you" if busy.is_own else "downloads for other people"
            words = f"The console is packing {whose}. Try again in {AGAIN_S} s."
            return _refused(words, 429, wait_s=AGAIN_S)
        except TooOftenError as fault:
            return _refused(str(fault), 429, wait_s=fault.wait_s)

    return limited


@readers.get
@packed
def table(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Return one table as tidy CSV."""
    result = result_of(name)
    if number >= len(result.every_table):
        raise Http404
    chosen = Table.of(result.every_table[number])
    return _csv(result, tidy.file_name(chosen.title), tidy.of_table(chosen))


@readers.get
@packed
def metrics(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """Return all metrics of a comparison as CSV: a row for each run, or means with intervals."""
    result = result_of(name)
    if result.is_reproduction or kind not in METRIC_FILES or not result.has_logs:
        raise Http404
    try:
        runs = logs.ask(result, "run_metrics")
    except ExperimentError as fault:
        return _refused(str(fault), 422)
    return _csv(result, f"{kind}.csv", METRIC_FILES[kind](runs))


@readers.get
@packed
def log(request: HttpRequest, name: str, run: str, log: str) -> HttpResponseBase:
    """Return the attempts or the samples of a run as CSV. All times are in paper seconds."""
    result = result_of(name)
    run_of(result, run)
    if log not in LOGS:
        raise Http404
    written = tempfile.NamedTemporaryFile()  # noqa: SIM115 - the response closes it
    try:
        logs.ask(result, "write_csv", run=run, log=log, to=written.name)
    except ExperimentError as fault:
        written.close()
        return _refused(str(fault), 422)
    return FileResponse(
        written,
        as_attachment=True,
        filename=_name_of(result, f"{run}-{log}.csv"),
        content_type="text/csv",
    )


@readers.get
@packed
def page(request: HttpRequest, name: str) -> HttpResponse:
    """Return the result as one HTML file that needs no other file."""
    result = result_of(name)
    file = _name_of(result, f"{name}.html")
    return attached(_one_page(result), "text/html; charset=utf-8", file)


def _one_page(result: ResultEntry) -> str:
    """Return a result as one HTML file: tables, figures, warnings, notes, spec and machine. If the
    result has a report page of at most MOST_REPORT_BYTES, the file has the report page instead.
    Even as a local file, the page loads no other files and runs no scripts."""
    found = notes.of(result.name)
    report = result.file("report.html")
    if report is not None and report.stat().st_size <= MOST_REPORT_BYTES:
        text = sealed(report.read_text(encoding="utf-8", errors="replace"))
        body, end, rest = text.removeprefix(SEAL).rpartition("</body>")
        written = render_to_string("console/notes.html", {"notes": found}) if found else ""
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
                "notes": found,
            },
        )
    )


@policy_readers.get
@packed
def bundle(request: HttpRequest, name: str) -> HttpResponseBase:
    """Return the whole result as one file that another machine can import."""
    result = result_of(name)
    most_bytes = allowances.TEACHER.bundle_unpacked_bytes
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    try:
        bundles.write(result.path, file, most_bytes, notes.packed(name))
    except bundles.TooLargeError as fault:
        file.close()
        size, most = (
            allowances.written("bundle_unpacked_bytes", number)
            for number in (fault.size_bytes, most_bytes)
        )
        return _refused(
            f"The files of this result have {size}; allowed in a bundle: at most {most}. "
            "The administrator can copy the result's folder from this machine.",
            422,
        )
    except OSError as fault:
        file.close()
        return _refused(f"The bundle cannot be packed: {fault.strerror or fault}.", 503)
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=_name_of(result, f"{name}.zip"))


def _name_of(result: ResultEntry, file: str) -> str:
    """Return the file name of a download. The name shows whether the result is imported."""
    return f"imported-{file}" if result.imported else file


def _refused(words: str, status: int, *, wait_s: int | None = None) -> HttpResponse:
    headers = {} if wait_s is None else {"Retry-After": str(wait_s)}
    kind = "text/plain; charset=utf-8"
    return HttpResponse(f"{words}\n", status=status, content_type=kind, headers=headers)


def _csv(result: ResultEntry, file: str, text: str) -> HttpResponse:
    return attached(text, "text/csv; charset=utf-8", _name_of(result, file))
