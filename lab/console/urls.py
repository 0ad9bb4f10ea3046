"""The console's addresses: those of the server, then those of every page in `lab.console.pages`."""

from django.urls import include, path

from lab.console.pages import PAGES

handler400 = "lab.console.site.calls.wrong"
handler403 = "lab.console.site.calls.denied"
handler404 = "lab.console.site.calls.missing"
handler500 = "lab.console.site.calls.failed"
urlpatterns = [
    path("", include("lab.console.server.views")),
    *(path("", include(page.urls)) for page in PAGES),
]
