"""The ad server's HTTP calls: banners for a page, their pictures, clicks, contracts.

Owns: requests and answers. Must not know: how banners are chosen, what a contract needs.
"""

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from shop.ads import (
    accepting,
    artwork,
    loading,
    metrics,
    openapi,
    permission,
    reports,
    schemas,
    server,
)
from shop.ads.capacity import NoCapacity
from shop.ads.models import Banner, Contract, Publisher
from shop.ads.schemas import Refused
from shop.ads.selection import Request
from shop.ads.sizes import NUMBER_OF, SIZES

PAGE_OF_CONTRACTS = 100
_PICTURE_AGE_S = 3600

_View = Callable[..., HttpResponse]


def answering(view: _View) -> _View:
    """Turns refusals into answers. None of these calls trusts a cookie, so none needs a form's."""

    @csrf_exempt
    @wraps(view)
    def answered(request: HttpRequest, **path: Any) -> HttpResponse:
        try:
            return view(request, **path)
        except Refused as refused:
            return _refusal(400, str(refused), field=refused.field, allowed=refused.allowed)
        except NoCapacity as refused:
            return _refusal(
                409,
                refused.messages[0],
                field="impressions",
                allowed=f"at most {refused.capacity.left}",
                **refused.capacity.as_numbers(),
            )

    return answered


def private(view: _View) -> _View:
    """Only for who has the token."""
    return _checked(view, permission.granted)


def internal(view: _View) -> _View:
    """For the machine's own processes, and others who have the token: not for customers."""
    return _checked(view, lambda request: permission.direct(request) or permission.granted(request))


def _checked(view: _View, allowed: Callable[[HttpRequest], bool]) -> _View:
    @wraps(view)
    def checked(request: HttpRequest, **path: Any) -> HttpResponse:
        if not allowed(request):
            response = _refusal(
                401, "this call needs the token that `python -m shop.ads token` prints"
            )
            response.headers["WWW-Authenticate"] = "Bearer"
            return response
        return view(request, **path)

    return checked


def _refusal(status: int, error: str, **more: Any) -> HttpResponse:
    return JsonResponse({"error": error, **more}, status=status)


@require_safe
@answering
@internal
def candidates(request: HttpRequest) -> HttpResponse:
    """The banners that a slot could show now, with their weights; none is drawn or counted."""
    ads = server.running()
    query = schemas.read(schemas.CandidatesQuery, _single(request.GET))
    found = ads.candidates(Request(1, NUMBER_OF[query.size], _concepts(query, ads)))
    response = JsonResponse({"total": sum(one["weight"] for one in found), "candidates": found})
    response.headers["Cache-Control"] = "no-store"
    return response


def _concepts(query: schemas.CandidatesQuery, ads: server.AdServer) -> list[int]:
    """The numbers of the query's concepts. Raises Refused."""
    concepts = ads.names.concepts
    unknown = [word for word in query.concepts if word not in concepts]
    if unknown:
        raise Refused("concepts", f"{unknown[0]!r} is not known", "concepts of the ad server")
    return [concepts[word] for word in query.concepts]


@require_safe
@answering
@internal
def select(request: HttpRequest) -> HttpResponse:
    """Banners for the slots of a page; each answer counts their impressions."""
    ads = server.running()
    query = schemas.read(schemas.SelectQuery, _single(request.GET))
    concepts = _concepts(query, ads)
    page = _page(query, ads.names.pages)
    levels = ads.fan_out.levels
    if query.priority not in levels:
        raise Refused("priority", f"there is no level {query.priority}", f"0 to {max(levels)}")
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
    response = JsonResponse(
        {
            "banners": [
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
        }
    )
    response.headers["Cache-Control"] = "no-store"
    return response


def _page(query: schemas.SelectQuery, pages: Mapping[tuple[str, str], loading.Page]) -> int | None:
    """The id of the page that the query names, if any. Raises Refused."""
    if not query.publisher and not query.page:
        return None
    for field in ("publisher", "page"):
        if not getattr(query, field):
            raise Refused(field, "is missing", "both publisher and page, or neither")
    page = pages.get((query.publisher, query.page))
    if page is None:
        raise Refused(
            "page", f"{query.publisher!r} has no {query.page!r} with slots", "a publisher's page"
        )
    slots = page.slots.get(query.size, 0)
    if query.slots > slots:
        raise Refused("slots", f"the page has {slots} of {query.size}", f"at most {slots}")
    return page.id


def _single(query: QueryDict) -> dict[str, str]:
    """The parameters. Raises Refused if one is given twice."""
    found = {}
    for name, values in query.lists():
        if len(values) > 1:
            raise Refused(name, "is given more than once", "one value")
        found[name] = str(values[0])
    return found


@require_safe
@cache_control(public=True, max_age=_PICTURE_AGE_S)
@answering
def picture(request: HttpRequest, id: int) -> HttpResponse:
    """The banner's picture."""
    banner = Banner.objects.select_related("advertiser").filter(pk=id).first()
    if banner is None:
        return _refusal(404, f"there is no banner {id}")
    svg = artwork.banner_svg(id, banner.size, banner.headline, banner.text, banner.advertiser.name)
    response = HttpResponse(svg, content_type="image/svg+xml; charset=utf-8")
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return response


@require_safe
@answering
def click(request: HttpRequest, id: int) -> HttpResponse:
    """Count a click, also on the page where it was made, and go on to the advertiser's page."""
    ads = server.running()
    place = request.GET.get("page", "")
    pages = (page.id for page in ads.names.pages.values())
    if not ads.click(id, next((page for page in pages if str(page) == place), None)):
        return _refusal(404, f"there is no banner {id} under contract")
    response = redirect(f"/ads/landing/{id}")
    response.headers["Cache-Control"] = "no-store"
    return response


@require_safe
@answering
def landing(request: HttpRequest, id: int) -> HttpResponse:
    """Where a click lands: what is advertised, and the way to it."""
    banner = Banner.objects.select_related("advertiser").filter(pk=id).first()
    if banner is None:
        return _refusal(404, f"there is no banner {id}")
    response = render(request, "ads/landing.html", {"banner": banner, "size": SIZES[banner.size]})
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@answering
@private
def contracts(request: HttpRequest) -> HttpResponse:
    """POST takes a contract on; GET lists them, in the order of their ids."""
    if request.method == "POST":
        contract = accepting.accept(schemas.read(schemas.NewContract, _json(request)))
        response = JsonResponse(_contract(contract), status=201)
        response.headers["Location"] = f"/ads/contracts/{contract.pk}"
        return response
    given = _single(request.GET)
    after = given.pop("after", "0")
    if given or not after.isascii() or not after.isdigit() or len(after) > 18:
        field = next(iter(given), "after")
        raise Refused(field, "is not known" if given else "is no id", "after, a contract's id")
    found = list(_with_all().filter(pk__gt=int(after))[: PAGE_OF_CONTRACTS + 1])
    shown = found[:PAGE_OF_CONTRACTS]
    return JsonResponse(
        {
            "contracts": [_contract(contract) for contract in shown],
            "next": f"/ads/contracts?after={shown[-1].pk}" if len(found) > len(shown) else None,
        }
    )


@require_safe
@answering
@private
def contract(request: HttpRequest, id: int) -> HttpResponse:
    """One contract."""
    found = _with_all().filter(pk=id).first()
    return JsonResponse(_contract(found)) if found else _no_contract(id)


@require_http_methods(["POST"])
@answering
@private
def end(request: HttpRequest, id: int) -> HttpResponse:
    """Stop placing a contract's banner."""
    found = _with_all().filter(pk=id).first()
    if found is None:
        return _no_contract(id)
    found.end()
    return JsonResponse(_contract(found))


@require_safe
@answering
@private
def report(request: HttpRequest, id: int) -> HttpResponse:
    """How a contract does."""
    found = Contract.objects.select_related("banner__delivery").filter(pk=id).first()
    if found is None:
        return _no_contract(id)
    progress = reports.progress(found, timezone.now())
    return JsonResponse(
        {
            "contract": found.pk,
            "impressions": progress.impressions,
            "delivered": progress.delivered,
            "due": progress.due,
            "pace": progress.pace,
            "clicks": progress.clicks,
            "click_rate": progress.click_rate,
        }
    )


@require_safe
@answering
@private
def publishers(request: HttpRequest) -> HttpResponse:
    """All publishers."""
    found = Publisher.objects.annotate(page_count=Count("pages")).order_by("name")
    return JsonResponse(
        {"publishers": [{"id": one.pk, "name": one.name, "pages": one.page_count} for one in found]}
    )


@require_safe
@answering
@private
def publisher_report(request: HttpRequest, id: int) -> HttpResponse:
    """What was shown and clicked on a publisher's pages."""
    publisher = Publisher.objects.filter(pk=id).first()
    if publisher is None:
        return _refusal(404, f"there is no publisher {id}")
    pages = reports.pages(publisher)
    impressions = sum(page.impressions for page in pages)
    clicks = sum(page.clicks for page in pages)
    return JsonResponse(
        {
            "publisher": publisher.pk,
            "name": publisher.name,
            "impressions": impressions,
            "clicks": clicks,
            "click_rate": reports.rate(clicks, impressions),
            "pages": [
                {
                    "id": page.id,
                    "name": page.name,
                    "views_per_day": page.views_per_day,
                    "slots": page.slots,
                    "impressions": page.impressions,
                    "clicks": page.clicks,
                    "click_rate": reports.rate(page.clicks, page.impressions),
                }
                for page in pages
            ],
        }
    )


@require_safe
@answering
def description(request: HttpRequest) -> HttpResponse:
    """The OpenAPI description of all this."""
    return JsonResponse(openapi.document())


@require_safe
@answering
def health(request: HttpRequest) -> HttpResponse:
    """This process has its inventory."""
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
    """What all processes have done, for Prometheus."""
    return HttpResponse(metrics.exposition(), content_type=metrics.CONTENT_TYPE)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """For addresses that are none."""
    return _refusal(404, f"no such call: {request.path}; /ads/openapi.json describes what there is")


def failed(request: HttpRequest) -> HttpResponse:
    """For what should not happen."""
    return _refusal(500, "failed; the ad server's log says why")


def _json(request: HttpRequest) -> Any:
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError):
        raise Refused("body", "is not JSON", "a JSON object") from None


def _no_contract(id: int) -> HttpResponse:
    return _refusal(404, f"there is no contract {id}")


def _with_all() -> Any:
    return Contract.objects.select_related("banner__advertiser").prefetch_related(
        "banner__concepts", "banner__not_beside_banners", "banner__not_beside_advertisers"
    )


def _contract(contract: Contract) -> dict[str, Any]:
    banner = contract.banner
    return {
        "id": contract.pk,
        "advertiser": banner.advertiser.name,
        "impressions": contract.impressions,
        "starts": contract.starts,
        "ends": contract.ends,
        "accepted": contract.accepted,
        "banner": {
            "id": banner.pk,
            "size": banner.size,
            "headline": banner.headline,
            "text": banner.text,
            "target": banner.target,
            "concepts": [concept.word for concept in banner.concepts.all()],
            "not_beside": {
                "banners": [other.pk for other in banner.not_beside_banners.all()],
                "advertisers": [other.name for other in banner.not_beside_advertisers.all()],
            },
        },
    }
