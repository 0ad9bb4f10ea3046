"""Django settings only for mypy, in which the shop and the ad server are one project."""

from shop import settings
from shop.ads.settings import SCHEMA as SCHEMA
from shop.settings import *  # noqa: F403

INSTALLED_APPS = [
    *settings.INSTALLED_APPS,
    "django.contrib.admin",
    "django.contrib.messages",
    "shop.ads.apps.AdsConfig",
]
