"""The Django application of the ad server."""

from django.apps import AppConfig


class AdsConfig(AppConfig):
    """Contracts, slots, banners."""

    name = "shop.ads"
    label = "ads"
    verbose_name = "Ad server"
