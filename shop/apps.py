"""The Django application of the shop."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "shop"
    label = "shop"
