"""The console's addresses: those of the site, then those of every page in `lab.console.pages`."""

from django.urls import include, path

from lab.console.pages import PAGES

urlpatterns = [
    path("", include("lab.console.server.urls")),
    *(path("", include(page.urls)) for page in PAGES),
]
