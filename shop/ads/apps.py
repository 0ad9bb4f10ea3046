"""The Django application of the ad server."""

from django.apps import AppConfig


class AdsConfig(AppConfig):
    """The application with the models of contracts, slots and banners."""

    name = "shop.ads"
    label = "ads"
    verbose_name = "Ad server"
