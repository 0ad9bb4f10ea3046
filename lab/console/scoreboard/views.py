"""The class's scoreboard: students' own policies next to three known ones."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from lab.console.results import result_list
from lab.console.results.result_list import ResultEntry
from lab.console.site import own_policies
from lab.console.site.permissions import readers
from lab.console.site.settings import LAB
from lab.students.scoreboard import FOLDER, SCORES, Board


@readers
@require_GET
def scoreboard(request: HttpRequest) -> HttpResponse:
    """Show this lab's board with the origin of each row, or the reference if there is none."""
    board, released = shown()
    context = {
        "reference": released,
        "table": board.table() if board.rows else None,
        "rows": [row for _, row in board.ranked()],
        "own": own_policies.own(),
    }
    return render(request, "console/scoreboard.html", context)


def shown() -> tuple[Board, ResultEntry | None]:
    """Return this lab's board; without rows the one that comes with Doorbuster, and its result."""
    board = Board.read(LAB.results_dir / FOLDER)
    released = None if board.rows else _reference()
    return (Board.shown(released.path / SCORES), released) if released else (board, None)


def _reference() -> ResultEntry | None:
    """Return the board that comes with Doorbuster."""
    return next((one for one in result_list.references() if one.file(SCORES)), None)
