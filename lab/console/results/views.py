"""The pages of the result list, of one result and of its files, and the views for imports, notes
and deletion."""

import mimetypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path

from lab.console.models import Launch, Note, State
from lab.console.results import (
    curve_cache,
    curve_views,
    download_views,
    explorer_views,
    imports,
    logs,
    notes,
    origins,
    result_list,
    sales_bars,
)
from lab.console.results.origins import may_delete, policy_readers, result_owners
from lab.console.results.result_list import result_of
from lab.console.site import allowances, permissions
from lab.console.site.permissions import readers, students
from lab.console.site.settings import LAB
from lab.database.publishing import keep_in_step
from lab.errors import ExperimentError
from lab.report.claims import held_words
from lab.runner.under_way import runs_under_way

A_PAGE = 25
ENOUGH_SEEDS = 5
"""The number of repetitions that a page proposes if a result has too few seeds for a verdict."""
ENGINES = ("live", "simulated")


@readers.get
def all_results(request: HttpRequest) -> HttpResponse:
    """Show the results that match the search, page by page, with the newest result first. Then show
    the matching reference results.
    """
    words = request.GET.get("words", "").strip()[:100]
    engine = request.GET.get("engine", "")
    found = result_list.matching(result_list.entries(), words, engine if engine in ENGINES else "")
    page = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    references = result_list.matching(
        result_list.references(), words, engine if engine in ENGINES else ""
    )
    return render(
        request,
        "console/result_list.html",
        {
            "page": page,
            "rows": origins.listed(list(page.object_list)),
            "references": origins.listed(references),
            "words": words,
            "engine": engine,
            "engines": ENGINES,
        },
    )


@readers.get
def one(request: HttpRequest, name: str) -> HttpResponse:
    """Show the tables, curves, runs and notes of a result, and its downloads."""
    result = result_of(name)
    made, planned = result.progress
    return render(
        request,
        "console/result.html",
        {
            "result": result,
            "made": made,
            "planned": planned,
            "is_undrawn": bool(made) and not result.tables and not _is_being_made(name),
            "references": result_list.references_for(result),
            "sources": curve_views.sources([result]),
            "enough_seeds": ENOUGH_SEEDS,
            "picture": sales_bars.picture(result.tables),
            "held": held_words([str(claim.get("Holds")) for claim in result.claims]),
            "figures_and_tables": result.figures_and_tables if result.is_reproduction else [],
            "has_report": result.file("report.html") is not None,
            "spec_text": "" if result.is_reproduction else result.text("spec.toml"),
            "elsewhere": origins.differences(result),
            "notes": notes.of(name),
            "may_delete": may_delete(request, name),
        },
    )


@policy_readers.get
def file(request: HttpRequest, name: str, file: str) -> HttpResponseBase:
    """Return a file of a result, unchanged."""
    path = result_of(name).file(file)
    if path is None:
        raise Http404
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if path.suffix in (".toml", ".jsonl", ".log", ".md", ".cfg", ".conf"):
        kind = "text/plain; charset=utf-8"
    is_download = path.suffix == ".parquet" or "download" in request.GET
    response = FileResponse(path.open("rb"), as_attachment=is_download, content_type=kind)
    if path.suffix in (".html", ".svg"):  # it may come from a bundle
        response["Content-Security-Policy"] = (
            "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; sandbox"
        )
    return response


@students.post
def bring(request: HttpRequest) -> HttpResponse:
    sent = request.FILES.get("bundle")
    if sent is None or sent.file is None:
        messages.error(request, "Choose a bundle (ZIP) first.")
        return redirect("results")
    try:
        path = received(request, sent.file, sent.size or 0)
    except ExperimentError as fault:
        messages.error(request, str(fault))
        return redirect("results")
    publish(path.name, partial(messages.warning, request))
    messages.success(request, f"Imported as {path.name}.")
    return redirect("result", path.name)


def received(request: HttpRequest, file: IO[bytes], size_bytes: int) -> Path:
    """Import an uploaded bundle with its notes. Raises ExperimentError if the bundle is not valid
    or exceeds a limit."""
    allowance = permissions.allowance_of(request)
    allowances.require(allowance, "bundle_bytes", size_bytes)
    path = imports.bring(
        file,
        LAB.results_dir,
        by=permissions.name_of(request),
        key=permissions.key_of(request),
        allowance=allowance,
    )
    notes.unpack(path)
    return path


@students.post
def note(request: HttpRequest, name: str) -> HttpResponse:
    text = request.POST.get("text", "").strip()
    if text:
        try:
            notes.write(request, result_of(name).name, text)
        except ExperimentError as fault:
            messages.error(request, str(fault))
    return redirect("result", name)


@result_owners.get_or_post
def delete(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for confirmation, then delete the result. A reference cannot be deleted."""
    result = result_of(name)
    if result.reference:
        raise PermissionDenied(
            f"{result.title} comes with Doorbuster and cannot be deleted. You can delete only "
            "results that this lab has made or imported."
        )
    if request.method == "POST":
        if _is_being_made(name):
            messages.error(request, f"{name} is being made. First cancel its launch or command.")
            return redirect("result", name)
        try:
            result.delete()
        except FileNotFoundError:  # somebody else has just deleted it
            return redirect("results")
        except OSError as fault:
            messages.error(request, f"{name} cannot be deleted ({fault.strerror or fault}).")
            return redirect("result", name)
        curve_cache.forget(name)
        Note.objects.filter(result=name).delete()
        publish(name, partial(messages.warning, request))
        messages.success(request, f"{result.name} is deleted.")
        return redirect("results")
    written = {"notes": len(notes.of(name)), "kept_notes": len(notes.that_travel(name))}
    return render(request, "console/delete.html", {"result": result} | written)


def _is_being_made(name: str) -> bool:
    """Return whether a launch or a command at a terminal still writes this result."""
    runs = runs_under_way(LAB)
    is_announced = runs is not None and runs.experiment == name
    return is_announced or Launch.objects.filter(result=name, state=State.RUNNING).exists()


def publish(name: str, say: Callable[[str], None]) -> None:
    """Update the dashboards' database after a result is added or deleted."""
    keep_in_step(LAB, [name], say, logs.rows_of)


urlpatterns = [
    path("results/", all_results, name="results"),
    path("results/import", bring, name="results-import"),
    path("results/overlay", curve_views.overlay, name="overlay"),
    path("results/<str:name>/", one, name="result"),
    path("results/<str:name>/curves.json", curve_views.numbers, name="result-curves"),
    path("results/<str:name>/sessions", curve_views.sessions, name="result-sessions"),
    path("results/<str:name>/attempts", explorer_views.attempts, name="attempts"),
    path("results/<str:name>/why", explorer_views.why, name="why"),
    path("results/<str:name>/note", note, name="result-note"),
    path("results/<str:name>/delete", delete, name="result-delete"),
    path("results/<str:name>/bundle.zip", download_views.bundle, name="result-bundle"),
    path("results/<str:name>/page.html", download_views.page, name="result-page"),
    path("results/<str:name>/table/<int:number>.csv", download_views.table, name="result-table"),
    path("results/<str:name>/<str:kind>.csv", download_views.metrics, name="result-metrics"),
    path("results/<str:name>/runs/<str:run>/<str:log>.csv", download_views.log, name="run-csv"),
    path("results/<str:name>/files/<path:file>", file, name="result-file"),
]
