"""The leaderboard: the sales of each policy as a share of the highest possible sales."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from lab.console.gallery.cards import TODAY_CARDS
from lab.console.leaderboard import boards
from lab.console.results import result_list
from lab.console.site.permissions import readers
from lab.leaderboard import HYSTERESIS, ROBUSTNESS


@readers.get
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Show this lab's newest board, or the board that `?of=` names, and the newest reports.

    If this lab has no board or lacks a report, show the reference result instead. Show an imported
    board only if the address names it.
    """
    results = [*result_list.entries(), *result_list.references()]
    found = boards.boards(results)
    wanted = request.GET.get("of")
    if wanted is None:
        board = next((one for one in found if one.result.imported is None), None)
    else:
        board = next((one for one in found if one.result.name == wanted), None)
        if board is None:
            raise Http404
    return render(
        request,
        "console/leaderboard.html",
        {
            "board": board,
            "boards": found,
            "robustness": boards.newest_report(results, ROBUSTNESS),
            "hysteresis": boards.newest_report(results, HYSTERESIS),
            "cards": TODAY_CARDS,
        },
    )


urlpatterns = [
    path("leaderboard/", leaderboard, name="leaderboard"),
]
