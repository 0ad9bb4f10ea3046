"""The API calls about results, their bundles and notes, and about the scoreboard."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from ninja import Query
from ninja.responses import Status

from common.http_api import CallError
from lab.console.api import schemas
from lab.console.api.api import call
from lab.console.results import download_views, notes, origins, result_list
from lab.console.results.origins import Listed, policy_readers
from lab.console.results.result_list import result_of
from lab.console.results.views import A_PAGE, publish, received
from lab.console.scoreboard import submissions
from lab.console.site.permissions import readers, students

ZIP = "application/zip"
_FILE = {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}


@call("GET", "results", students, schemas.Results, 400)
def results(request: HttpRequest, query: Query[schemas.ResultsQuery]) -> dict[str, Any]:
    """List the results, the newest first and the reference results last."""
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
    schemas.Imported,
    411,
    413,
    415,
    status=201,
    openapi_extra={"requestBody": {"required": True, **_FILE}},
)
def bring(request: HttpRequest) -> Status[dict[str, Any]]:
    """Import a bundle: the body is the bundle's file, with the media type application/zip."""
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


@call("GET", "results/{name}", readers, schemas.Summary, 404)
def summary(request: HttpRequest, name: schemas.ResultName) -> dict[str, Any]:
    """Show one result."""
    result = result_of(name)
    return {
        **_result(origins.listed([result])[0]),
        "policies": sorted(result.policies),
        "verdict": result.verdict,
        "warnings": result.warnings,
        "checks": result.checks,
        "tables": [
            {
                "title": str(table["title"]),
                "header": [str(cell) for cell in table["header"]],
                "rows": [[str(cell) for cell in row] for row in table["rows"]],
                "note": str(table.get("note", "")),
            }
            for table in result.every_table
        ],
        "claims": [
            {str(key): str(value) for key, value in claim.items()} for claim in result.claims
        ],
        "spec": "" if result.is_reproduction else result.text("spec.toml"),
        "machine": result.machine,
        "versions": result.versions,
        "notes": len(notes.of(name)),
    }


@call(
    "GET",
    "results/{name}/bundle.zip",
    policy_readers,
    None,
    403,
    404,
    422,
    429,
    503,
    openapi_extra={"responses": {200: {"description": "the file", **_FILE}}},
)
def bundle(request: HttpRequest, name: schemas.ResultName) -> HttpResponseBase:
    """Get a result as a bundle, which another machine can import."""
    return download_views.bundle(request, name=result_of(name).name)


@call("GET", "results/{name}/notes", students, schemas.Notes, 404)
def all_notes(request: HttpRequest, name: schemas.ResultName) -> dict[str, Any]:
    """List the notes on a result."""
    found = notes.of(result_of(name).name)
    return {"notes": [{"by": one.by, "at": one.at, "text": one.text} for one in found]}


@call("POST", "results/{name}/notes", students, schemas.Notes, 404, status=201)
def note(
    request: HttpRequest, name: schemas.ResultName, wanted: schemas.NewNote
) -> Status[dict[str, Any]]:
    """Write a note on a result."""
    notes.write(request, result_of(name).name, wanted.text.strip())
    return Status(201, all_notes(request, name))


@call("GET", "scoreboard", readers, schemas.Scoreboard)
def scoreboard(request: HttpRequest) -> dict[str, Any]:
    """Show the class's scoreboard."""
    board, released = submissions.shown()
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


def _result(one: Listed) -> dict[str, Any]:
    result, (made, planned) = one.result, one.result.progress
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
