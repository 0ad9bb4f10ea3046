"""The pages with the curves of one result, and with overlays of several results."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from lab.analysis.outcomes import FATES, FATES_MEANING
from lab.console.results import curve_cache, report_overlay, result_list
from lab.console.results.result_list import ResultEntry
from lab.console.site.permissions import readers
from lab.errors import ExperimentError

MOST_RESULTS = 6
"""The maximum number of results in an overlay."""


@readers.get
def numbers(request: HttpRequest, name: str) -> HttpResponse:
    """Return the curves of a comparison as JSON."""
    try:
        return JsonResponse(curve_cache.curves(_comparison(name)))
    except ExperimentError as fault:
        return JsonResponse(
            {"error": f"The logs of this result cannot be read: {fault}"}, status=422
        )


@readers.get
def sessions(request: HttpRequest, name: str) -> HttpResponse:
    """Return the bars that show how sessions ended, as a fragment of the result's page."""
    try:
        lines = curve_cache.curves(_comparison(name))["lines"]
    except ExperimentError:
        lines = []
    said = {"lines": lines, "fates": FATES, "meaning": FATES_MEANING}
    return render(request, "console/sessions.html", said)


@readers.get
def overlay(request: HttpRequest) -> HttpResponse:
    """Show several results in one chart, or several reports of one paper:
    `?of=<name>&of=<name>`."""
    names = list(dict.fromkeys(request.GET.getlist("of")))
    found = [one for name in names if (one := result_list.entry_of(name))]
    if len(found) < len(names):
        raise Http404
    if len(found) > MOST_RESULTS:
        messages.error(request, f"You chose {len(found)} results; allowed: at most {MOST_RESULTS}.")
        return redirect("results")
    if found and all(one.is_reproduction for one in found):
        if len({one.paper for one in found}) > 1:
            papers = ", ".join(dict.fromkeys(one.paper or one.title for one in found))
            messages.error(
                request,
                f"These are reports of different papers ({papers}); choose reports of the same "
                "paper.",
            )
            return redirect("results")
        context = {
            "results": found,
            "differences": _differences(found),
            "claims": report_overlay.claims(found),
            "figures_and_tables": report_overlay.figures_and_tables(found),
            "names": [
                (letter, _label(one, is_alone=len(found) == 1))
                for letter, one in zip("ABCDEF", found, strict=False)
            ],
        }
        return render(request, "console/report_overlay.html", context)
    chosen = [one for one in found if not one.is_reproduction]
    for one in found:
        if one.is_reproduction:
            messages.warning(
                request,
                f"{one.title} is a report, so this chart leaves it out. Choose it together with "
                "reports of the same paper.",
            )
    if not chosen:
        messages.error(request, "First choose the results that you want to draw in one chart.")
        return redirect("results")
    return render(
        request,
        "console/overlay.html",
        {"results": chosen, "sources": sources(chosen), "differences": _differences(chosen)},
    )


def _comparison(name: str) -> ResultEntry:
    result = result_list.result_of(name)
    if result.is_reproduction:
        raise Http404
    return result


def sources(results: list[ResultEntry]) -> list[dict[str, str]]:
    """Return each result's name, its title in the overlay, and the address of its curves."""
    titles = [one.title for one in results]
    return [
        {
            "name": one.name,
            "title": _label(one, is_alone=titles.count(one.title) == 1),
            "url": reverse("result-curves", args=[one.name]),
        }
        for one in results
    ]


def _label(result: ResultEntry, *, is_alone: bool) -> str:
    more = [
        *([] if is_alone else [result.when]),
        *(["imported"] if result.imported else []),
        *(["Reference"] if result.reference else []),
    ]
    return f"{result.title} ({', '.join(more)})" if more else result.title


def _differences(results: list[ResultEntry]) -> list[tuple[str, list[str]]]:
    """Return each condition (for example the engine) that differs between the results, with its
    value for every result."""
    known: list[dict[str, Any]] = [one.circumstances for one in results]
    names = dict.fromkeys(name for one in known for name in one)
    return [
        (name, [str(one.get(name, "–")) for one in known])
        for name in names
        if len({str(one.get(name)) for one in known}) > 1
    ]
