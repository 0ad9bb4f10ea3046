"""The list of a person's submissions to the scoreboard."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from lab.console.scoreboard import submissions
from lab.console.site.permissions import readers


@readers
@require_GET
def own(request: HttpRequest) -> HttpResponse:
    """Return this person's submissions as a fragment.

    The page requests it every two seconds while a submission waits or runs.
    """
    found = submissions.listed(request)
    context = {"submissions": found, "are_under_way": submissions.are_under_way(found)}
    return render(request, "console/submissions.html", context)
