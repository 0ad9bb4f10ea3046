"""Takes a contract on, wholly or not at all.

Owns: making a banner and its contract of what was asked for. Must not know: HTTP.
"""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from shop.ads.models import Advertiser, Banner, Concept, Contract
from shop.ads.schemas import NewContract, Refused


def accept(wanted: NewContract) -> Contract:
    """The contract, stored. Raises Refused or NoCapacity, then nothing has been stored."""
    if wanted.ends <= wanted.starts:
        raise Refused("ends", "is not after starts", "a time later than starts")
    if wanted.ends <= timezone.now():
        raise Refused("ends", "has passed", "a time in the future")
    with transaction.atomic():
        # First, for an advertiser may say that its banners do not go together.
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
        raise Refused(prefix + field, messages[0], "see the description of the field") from error


def _known(found: Any, key: str, wanted: list[Any], field: str) -> list[Any]:
    """The objects of these keys. Raises Refused if one of them is not there."""
    by_key = {getattr(one, key): one for one in found}
    for value in wanted:
        if value not in by_key:
            raise Refused(field, f"{value!r} is not known", "such as are in the ad server")
    return list(by_key.values())
