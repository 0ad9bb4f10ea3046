"""Shop, ad server and gateway as services."""

import signal
import sys

from common import hosts
from common.answering import get_refusal
from runtime import own_certificate
from runtime.service import (
    SEEDING_TIMEOUT_S,
    SEEDING_TIMEOUT_S_PER_ROW,
    Service,
    Tables,
    beside,
)
from runtime.settings import Settings


def shop(settings: Settings) -> Service:
    """Return the shop's service, on the shop's CPUs."""
    host = hosts.from_here(settings.inner_host)
    return Service(
        name="shop",
        title="Shop",
        program=(sys.executable, "-m", "shop", "serve"),
        port=settings.shop_port,
        cpus=settings.shop_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,
        ready_within_s=60,
        refusal=lambda: get_refusal(host, settings.shop_controller_port, "/health"),
        page_refusal=lambda: get_refusal(host, settings.shop_port, "/"),
        tables=Tables(
            title=f"Tables and {settings.catalogue_books:,} books",
            command=beside(settings, "shop", "migrate-and-seed"),
            log="seed",
            wanted=f"{settings.postgres_db} {settings.catalogue_books}",
            timeout_s=SEEDING_TIMEOUT_S + SEEDING_TIMEOUT_S_PER_ROW * settings.catalogue_books,
        ),
        code=("shop", "common"),
    )


def ads(settings: Settings) -> Service:
    """Return the ad server's service, on the shop's database."""
    host = hosts.from_here(settings.inner_host)
    return Service(
        name="ads",
        title="Ad server",
        program=(sys.executable, "-m", "shop.ads", "serve"),
        port=settings.ads_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,  # reports to the database what it has delivered
        ready_within_s=120,  # a large inventory takes a while to load
        refusal=lambda: get_refusal(host, settings.ads_port, "/ads/health"),
        tables=Tables(
            title=f"Contracts of {settings.ads_banners:,} banners",
            command=beside(settings, "shop.ads", "migrate-and-seed"),
            log="ads-seed",
            wanted=f"{settings.postgres_db} {settings.ads_banners}",
            timeout_s=SEEDING_TIMEOUT_S + SEEDING_TIMEOUT_S_PER_ROW * settings.ads_banners,
        ),
        # Its code, and the modules that it takes from the shop.
        code=(
            "common",
            "shop/ads",
            "shop/catalogue",
            "shop/page_types.py",
            "shop/settings.py",
            "shop/slots.py",
        ),
    )


def gateway(settings: Settings) -> Service:
    """Return the gateway's service, in front of both."""
    tls = (settings.gateway_tls_certificate, settings.gateway_tls_key)
    host, inner_host = hosts.from_here(settings.host), hosts.from_here(settings.inner_host)
    return Service(
        name="gateway",
        title="Gateway",
        program=(sys.executable, "-m", "gateway"),
        port=settings.gateway_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,  # drains: requests under way are answered first
        stop_wait_s=40,
        ready_within_s=20,
        refusal=lambda: get_refusal(inner_host, settings.gateway_admin_port, "/health"),
        page_refusal=lambda: get_refusal(host, settings.gateway_port, "/"),
        # Another certificate means a restart, too.
        code=("gateway", "common", *map(str, tls)),
        prepare=lambda: own_certificate.keep(settings, *tls),
    )
