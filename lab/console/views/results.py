"""Results: the shelf, one result, its files, bringing one, notes, running it again, deleting.

Owns: these pages. Must not know: how a result came about.
"""

import mimetypes

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.console import bundles, curve_cache, people, rerunning
from lab.console import shelf as shelves
from lab.console.gallery import launch_of_spec
from lab.console.models import Note
from lab.console.settings import LAB, MOST_UPLOAD_BYTES
from lab.console.shelf import Shelved
from lab.console.views.curves import sources
from lab.console.views.gallery import ask
from lab.experiments.errors import ExperimentError
from lab.experiments.results import ResultFolder
from lab.experiments.results_publishing import keep_in_step

A_PAGE = 25
ENGINES = ("live", "simulated")


@require_GET
def shelf(request: HttpRequest) -> HttpResponse:
    """All results, the newest first, by words and engine; a page of them at a time."""
    words = request.GET.get("words", "").strip()[:100]
    engine = request.GET.get("engine", "")
    found = shelves.matching(shelves.shelf(), words, engine if engine in ENGINES else "")
    page = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "console/shelf.html",
        {"page": page, "words": words, "engine": engine, "engines": ENGINES},
    )


@require_GET
def one(request: HttpRequest, name: str) -> HttpResponse:
    """Tables, curves, runs, notes, and everything to take away."""
    result = _of(name)
    made, planned = result.progress()
    claims = result.claims() if result.is_reproduction else []
    return render(
        request,
        "console/result.html",
        {
            "result": result,
            "made": made,
            "planned": planned,
            "runs": result.runs(),
            "sources": sources([result]),
            "lines": result.lines(),
            "tables": result.tables(),
            "claims": claims,
            "held": sum(claim.get("Holds") == "yes" for claim in claims),
            "exhibits": result.exhibits() if result.is_reproduction else [],
            "all_tables": result.every_table(),
            "figures": result.figures(),
            "has_report": result.file("report.html") is not None,
            "spec_text": "" if result.is_reproduction else _text(result, "spec.toml"),
            "machine": result.facts("machine"),
            "versions": result.facts("versions"),
            "elsewhere": rerunning.differences(result),
            "notes": Note.objects.filter(result=name),
        },
    )


@require_GET
def file(request: HttpRequest, name: str, file: str) -> HttpResponseBase:
    """A file of a result as it lies there."""
    path = _of(name).file(file)
    if path is None:
        raise Http404
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if path.suffix in (".toml", ".jsonl", ".log", ".md", ".cfg", ".conf"):
        kind = "text/plain; charset=utf-8"
    response = FileResponse(path.open("rb"), content_type=kind)
    if path.suffix == ".parquet" or "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{path.name}"'
    if path.suffix in (".html", ".svg"):  # somebody else's bundle may have brought it
        response["Content-Security-Policy"] = (
            "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; sandbox"
        )
    return response


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
    _keep_in_step(request, path.name)
    messages.success(request, "Imported.")
    return redirect("result", path.name)


@require_POST
def note(request: HttpRequest, name: str) -> HttpResponse:
    """Somebody writes on a result."""
    text = request.POST.get("text", "").strip()
    if text and len(text) <= Note._meta.get_field("text").max_length:
        Note.objects.create(result=_of(name).name, text=text, by=people.name_of(request))
    elif text:
        messages.error(request, "note: at most 10,000 characters")
    return redirect("result", name)


@require_POST
def again(request: HttpRequest, name: str) -> HttpResponse:
    """Its spec, seed and all, as a new launch."""
    result = _of(name)
    try:
        spec = None if result.is_reproduction else ResultFolder(result.path).spec()
    except ExperimentError as fault:
        messages.error(request, str(fault))
        return redirect("result", name)
    if spec is None:
        raise Http404
    for words in rerunning.differences(result):
        messages.warning(request, f"Not as it was made: {words}.")
    return ask(request, launch_of_spec(spec))


@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, name: str) -> HttpResponse:
    """Asks first."""
    result = _of(name)
    if request.method == "POST":
        result.delete()
        curve_cache.forget(name)
        Note.objects.filter(result=name).delete()
        _keep_in_step(request, name)
        messages.success(request, f"{result.name} is deleted.")
        return redirect("results")
    return render(request, "console/delete.html", {"result": result})


def _keep_in_step(request: HttpRequest, name: str) -> None:
    """Dashboards show what the shelf shows."""
    keep_in_step(LAB, [name], lambda words: messages.warning(request, words))


def _of(name: str) -> Shelved:
    result = shelves.shelved(name)
    if result is None:
        raise Http404
    return result


def _text(result: Shelved, name: str) -> str:
    path = result.file(name)
    return path.read_text(encoding="utf-8", errors="replace") if path else ""
