"""The decision explorer: choose an attempt, read why it was served, held or refused.

Owns: these pages. Must not know: how a decision is made (the policy's sheet says), how a run is
watched (`lab.experiments.explaining`).
"""

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from gateway.policies.interface import PAGES
from lab.console import stories
from lab.console.views.downloads import result_of, run_of
from lab.experiments.attempt_choice import KINDS, attempt_at, chosen, of_session, response_s
from lab.experiments.errors import ExperimentError
from lab.experiments.results import ResultFolder

A_PAGE = 25


@require_GET
def attempts(request: HttpRequest, name: str) -> HttpResponse:
    """The attempts of a run, by kind, page type and session."""
    result = result_of(name)
    whole = [(planned, run) for planned, run in result.runs() if run.is_whole]
    if not whole:
        raise Http404
    folder = request.GET.get("run") or whole[-1][0].folder
    kind = request.GET.get("kind", "slow")
    page = request.GET.get("type", "")
    session = request.GET.get("session", "").strip()
    fault = ""
    try:
        table = chosen(run_of(result, folder).attempts(), kind, page, session)
    except ExperimentError as error:
        table, fault = None, str(error)
    rows = Paginator(range(table.num_rows if table else 0), A_PAGE).get_page(
        request.GET.get("page")
    )
    shown = table.take(list(rows)).to_pylist() if table else []
    return render(
        request,
        "console/attempts.html",
        {
            "result": result,
            "runs": [planned for planned, _ in whole],
            "run": folder,
            "kinds": KINDS,
            "kind": kind,
            "types": list(PAGES),
            "type": page,
            "session": session,
            "page": rows,
            "rows": [row | {"response_s": response_s(row)} for row in shown],
            "fault": fault,
        },
    )


@require_GET
def why(request: HttpRequest, name: str) -> HttpResponse:
    """One attempt: what the policy knew, and what it said."""
    result = result_of(name)
    folder = request.GET.get("run", "")
    run = run_of(result, folder)
    planned = next(planned for planned, _ in result.runs() if planned.folder == folder)
    try:
        key = {part: int(request.GET.get(part, "")) for part in ("session", "step", "attempt")}
        attempt = attempt_at(run.attempts(), key)
        known = ResultFolder(result.path).spec().choice(planned.policy)
    except (ValueError, ExperimentError):
        raise Http404 from None
    if attempt is None:
        raise Http404
    context: dict[str, Any] = {
        "result": result,
        "planned": planned,
        "attempt": attempt | {"response_s": response_s(attempt)},
        "sheets": stories.sheets(known),
        "others": [
            row | {"response_s": response_s(row)}
            for row in of_session(run.attempts(), key["session"])
        ],
    }
    if attempt["attempt"] == 0:
        context["never"] = True
    elif result.engine == "live":
        context |= stories.logged(result, planned, attempt)
    elif "HX-Request" not in request.headers:
        context["wait"] = request.get_full_path()  # made again; the page asks for it once it stands
    else:
        try:
            context["story"] = stories.told(result, planned, attempt)
        except ExperimentError as fault:
            context["fault"] = str(fault)
        return render(request, "console/story.html", context)
    return render(request, "console/why.html", context)
