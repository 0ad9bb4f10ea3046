"""The class's scoreboard, which compares students' own policies with three known policies."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from lab.console.scoreboard import submissions
from lab.console.site import own_policies
from lab.console.site.permissions import readers


@readers.get
def scoreboard(request: HttpRequest) -> HttpResponse:
    """Show this lab's board, with links to the runs of each row. If this lab has no board, show the
    reference board."""
    board, released = submissions.shown()
    rows = [row for _, row in board.ranked()]
    context = {
        "reference": released,
        "table": board.table() if board.rows else None,
        "rows": [(row, submissions.behind(row.get("result", ""), row["policy"])) for row in rows],
        "own": own_policies.own(),
    }
    return render(request, "console/scoreboard.html", context)


@readers.get
def own(request: HttpRequest) -> HttpResponse:
    found = submissions.listed(request)
    are_under_way = any(not one.launch.has_ended for one in found)
    context = {"submissions": found, "are_under_way": are_under_way}
    return render(request, "console/submissions.html", context)


urlpatterns = [
    path("scoreboard/", scoreboard, name="scoreboard"),
    path("scoreboard/submissions", own, name="submissions"),
]
