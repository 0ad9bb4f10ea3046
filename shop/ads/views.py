"""The calls that show banners: they choose a page's banners, draw pictures and count clicks.

`select` does as little as possible, because experiments measure its time. `wsgi.py` answers most
calls of `select` without Django's middlewares.
"""

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from common.http_api import CallError
from shop.ads import artwork, server
from shop.ads.delivery import loading, metrics
from shop.ads.inventory import NUMBER_OF, SIZES
from shop.ads.management import openapi, schemas
from shop.ads.management.answers import (
    answer_of,
    direct,
    granted,
    refusal,
    single,
    without_token,
)
from shop.ads.models import Banner
from shop.ads.selection.selector import Request

_PICTURE_AGE_S = 3600

_View = Callable[..., HttpResponse]


def answering(view: _View) -> _View:
    """Turn a CallError of the view into its answer. The view needs no CSRF token, because it uses
    no cookies.
    """

    @csrf_exempt
    @wraps(view)
    def answered(request: HttpRequest, **path: Any) -> HttpResponse:
        try:
            return view(request, **path)
        except CallError as error:
            return answer_of(error)

    return answered


def internal(view: _View) -> _View:
    """Allow a view only for requests that come directly to the port, or that have the token."""

    @wraps(view)
    def checked(request: HttpRequest, **path: Any) -> HttpResponse:
        if direct(request) or granted(request):
            return view(request, **path)
        return without_token()

    return checked


@require_safe
@answering
@internal
def candidates(request: HttpRequest) -> HttpResponse:
    """Answer with the banners that a slot could show now, and their weights; draw no banner."""
    ads = server.running()
    query = single(request.GET, schemas.CandidatesQuery)
    found = ads.candidates(Request(1, NUMBER_OF[query.size], _concepts(query, ads)))
    response = JsonResponse({"total": sum(one["weight"] for one in found), "candidates": found})
    response.headers["Cache-Control"] = "no-store"
    return response


def _concepts(query: schemas.CandidatesQuery, ads: server.AdServer) -> list[int]:
    concepts = ads.names.concepts
    unknown = [word for word in query.concepts if word not in concepts]
    if unknown:
        raise CallError(
            f"concepts: {unknown[0]!r} is not known", "concepts", "concepts of the ad server"
        )
    return [concepts[word] for word in query.concepts]


@require_safe
@answering
@internal
def select(request: HttpRequest) -> HttpResponse:
    """Answer with banners for the slots of a page, and count their impressions."""
    response = HttpResponse(selected(request.GET), content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def selected(parameters: QueryDict) -> bytes:
    """Choose banners for the slots of a page, count their impressions, and return the answer.

    Raises CallError if a parameter is invalid, before anything is counted.
    """
    ads = server.running()
    query = single(parameters, schemas.SelectQuery)
    concepts = _concepts(query, ads)
    page = _page(query, ads.names.pages)
    levels = ads.fan_out.levels
    if query.priority not in levels:
        raise CallError(
            f"priority: there is no level {query.priority}", "priority", f"0 to {max(levels)}"
        )
    placed = ads.select(
        Request(
            slots=query.slots,
            size=NUMBER_OF[query.size],
            concepts=concepts,
            priority=query.priority,
            page=page,
        )
    )
    width, height = SIZES[query.size]
    where = "" if page is None else f"?page={page}"
    banners = [
        {
            "id": id,
            "image": f"/ads/banner/{id}.svg",
            "click": f"/ads/click/{id}{where}",
            "width": width,
            "height": height,
            "alt": alt,
        }
        for id, alt in placed
    ]
    return json.dumps({"banners": banners}).encode()


def _page(query: schemas.SelectQuery, pages: Mapping[tuple[str, str], loading.Page]) -> int | None:
    """Return the id of the page that the query names, or None if it names no page.

    Raises CallError if the query names only a publisher or only a page, or if the page does not
    exist or has too few slots.
    """
    if not query.publisher and not query.page:
        return None
    for field in ("publisher", "page"):
        if not getattr(query, field):
            raise CallError(f"{field}: is missing", field, "both publisher and page, or neither")
    page = pages.get((query.publisher, query.page))
    if page is None:
        error = f"page: the publisher {query.publisher!r} has no page {query.page!r} with slots"
        raise CallError(error, "page", "a publisher's page")
    slots = page.slots.get(query.size, 0)
    if query.slots > slots:
        error = f"slots: the page has {slots} slots of the size {query.size}"
        raise CallError(error, "slots", f"at most {slots}")
    return page.id


@require_safe
@cache_control(public=True, max_age=_PICTURE_AGE_S)
@answering
def picture(request: HttpRequest, id: int) -> HttpResponse:
    banner = Banner.objects.select_related("advertiser").filter(pk=id).first()
    if banner is None:
        return refusal(404, f"there is no banner {id}")
    svg = artwork.banner_svg(id, banner.size, banner.headline, banner.text, banner.advertiser.name)
    response = HttpResponse(svg, content_type="image/svg+xml; charset=utf-8")
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return response


@require_safe
@answering
def click(request: HttpRequest, id: int) -> HttpResponse:
    """Count a click on the banner and on the page in the query; redirect to the landing page."""
    ads = server.running()
    place = request.GET.get("page", "")
    pages = (page.id for page in ads.names.pages.values())
    if not ads.click(id, next((page for page in pages if str(page) == place), None)):
        return refusal(404, f"there is no banner {id} with a contract")
    response = redirect(f"/ads/landing/{id}")
    response.headers["Cache-Control"] = "no-store"
    return response


@require_safe
@answering
def landing(request: HttpRequest, id: int) -> HttpResponse:
    """Answer with the landing page of a click: the advertisement, and a link to its target."""
    banner = Banner.objects.select_related("advertiser").filter(pk=id).first()
    if banner is None:
        return refusal(404, f"there is no banner {id}")
    response = render(request, "ads/landing.html", {"banner": banner, "size": SIZES[banner.size]})
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return response


@require_safe
@answering
def description(request: HttpRequest) -> HttpResponse:
    return JsonResponse(openapi.document())


@require_safe
@answering
def health(request: HttpRequest) -> HttpResponse:
    """Answer that this process serves requests, with its counts of banners and failed exchanges."""
    ads = server.running()
    return JsonResponse(
        {
            "status": "ok",
            "banners": len(ads.ledger.view.inventory),
            "reports_failed": ads.writer.failures,
        }
    )


@require_safe
@answering
@internal
def figures(request: HttpRequest) -> HttpResponse:
    return HttpResponse(metrics.exposition(), content_type=metrics.CONTENT_TYPE)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refusal(404, f"no such call: {request.path}; /ads/openapi.json lists the calls")


def failed(request: HttpRequest) -> HttpResponse:
    return refusal(500, "the call failed; the ad server's log shows the reason")
