"""Taking a result away: tables and logs as CSV, one page, everything as a bundle.

Owns: these files. Must not know: what is in them.
"""

import csv
import io
import tempfile

import pyarrow.csv
import pyarrow.parquet as pq
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_GET

from lab.console import bundles, one_page, shelf
from lab.console.shelf import Shelved
from lab.experiments.results import RunFolder

LOGS = ("attempts", "samples")


@require_GET
def table(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """One table as CSV."""
    tables = result_of(name).every_table()
    if number >= len(tables):
        raise Http404
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(tables[number]["header"])
    lines.writerows(tables[number]["rows"])
    return _attached(
        text.getvalue().encode(), "text/csv; charset=utf-8", f"{name}-{number + 1}.csv"
    )


@require_GET
def log(request: HttpRequest, name: str, run: str, log: str) -> HttpResponseBase:
    """Attempts or samples of a run as CSV; times in paper seconds."""
    found = run_of(result_of(name), run)
    if log not in LOGS:
        raise Http404
    path = found.attempts_file if log == "attempts" else found.samples_file
    written = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    pyarrow.csv.write_csv(pq.read_table(path), written)
    written.seek(0)
    return FileResponse(
        written, as_attachment=True, filename=f"{run}-{log}.csv", content_type="text/csv"
    )


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    """One HTML file that needs nothing else."""
    return _attached(
        one_page.of(result_of(name)).encode(), "text/html; charset=utf-8", f"{name}.html"
    )


@require_GET
def bundle(request: HttpRequest, name: str) -> HttpResponseBase:
    """Everything in one file, for another machine."""
    packed = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    bundles.write(result_of(name).path, packed)
    packed.seek(0)
    return FileResponse(packed, as_attachment=True, filename=f"{name}.zip")


def result_of(name: str) -> Shelved:
    """The result of this name, or there is no such page."""
    result = shelf.shelved(name)
    if result is None:
        raise Http404
    return result


def run_of(result: Shelved, folder: str) -> RunFolder:
    """A whole run of it, or there is no such page."""
    found = next((run for planned, run in result.runs() if planned.folder == folder), None)
    if found is None or not found.is_whole:
        raise Http404
    return found


def _attached(content: bytes, kind: str, name: str) -> HttpResponse:
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
