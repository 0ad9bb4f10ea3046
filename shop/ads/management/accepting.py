"""The acceptance of a contract, which stores both the contract and its banner, or neither."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from common.http_api import CallError
from shop.ads.management.schemas import NewContract
from shop.ads.models import Advertiser, Banner, Concept, Contract


def accept(wanted: NewContract) -> Contract:
    """Store a contract and its banner, and return the contract.

    Raises CallError if a value is invalid, and NoCapacity if too few impressions are free. In both
    cases, nothing is stored.
    """
    if wanted.ends <= wanted.starts:
        raise CallError("ends: must be later than starts", "ends", "a time later than starts")
    if wanted.ends <= timezone.now():
        raise CallError("ends: must be in the future", "ends", "a time in the future")
    with transaction.atomic():
        # The advertiser comes first, because it may exclude its own banners.
        advertiser, _ = Advertiser.objects.get_or_create(name=wanted.advertiser)
        concepts = _known(
            Concept.objects.filter(word__in=wanted.banner.concepts),
            "word",
            wanted.banner.concepts,
            "banner.concepts",
        )
        beside = wanted.banner.not_beside
        banners = _known(
            Banner.objects.filter(pk__in=beside.banners),
            "pk",
            beside.banners,
            "banner.not_beside.banners",
        )
        advertisers = _known(
            Advertiser.objects.filter(name__in=beside.advertisers),
            "name",
            beside.advertisers,
            "banner.not_beside.advertisers",
        )
        banner = Banner(
            advertiser=advertiser,
            size=wanted.banner.size,
            headline=wanted.banner.headline,
            text=wanted.banner.text,
            target=wanted.banner.target,
        )
        _clean(banner, "banner.")
        banner.save()
        banner.concepts.set(concepts)
        banner.not_beside_banners.set(banners)
        banner.not_beside_advertisers.set(advertisers)
        contract = Contract(
            banner=banner,
            impressions=wanted.impressions,
            starts=wanted.starts,
            ends=wanted.ends,
        )
        contract.clean()
        contract.save()
    return contract


def _clean(banner: Banner, prefix: str) -> None:
    try:
        banner.clean_fields(exclude=["advertiser"])
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        allowed = "see the field in /ads/openapi.json"
        raise CallError(f"{prefix}{field}: {messages[0]}", prefix + field, allowed) from error


def _known(found: Any, key: str, wanted: list[Any], field: str) -> list[Any]:
    """Return the objects with the wanted keys. Raises CallError if one does not exist."""
    by_key = {getattr(one, key): one for one in found}
    for value in wanted:
        if value not in by_key:
            allowed = "an existing entry of the ad server"
            raise CallError(f"{field}: {value!r} is not known", field, allowed)
    return list(by_key.values())
