"""The decision explorer: choose an attempt, read why it was served, held or refused.

Owns: these pages. Must not know: how a decision is made (the policy's sheet says), how a run is
watched (`lab.experiments.explaining`).
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from gateway.policies.interface import PAGES
from lab.console import stories
from lab.console.views.downloads import result_of, run_of
from lab.experiments.errors import ExperimentError
from lab.experiments.results import ResultFolder
from loadgen.attempts import AttemptOutcome
from loadgen.sessions import CONFIRM_PAGE

A_PAGE = 25
KINDS = {
    "slow": "the slowest that were answered",
    "confirmed": "purchases that were confirmed",
    "timed_out": "left by their customers",
    "dropped": "dropped: a queue was full",
    "rejected": "rejected by admission",
    "all": "all, in the order of their sessions",
}


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
        table = _chosen(run_of(result, folder).attempts(), kind, page, session)
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
            "rows": [row | {"response_s": _response_s(row)} for row in shown],
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
        attempt = _row(run.attempts(), key)
        known = ResultFolder(result.path).spec().choice(planned.policy)
    except (ValueError, ExperimentError):
        raise Http404 from None
    if attempt is None:
        raise Http404
    context: dict[str, Any] = {
        "result": result,
        "planned": planned,
        "attempt": attempt | {"response_s": _response_s(attempt)},
        "sheets": stories.sheets(known),
        "others": _of_session(run.attempts(), key["session"]),
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


def _chosen(table: pa.Table, kind: str, page: str, session: str) -> pa.Table:
    """The attempts asked for, sorted as their kind wants; ExperimentError names a wrong field."""
    if kind not in KINDS:
        raise ExperimentError(f"kind: {kind!r}; allowed: {', '.join(KINDS)}")
    if page and page not in set(PAGES):
        raise ExperimentError(f"page type: {page!r}; allowed: {', '.join(PAGES)}")
    if session and not (session.isascii() and session.isdigit() and len(session) < 10):
        raise ExperimentError(f"session: {session!r}; allowed: its number, from 0")
    wanted: dict[str, object] = {}
    if kind != "all":
        answered = kind in ("slow", "confirmed")
        wanted["outcome"] = AttemptOutcome.COMPLETED.value if answered else kind
    if page or kind == "confirmed":
        wanted["page"] = page or CONFIRM_PAGE
    if session:
        wanted["session"] = int(session)
    found = _where(table, wanted)
    if kind == "slow":
        took_s = pc.subtract(found.column("finished_s"), found.column("started_s"))
        return found.take(pc.array_sort_indices(took_s.combine_chunks(), order="descending"))
    return found if kind == "all" else found.sort_by("started_s")


def _where(table: pa.Table, wanted: Mapping[str, object]) -> pa.Table:
    """The rows whose columns are as wanted."""
    for column, value in wanted.items():
        table = table.filter(pc.equal(table.column(column), value))
    return table


def _row(table: pa.Table, key: Mapping[str, object]) -> dict[str, Any] | None:
    found = _where(table, key).slice(0, 1).to_pylist()
    return found[0] if found else None


def _of_session(table: pa.Table, session: int) -> list[dict[str, Any]]:
    found = _where(table, {"session": session}).slice(0, 60).to_pylist()
    return [row | {"response_s": _response_s(row)} for row in found]


def _response_s(row: dict[str, Any]) -> float | None:
    return row["finished_s"] - row["started_s"] if row["finished_s"] is not None else None
