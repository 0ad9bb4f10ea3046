"""The gallery: every experiment that comes with Doorbuster."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from lab.console.gallery.cards import CARDS, Card
from lab.console.site.permissions import readers


@readers
@require_GET
def gallery(request: HttpRequest) -> HttpResponse:
    """Show every experiment that comes with Doorbuster, by paper."""
    by_paper: dict[str, list[Card]] = {}
    for one in CARDS:
        by_paper.setdefault(one.paper, []).append(one)
    return render(request, "console/gallery.html", {"papers": by_paper})
