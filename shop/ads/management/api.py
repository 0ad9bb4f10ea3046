"""The management of contracts and publishers over HTTP."""

from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import NinjaAPI, Query
from ninja.errors import AuthenticationError, HttpError, ValidationErrorContext
from ninja.responses import Status
from ninja.security import HttpBearer

from common.http_api import CallError, Refusal, first_fault
from shop.ads.capacity import NoCapacity
from shop.ads.management import accepting, answers, reports, schemas
from shop.ads.management.answers import answer_of, refusal, single
from shop.ads.models import Contract, Publisher

PAGE_OF_CONTRACTS = 100
_READ = ["GET", "HEAD"]


class Token(HttpBearer):
    """The check of the token that `python -m shop.ads token` prints."""

    def authenticate(self, request: HttpRequest, token: str) -> bool:
        return answers.fits(token)


class _ManagementApi(NinjaAPI):
    def validation_error_from_error_contexts(  # type: ignore[override]
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> CallError:
        return first_fault(error_contexts)


api = _ManagementApi(urls_namespace="ads-management", openapi_url=None, docs_url=None, auth=Token())


@api.exception_handler(CallError)
def _call_refused(request: HttpRequest, error: CallError) -> HttpResponse:
    return answer_of(error)


@api.exception_handler(NoCapacity)
def _no_capacity(request: HttpRequest, error: NoCapacity) -> HttpResponse:
    return refusal(
        409,
        error.messages[0],
        field="impressions",
        allowed=f"at most {error.capacity.left}",
        **error.capacity.as_numbers(),
    )


@api.exception_handler(AuthenticationError)
def _no_token(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return answers.without_token()


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if error.status_code == 400:  # the body cannot be read
        return answer_of(CallError("body: must be a JSON object", "body", "a JSON object"))
    return refusal(error.status_code, str(error))


@api.post(
    "contracts",
    summary="Accept a contract",
    response={
        201: schemas.Contract,
        400: Refusal,
        401: Refusal,
        409: schemas.CapacityRefusal,
    },
)
def accept(
    request: HttpRequest, response: HttpResponse, wanted: schemas.NewContract
) -> Status[dict[str, Any]]:
    contract = accepting.accept(wanted)
    response.headers["Location"] = f"/ads/contracts/{contract.pk}"
    return Status(201, _contract(contract))


@api.api_operation(
    _READ,
    "contracts",
    summary="List contracts, ordered by id",
    response={200: schemas.Contracts, 400: Refusal, 401: Refusal},
)
def contracts(request: HttpRequest, query: Query[schemas.ContractsQuery]) -> dict[str, Any]:
    single(request.GET, schemas.ContractsQuery)
    found = list(_with_all().filter(pk__gt=query.after)[: PAGE_OF_CONTRACTS + 1])
    shown = found[:PAGE_OF_CONTRACTS]
    return {
        "contracts": [_contract(contract) for contract in shown],
        "next": f"/ads/contracts?after={shown[-1].pk}" if len(found) > len(shown) else None,
    }


_OF_ONE = {401: Refusal, 404: Refusal}


@api.api_operation(
    _READ,
    "contracts/{int:id}",
    summary="Show a contract",
    response={200: schemas.Contract, **_OF_ONE},
)
def contract(request: HttpRequest, id: int) -> dict[str, Any]:
    return _contract(_found(id))


@api.post(
    "contracts/{int:id}/end",
    summary="End a contract, so that its banner is no longer shown",
    response={200: schemas.Contract, **_OF_ONE},
)
def end(request: HttpRequest, id: int) -> dict[str, Any]:
    found = _found(id)
    found.end()
    return _contract(found)


@api.api_operation(
    _READ,
    "contracts/{int:id}/report",
    summary="Show a contract's deliveries, its pace and its clicks",
    response={200: schemas.Report, **_OF_ONE},
)
def report(request: HttpRequest, id: int) -> dict[str, Any]:
    found = Contract.objects.select_related("banner__delivery").filter(pk=id).first()
    if found is None:
        raise HttpError(404, f"there is no contract {id}")
    progress = reports.progress(found, timezone.now())
    return {
        "contract": found.pk,
        "impressions": progress.impressions,
        "delivered": progress.delivered,
        "due": progress.due,
        "pace": progress.pace,
        "clicks": progress.clicks,
        "click_rate": progress.click_rate,
    }


@api.api_operation(
    _READ,
    "publishers",
    summary="List all publishers",
    response={200: schemas.Publishers, 401: Refusal},
)
def publishers(request: HttpRequest) -> dict[str, Any]:
    found = Publisher.objects.annotate(page_count=Count("pages")).order_by("name")
    return {
        "publishers": [{"id": one.pk, "name": one.name, "pages": one.page_count} for one in found]
    }


@api.api_operation(
    _READ,
    "publishers/{int:id}/report",
    summary="Show the impressions and clicks of each page of a publisher",
    response={200: schemas.PublisherReport, **_OF_ONE},
)
def publisher_report(request: HttpRequest, id: int) -> dict[str, Any]:
    publisher = Publisher.objects.filter(pk=id).first()
    if publisher is None:
        raise HttpError(404, f"there is no publisher {id}")
    pages = reports.pages(publisher)
    impressions = sum(page["impressions"] for page in pages)
    clicks = sum(page["clicks"] for page in pages)
    return {
        "publisher": publisher.pk,
        "name": publisher.name,
        "impressions": impressions,
        "clicks": clicks,
        "click_rate": reports.rate(clicks, impressions),
        "pages": pages,
    }


def _found(id: int) -> Contract:
    found: Contract | None = _with_all().filter(pk=id).first()
    if found is None:
        raise HttpError(404, f"there is no contract {id}")
    return found


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
