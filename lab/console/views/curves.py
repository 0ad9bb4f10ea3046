"""Curves: those of one result, and any results over each other at an address that stays.

Owns: these pages and their JSON. Must not know: how a curve is computed.
"""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from lab.console import curve_cache, shelf
from lab.console.shelf import Shelved
from lab.experiments.errors import ExperimentError

MOST_RESULTS = 6
"""More lines than these give nobody can tell apart."""


@require_GET
def numbers(request: HttpRequest, name: str) -> HttpResponse:
    """The curves of a comparison as JSON."""
    result = shelf.shelved(name)
    if result is None or result.is_reproduction:
        raise Http404
    try:
        return JsonResponse(curve_cache.curves(result))
    except (ExperimentError, KeyError) as fault:
        return JsonResponse(
            {"error": f"The logs of this result cannot be read: {fault}"}, status=422
        )


@require_GET
def sessions(request: HttpRequest, name: str) -> HttpResponse:
    """What became of sessions, as bars; a piece of the result's page."""
    result = shelf.shelved(name)
    if result is None or result.is_reproduction:
        raise Http404
    try:
        lines = curve_cache.curves(result)["lines"]
    except (ExperimentError, KeyError):
        lines = []
    return render(request, "console/sessions.html", {"lines": lines})


@require_GET
def overlay(request: HttpRequest) -> HttpResponse:
    """Several results over each other: `?of=<name>&of=<name>`."""
    names = list(dict.fromkeys(request.GET.getlist("of")))
    found = [one for name in names if (one := shelf.shelved(name))]
    if len(found) < len(names):
        raise Http404
    chosen = [one for one in found if not one.is_reproduction]
    for one in found:
        if one.is_reproduction:
            messages.warning(request, f"{one.title} is a report: its curves are on its own page.")
    if not chosen:
        messages.error(request, "Choose the results to be drawn over each other first.")
        return redirect("results")
    if len(chosen) > MOST_RESULTS:
        messages.error(request, f"{len(chosen)} results; allowed: at most {MOST_RESULTS} at once")
        return redirect("results")
    return render(
        request,
        "console/overlay.html",
        {"results": chosen, "sources": sources(chosen), "differences": _differences(chosen)},
    )


def sources(results: list[Shelved]) -> list[dict[str, str]]:
    """Where the page finds the numbers, and what each result is called there."""
    titles = [one.title for one in results]
    return [
        {
            "name": one.name,
            "title": one.title if titles.count(one.title) == 1 else f"{one.title} ({one.when})",
            "url": reverse("result-curves", args=[one.name]),
        }
        for one in results
    ]


def _differences(results: list[Shelved]) -> list[tuple[str, list[str]]]:
    """What of engines, versions and machines is not the same in all of them, by result."""
    known: list[dict[str, Any]] = [one.circumstances() for one in results]
    names = dict.fromkeys(name for one in known for name in one)
    return [
        (name, [str(one.get(name, "–")) for one in known])
        for name in names
        if len({str(one.get(name)) for one in known}) > 1
    ]
