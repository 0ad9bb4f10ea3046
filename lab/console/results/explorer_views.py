"""The decision explorer: pages for choosing an attempt and reading why it was served, held or
turned away."""

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from gateway.policies.interface import PAGES
from lab.analysis.logs import KINDS
from lab.console.results import decision_trace, logs
from lab.console.results.result_list import result_of, run_of
from lab.console.site.permissions import readers
from lab.errors import ExperimentError
from lab.results.comparison import ComparisonResult

A_PAGE = 25


@readers.get
def attempts(request: HttpRequest, name: str) -> HttpResponse:
    """Show the attempts of a run, filtered by kind, page type and session."""
    result = result_of(name)
    whole = [(planned, run) for planned, run in result.runs if run.is_whole]
    if not whole:
        raise Http404
    folder = request.GET.get("run") or whole[-1][0].folder
    kind = request.GET.get("kind", "slow")
    page = request.GET.get("type", "")
    session = request.GET.get("session", "").strip()
    run_of(result, folder)
    wanted = request.GET.get("page", "")
    number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 9 else 1
    found: dict[str, Any] = {"number": 0, "first": 0, "rows": []}
    fault = ""
    try:
        found = logs.ask(
            result,
            "attempts",
            run=folder,
            kind=kind,
            page=page,
            session=session,
            first=max(0, number - 1) * A_PAGE,
            most=A_PAGE,
        )
    except ExperimentError as error:
        fault = str(error)
    rows = Paginator(range(found["number"]), A_PAGE).page(found["first"] // A_PAGE + 1)
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
            "rows": found["rows"],
            "fault": fault,
        },
    )


@readers.get
def why(request: HttpRequest, name: str) -> HttpResponse:
    """Show one attempt: the policy's decision in a simulated run, or the logged samples near it."""
    result = result_of(name)
    folder = request.GET.get("run", "")
    planned, _ = run_of(result, folder)
    try:
        session, step, number = (
            int(request.GET.get(part, "")) for part in ("session", "step", "attempt")
        )
        told = logs.ask(result, "attempt", run=folder, session=session, step=step, attempt=number)
        sheets = decision_trace.sheets(ComparisonResult(result.path).spec().choice(planned.policy))
    except (ValueError, LookupError, ExperimentError):
        raise Http404 from None
    attempt = told["attempt"]
    if attempt is None:
        raise Http404
    context: dict[str, Any] = {
        "result": result,
        "planned": planned,
        "attempt": attempt,
        "sheets": sheets,
        "others": told["others"],
    }
    if attempt["attempt"] == 0:
        context["never"] = True
    elif result.engine == "live":
        try:
            context |= decision_trace.logged(result, planned, attempt)
        except ExperimentError:
            raise Http404 from None
    elif "HX-Request" not in request.headers:
        context["wait"] = request.get_full_path()  # the page requests it later
    else:
        try:
            context["trace"] = decision_trace.told(result, planned, attempt)
        except ExperimentError as fault:
            context["fault"] = str(fault)
        return render(request, "console/decision_trace.html", context)
    return render(request, "console/why.html", context)
