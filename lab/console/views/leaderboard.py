"""The leaderboard: who comes how near to the best that can be reached.

Owns: this page. Must not know: how a board is made.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_GET

from lab.console import leaderboard as boards
from lab.console import shelf as shelves
from lab.console.gallery import TODAY_EXHIBITS
from lab.experiments.leaderboard import HYSTERESIS, ROBUSTNESS


@require_GET
def leaderboard(request: HttpRequest) -> HttpResponse:
    """The newest board, or the one that `?of=` names, and the newest reports beside it."""
    results = shelves.shelf()
    found = boards.boards(results)
    wanted = request.GET.get("of")
    if wanted is None:
        board = found[0] if found else None
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
            "exhibits": TODAY_EXHIBITS,
            "scoreboard": _scoreboard(),
        },
    )


def _scoreboard() -> str:
    """Where the students' own policies stand."""
    try:
        return reverse("scoreboard")
    except NoReverseMatch:
        return ""
