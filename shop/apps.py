"""The Django application of the shop."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """The application with the shop's models and pages."""

    name = "shop"
    label = "shop"
