"""Results: the shelf, one result, taking it away, bringing one, deleting.

Owns: these pages. Must not know: how a result came about.
"""

import csv
import io
import mimetypes
import tempfile

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.console import bundles
from lab.console import shelf as shelves
from lab.console.models import Launch, Note
from lab.console.settings import LAB, MOST_UPLOAD_BYTES
from lab.console.shelf import Shelved
from lab.experiments.errors import ExperimentError, SpecError
from lab.experiments.results import ResultFolder, read_json

SHOWN = 100


@require_GET
def shelf(request: HttpRequest) -> HttpResponse:
    """All results, the newest first."""
    found = shelves.shelf()
    return render(
        request, "console/shelf.html", {"results": found[:SHOWN], "more": len(found) - SHOWN}
    )


@require_GET
def one(request: HttpRequest, name: str) -> HttpResponse:
    """Tables, figures, runs, notes, and everything to take away."""
    result = _of(name)
    context: dict[str, object] = {
        "result": result,
        "notes": Note.objects.filter(result=name),
        "launch": Launch.objects.filter(result=name).order_by("-asked_at").first(),
        "tables": result.tables(),
        "figures": result.figures(),
        "runs": result.runs(),
        "has_report": result.file("report.html") is not None,
    }
    if not result.is_reproduction:
        context["lines"] = _honesty(result)
        context["spec_text"] = _text(result, "spec.toml")
    for facts in ("machine", "versions"):
        try:
            context[facts] = read_json(result.path / f"{facts}.json")
        except ExperimentError:
            context[facts] = {}
    return render(request, "console/result.html", context)


@require_GET
def file(request: HttpRequest, name: str, file: str) -> HttpResponseBase:
    """A file of a result as it lies there."""
    path = _of(name).file(file)
    if path is None:
        raise Http404
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if path.suffix in (".toml", ".jsonl", ".log", ".md"):
        kind = "text/plain; charset=utf-8"
    response = FileResponse(path.open("rb"), content_type=kind)
    if path.suffix == ".parquet" or "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{path.name}"'
    if path.suffix in (".html", ".svg"):  # somebody else's bundle may have brought it
        response["Content-Security-Policy"] = (
            "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; sandbox"
        )
    return response


@require_GET
def table_csv(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """One table as CSV."""
    tables = _of(name).tables()
    if number >= len(tables):
        raise Http404
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(tables[number]["header"])
    lines.writerows(tables[number]["rows"])
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}-{number + 1}.csv"'
    return response


@require_GET
def bundle(request: HttpRequest, name: str) -> HttpResponseBase:
    """Everything in one file, for another machine."""
    packed = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    bundles.write(_of(name).path, packed)
    packed.seek(0)
    return FileResponse(packed, as_attachment=True, filename=f"{name}.zip")


@require_POST
def bring(request: HttpRequest) -> HttpResponse:
    """A bundle from another machine."""
    sent = request.FILES.get("bundle")
    if sent is None:
        messages.error(request, "Choose a bundle (ZIP) first.")
        return redirect("results")
    if (sent.size or 0) > MOST_UPLOAD_BYTES:
        messages.error(
            request, f"bundle: {sent.size:,} bytes; allowed: at most {MOST_UPLOAD_BYTES:,}"
        )
        return redirect("results")
    try:
        path = bundles.read(sent.file, LAB.results_dir)
    except ExperimentError as fault:
        messages.error(request, str(fault))
        return redirect("results")
    messages.success(request, "Imported.")
    return redirect("result", path.name)


@require_POST
def note(request: HttpRequest, name: str) -> HttpResponse:
    """Somebody writes on a result."""
    text = request.POST.get("text", "").strip()
    if text and len(text) <= Note._meta.get_field("text").max_length:
        Note.objects.create(result=_of(name).name, text=text)
    elif text:
        messages.error(request, "note: at most 10,000 characters")
    return redirect("result", name)


@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, name: str) -> HttpResponse:
    """Asks first."""
    result = _of(name)
    if request.method == "POST":
        result.delete()
        Note.objects.filter(result=name).delete()
        messages.success(request, f"{result.name} is deleted.")
        return redirect("results")
    return render(request, "console/delete.html", {"result": result})


def _of(name: str) -> Shelved:
    result = shelves.shelved(name)
    if result is None:
        raise Http404
    return result


def _honesty(result: Shelved) -> list[str]:
    from lab.experiments.cells import read_cells
    from lab.experiments.honesty import honesty

    try:
        cells = read_cells(ResultFolder(result.path))
    except (ExperimentError, SpecError, KeyError):
        return []
    return honesty(cells) if cells else []


def _text(result: Shelved, name: str) -> str:
    path = result.file(name)
    return path.read_text(encoding="utf-8", errors="replace") if path else ""
