"""The API calls about results, their bundles and notes, and about the scoreboard."""

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponseBase
from ninja import Query
from ninja.responses import Status

from common.http_api import CallError
from lab.console.api import schemas
from lab.console.api.api import call, listing
from lab.console.results import download_views, notes, origins, result_list
from lab.console.results.origins import Listed
from lab.console.results.owners import policy_readers
from lab.console.results.result_list import ResultEntry
from lab.console.results.views import A_PAGE, publish, received
from lab.console.scoreboard import views as scoreboards
from lab.console.site import permissions
from lab.console.site.permissions import readers, students

ZIP = "application/zip"
_FILE = {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}


@listing(
    "results",
    students,
    "List the results, the newest first and the reference results last",
    answers=schemas.Results,
)
def results(request: HttpRequest, query: Query[schemas.ResultsQuery]) -> dict[str, Any]:
    everything = [*result_list.entries(), *result_list.references()]
    found = result_list.matching(everything, query.words, query.engine)
    pages = Paginator(found, A_PAGE)
    shown = pages.page(query.page) if query.page <= pages.num_pages else []
    return {
        "results": [_result(one) for one in origins.listed(list(shown))],
        "page": query.page,
        "pages": pages.num_pages,
    }


@call(
    "POST",
    "results",
    students,
    f"Import a bundle: the body is the bundle's file, with the media type {ZIP}",
    status=201,
    answers=schemas.Imported,
    refusals=(411, 413, 415),
    openapi_extra={"requestBody": {"required": True, **_FILE}},
)
def bring(request: HttpRequest) -> Status[dict[str, Any]]:
    if request.content_type != ZIP:
        raise CallError(
            f"Content-Type: must not be {request.content_type!r:.80}",
            "Content-Type",
            ZIP,
            status=415,
        )
    size = request.headers.get("Content-Length", "")
    if not size.isdigit():
        raise CallError(
            "Content-Length: is missing", "Content-Length", "the bundle's bytes", status=411
        )
    path = received(request, request, int(size))  # type: ignore[arg-type]  # it has `read`
    warnings: list[str] = []
    publish(path.name, warnings.append)
    return Status(201, {"name": path.name, "warnings": warnings})


@call("GET", "results/{name}", readers, "Show one result", answers=schemas.Summary, refusals=(404,))
def summary(request: HttpRequest, name: schemas.ResultName) -> dict[str, Any]:
    result = _found(name)
    return {
        **_result(origins.listed([result])[0]),
        "policies": sorted(result.policies),
        "verdict": result.verdict(),
        "warnings": result.warnings(),
        "checks": result.checks(),
        "tables": [
            {
                "title": str(table["title"]),
                "header": [str(cell) for cell in table["header"]],
                "rows": [[str(cell) for cell in row] for row in table["rows"]],
                "note": str(table.get("note", "")),
            }
            for table in result.every_table()
        ],
        "claims": [
            {str(key): str(value) for key, value in claim.items()}
            for claim in (result.claims() if result.is_reproduction else [])
        ],
        "spec": "" if result.is_reproduction else result.text("spec.toml"),
        "machine": result.facts("machine"),
        "versions": result.facts("versions"),
        "notes": len(notes.of(name)),
    }


@call(
    "GET",
    "results/{name}/bundle.zip",
    policy_readers,
    "Get a result as a bundle, which another machine can import",
    refusals=(403, 404, 422, 429, 503),
    openapi_extra={"responses": {200: {"description": "the file", **_FILE}}},
)
def bundle(request: HttpRequest, name: schemas.ResultName) -> HttpResponseBase:
    return download_views.bundle(request, name=_found(name).name)


@call(
    "GET",
    "results/{name}/notes",
    students,
    "List the notes on a result",
    answers=schemas.Notes,
    refusals=(404,),
)
def all_notes(request: HttpRequest, name: schemas.ResultName) -> dict[str, Any]:
    found = notes.of(_found(name).name)
    return {"notes": [{"by": one.by, "at": one.at, "text": one.text} for one in found]}


@call(
    "POST",
    "results/{name}/notes",
    students,
    "Write a note on a result",
    status=201,
    answers=schemas.Notes,
    refusals=(404,),
)
def note(
    request: HttpRequest, name: schemas.ResultName, wanted: schemas.NewNote
) -> Status[dict[str, Any]]:
    notes.write(
        _found(name).name,
        wanted.text.strip(),
        by=permissions.name_of(request),
        key=permissions.key_of(request),
        allowance=permissions.allowance_of(request),
    )
    return Status(201, all_notes(request, name))


@call("GET", "scoreboard", readers, "Show the class's scoreboard", answers=schemas.Scoreboard)
def scoreboard(request: HttpRequest) -> dict[str, Any]:
    board, released = scoreboards.shown()
    return {
        "rows": [
            {
                "place": place,
                "policy": row["policy"],
                "title": row["title"],
                "by": row["by"],
                "overall": _efficiency(row["overall"]),
                "loads": {rho: _efficiency(one) for rho, one in row["estimated"].items() if one},
                "confirms": sum(row["confirms"].values()),
                "expected": sum(row["expected"].values()),
                "fallen_back": row.get("fallen_back"),
                "result": row.get("result", ""),
                "played_at": row.get("played_at", ""),
            }
            for place, row in board.ranked()
        ],
        "is_reference": released is not None,
    }


def _efficiency(estimate: Any) -> dict[str, float | None]:
    return {"mean": estimate["mean"], "half_width": estimate["half_width"]}


def _found(name: str) -> ResultEntry:
    found = result_list.entry_of(name)
    if found is None:
        raise Http404(f"There is no result {name!r:.80}.")
    return found


def _result(one: Listed) -> dict[str, Any]:
    result, (made, planned) = one.result, one.result.progress()
    return {
        "name": result.name,
        "title": result.title,
        "kind": "reproduction" if result.is_reproduction else "comparison",
        "engine": result.engine,
        "origin": "reference" if result.reference else "imported" if result.imported else "here",
        "by": one.by,
        "took_s": one.took_s,
        "began_at": result.began_at,
        "made": made,
        "planned": planned,
        "damage": result.damage,
    }
