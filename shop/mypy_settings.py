"""Django settings for mypy alone: the models of the shop and of the ad server in one project."""

from shop import settings
from shop.ads.settings import SCHEMA as SCHEMA
from shop.settings import *  # noqa: F403

INSTALLED_APPS = [
    *settings.INSTALLED_APPS,
    "django.contrib.admin",
    "django.contrib.messages",
    "shop.ads.apps.AdsConfig",
]
