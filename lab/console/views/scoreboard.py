"""The class's scoreboard: students' own policies beside three that are known.

Owns: this page. Must not know: how a row is made.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from lab.console import own_policies
from lab.console.settings import LAB
from lab.experiments.students.scoreboard import FOLDER, Board


@require_GET
def scoreboard(request: HttpRequest) -> HttpResponse:
    """The board as it is kept, with what each row was made of."""
    board = Board.read(LAB.results_dir / FOLDER)
    context = {
        "table": board.table() if board.rows else None,
        "rows": [row for _, row in board.ranked()],
        "own": own_policies.own(),
    }
    return render(request, "console/scoreboard.html", context)
